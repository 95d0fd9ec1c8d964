"""Every key of the language, wrong in each way that people get it wrong: the exact text of what is said.

``python -m tests.codegen.test_faults`` prints the text of ``golden/faults.txt``.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from mtcodegen.entries.validate import json_schema
from tests.codegen.support import findings

GOLDEN = Path(__file__).parent / "golden" / "faults.txt"
GOOD = """\
namespace: fused
library: libk.so
ops:
- func: mix(Tensor x, Tensor y, Tensor? b, int[] sizes, *, float scale=1.0) -> Tensor
  doc: Mixes.
  tags: [pointwise]
  variants: function
  since: 1.2
  deprecated: use `mix2`
  check:
  - x.shape == y.shape
  - {that: scale > 0, error: ValueError, message: 'the scale must be positive'}
  device_check: ExactSame
  fake: {like: x}
  kernels:
  - device: npu
    symbol: mix
    block_dim: min(x.numel(), 40)
    workspace: 4 * x.numel()
    tiling: {n: u32(x.numel()), scale: f32(scale)}
    args: [x, y, b, out, workspace, tiling]
    dtypes: [float16, float32]
    when: x.dim() == 1
  - {device: npu, source: mix.cpp, symbol: mix_any, block_dim: 8, args: [x, y, out, f32(scale)], include: [inc],
     defines: {WIDTH: 8}, flags: [-O3]}
  - {device: cuda, mindspore: {primitive: Add, args: [x, y], attrs: {a: scale}}}
  - {device: cpu, compute: x + y * scale}
  backward:
    x: grad
    y: {default: grad * scale, npu: scale * grad}
    b: not_differentiable
  forward:
    result: x_t + y_t * scale
  autocast: {npu: float16}
  graph: {update: [sizes]}
  fallback: error
  autogen: mix.out
  examples:
  - args: {x: [1.0, 2.0], y: 'ones([2])', b: None, sizes: [1]}
    expect: x + y
    tolerance: 1e-6
- func: filled_(Tensor(a!) x, Tensor y) -> Tensor(a!)
  overlap_check: [Internal, Partial]
  kernels: [{device: cpu, python: 'my.kernels:filled_'}]
  backward: not_implemented
- func: pair(Tensor x) -> (Tensor low, Tensor high)
  fake:
  - {shape: [x.size(0)], dtype: x.dtype, device: x.device}
  - {shape: x.shape}
  kernels: [{device: cpu, python: 'my.kernels:pair'}]
  output_differentiability: [true, false]
  backward: {x: 'grads[0]'}
- func: made(int n) -> Tensor
  fake: {python: 'my.kernels:made_fake'}
  kernels: [{device: cpu, python: 'my.kernels:made', dtypes: float32}]
- func: solved(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, python: 'my.kernels:solved'}]
  backward: {function: 'my.kernels:back', setup_context: 'my.kernels:setup'}
"""

# What is changed in GOOD, each alone: (what is there, what comes in its place).
CHANGES: dict[str, tuple[str, str]] = {
    # ---- what torchgen accepts in silence
    "a default of another type": ("int[] sizes", "int[] sizes, int dim=hello"),
    "a default before an argument without one": ("Tensor x, Tensor y, Tensor? b", "Tensor? b=None, Tensor x, Tensor y"),
    "an argument twice": ("Tensor x, Tensor y,", "Tensor x, Tensor x,"),
    "a name that begins with a digit": ("int[] sizes", "int[] 9sizes"),
    "an operator's name that is none": ("func: pair(", "func: pa-ir two("),
    "a comma without a space": ("Tensor x, Tensor y,", "Tensor x,Tensor y,"),
    "an unknown type": ("int[] sizes", "int[] sizes, Tensr z"),
    "a C++ type": ("int n", "int64_t n"),
    "an unbalanced parenthesis in a formula": ("expect: x + y", "expect: (x + y"),
    "a name that is nothing": ("grad * scale", "grad * sclae"),
    "a gradient for a number": ("    b: not_differentiable", "    b: not_differentiable\n    sizes: grad"),
    "one formula for two gradients": (
        "    x: grad\n    y: {default: grad * scale, npu: scale * grad}",
        "    x, y: grad",
    ),
    "a tuple of too many": (
        "    x: grad\n    y: {default: grad * scale, npu: scale * grad}",
        "    x, y: '[grad, grad, grad]'",
    ),
    "an output_differentiability that is too long": ("[true, false]", "[true, false, true]"),
    "a misspelt argument of a formula": ("    x: grad\n", "    xx: grad\n"),
    "an operator twice": ("func: made(int n) -> Tensor", "func: pair(int n) -> Tensor"),
    "a schema in single quotes": (
        "func: made(int n) -> Tensor",
        "func: 'made(int n, str s=''it'', Tensr n) -> Tensor'",
    ),
    "a schema in double quotes": (
        "func: made(int n) -> Tensor",
        'func: "made(int n, str s=\\"\\x41\\", Tensr n) -> Tensor"',
    ),
    "a schema in a folded block": ("func: made(int n) -> Tensor", "func: >-\n    made(int n,\n    Tensr n) -> Tensor"),
    "a schema over lines": ("func: made(int n) -> Tensor", "func: made(int n,\n    Tensr n) -> Tensor"),
    "a formula in a literal block": ("    result: x_t + y_t * scale", "    result: |\n      x_t\n      + y_t * sclae"),
    "a formula with escapes": ("y: {default: grad * scale", 'y: {default: "grad \\x2A sclae"'),
    # ---- the file
    "a misspelt key of the file": ("library: libk.so", "libary: libk.so"),
    "a namespace that is no name": ("namespace: fused", "namespace: fu-sed"),
    "no namespace": ("namespace: fused\n", ""),
    "a library that is a list": ("library: libk.so", "library: [libk.so]"),
    "no library": ("library: libk.so\n", ""),
    "operators as a mapping": ("ops:\n- func: mix", "ops:\n  func: mix"),
    "a key twice": ("  doc: Mixes.\n", "  doc: Mixes.\n  doc: Again.\n"),
    "an anchor": ("doc: Mixes.", "doc: &mixes Mixes."),
    "a tab": ("  doc: Mixes.", "\tdoc: Mixes."),
    "a colon in a value": ("doc: Mixes.", "doc: Mixes: all."),
    # ---- an operator
    "a misspelt key": ("  backward:\n    x: grad\n", "  bakward:\n    x: grad\n"),
    "a schema that is a list": ("func: made(int n) -> Tensor", "func: [made]"),
    "no schema": ("- func: made(int n) -> Tensor\n  fake", "- fake"),
    "an empty schema": ("func: made(int n) -> Tensor", "func: ''"),
    "a schema without returns": ("func: made(int n) -> Tensor", "func: made(int n)"),
    "a doc that is a list": ("doc: Mixes.", "doc: [Mixes.]"),
    "an unknown tag": ("tags: [pointwise]", "tags: [pointwize]"),
    "an unknown variant": ("variants: function", "variants: functoin"),
    "an empty deprecation": ("deprecated: use `mix2`", "deprecated: ''"),
    "a since that is a list": ("since: 1.2", "since: [1, 2]"),
    "a check of a number": ("x.shape == y.shape", "x.numel()"),
    "a check of the data": ("x.shape == y.shape", "x == y"),
    "a check that does not parse": ("x.shape == y.shape", "x.shape = y.shape"),
    "a check of an unknown property": ("x.shape == y.shape", "x.shap == y.shape"),
    "a check of what may be None": ("x.shape == y.shape", "b.shape == y.shape"),
    "a check of the output": ("x.shape == y.shape", "out.dim() == 1"),
    "a check without a condition": ("{that: scale > 0, error", "{error"),
    "a check with an unknown error": ("error: ValueError", "error: ValeError"),
    "a check with a message that is a list": ("message: 'the scale must be positive'", "message: [positive]"),
    "a check of devices that there is none": ("device_check: ExactSame", "device_check: ExactSam"),
    "a check of overlap that there is none": ("[Internal, Partial]", "[Internal, Partly]"),
    "a variant that cannot be made": ("autogen: mix.out", "autogen: mix.ot"),
    "a method without a tensor": ("made(int n) -> Tensor", "made(int n) -> Tensor\n  variants: method"),
    "a variant of another namespace": ("autogen: mix.out", "autogen: other::mix.out"),
    "a C type inside of an argument": ("out, f32(scale)]", "out, 'f32(scale) if scale > 0 else f32(1)']"),
    "an output that a kernel does not get": ("x, y, out, f32(scale)]", "x, y, f32(scale)]"),
    "a word inside of a formula": ("    x: grad\n", "    x: grad + not_implemented\n"),
    "a copy of what is written to": (
        "made(int n) -> Tensor\n  fake: {python: 'my.kernels:made_fake'}\n"
        "  kernels: [{device: cpu, python: 'my.kernels:made', dtypes: float32}]",
        "made(Tensor(a!) x) -> ()\n  kernels: [{device: cpu, symbol: made, args: [contiguous(x)]}]\n"
        "  backward: not_implemented",
    ),
    "a tolerance below zero": ("tolerance: 1e-6", "tolerance: -1e-6"),
    "a fallback to somewhere": ("fallback: error", "fallback: npu"),
    "a fallback to a kernel that is not there": (
        "kernels: [{device: cpu, python: 'my.kernels:pair'}]",
        "fallback: cpu\n  kernels: [{device: npu, python: 'my.kernels:pair'}]",
    ),
    "an autocast to integers": ("autocast: {npu: float16}", "autocast: {npu: int8}"),
    "an autocast on nothing": ("autocast: {npu: float16}", "autocast: {tpu: float16}"),
    "a graph without update": ("graph: {update: [sizes]}", "graph: {}"),
    "an update of what is no argument": ("update: [sizes]", "update: [sizs]"),
    "an update of a tensor's memory": (
        "func: made(int n) -> Tensor",
        "func: made(Generator n) -> Tensor\n  graph: {update: n}",
    ),
    # ---- fake
    "a fake of an unknown argument": ("  fake: {like: x}\n  kernels:\n", "  fake: {like: z}\n  kernels:\n"),
    "a fake that is not a tensor": ("  fake: {like: x}\n  kernels:\n", "  fake: {like: scale}\n  kernels:\n"),
    "a shape that is a number": ("{shape: x.shape}", "{shape: x.numel()}"),
    "a size that is a list": ("{shape: [x.size(0)],", "{shape: [x.shape],"),
    "a dtype that is a device": ("dtype: x.dtype", "dtype: x.device"),
    "a rule too few": ("  - {shape: x.shape}\n", ""),
    "a rule too many": ("  - {shape: x.shape}\n", "  - {shape: x.shape}\n  - {shape: x.shape}\n"),
    "a shape beside like": ("{shape: x.shape}", "{shape: x.shape, like: x}"),
    "an unknown key of a rule": ("{shape: x.shape}", "{shpae: x.shape}"),
    "a rule that is empty": ("{shape: x.shape}", "{}"),
    "a rule beside python": ("{python: 'my.kernels:made_fake'}", "{python: 'my.kernels:made_fake', dtype: float32}"),
    "a function that is none": ("'my.kernels:made_fake'", "my.kernels.made_fake"),
    "no rule": ("  fake: {python: 'my.kernels:made_fake'}\n", ""),
    "a rule with the data": ("{shape: x.shape}", "{shape: '[x.max()]'}"),
    # ---- kernels
    "no kernels": ("  kernels: [{device: cpu, python: 'my.kernels:solved'}]\n", ""),
    "kernels that are empty": ("kernels: [{device: cpu, python: 'my.kernels:solved'}]", "kernels: []"),
    "an unknown device": ("- {device: cpu, compute", "- {device: gpu, compute"),
    "an unknown dtype": ("[float16, float32]", "[half, float32]"),
    "a kernel of two kinds": (
        "- {device: cpu, compute: x + y * scale}",
        "- {device: cpu, compute: x + y, python: 'a:b'}",
    ),
    "a kernel of no kind": ("- {device: cpu, compute: x + y * scale}", "- {device: cpu, when: x.dim() == 1}"),
    "an unknown abi": ("symbol: mix_any,", "symbol: mix_any, abi: cuda,"),
    "a symbol that is no name": ("symbol: mix_any", "symbol: mix-any"),
    "a library beside sources": ("source: mix.cpp,", "source: mix.cpp, library: libm.so,"),
    "no block_dim": ("block_dim: 8, ", ""),
    "a block_dim that is a float": ("block_dim: 8", "block_dim: scale * 2"),
    "a block_dim without blocks": ("block_dim: 8, args", "block_dim: 8, abi: c, args"),
    "a number without a C type": ("out, f32(scale)]", "out, scale]"),
    "an unknown C type": ("out, f32(scale)]", "out, f128(scale)]"),
    "an unknown argument of a kernel": ("args: [x, y, out,", "args: [x, z, out,"),
    "a list for a kernel": ("args: [x, y, out,", "args: [x, sizes, out,"),
    "args that are a mapping": ("args: [x, y, out, f32(scale)]", "args: {x: y}"),
    "a comma within brackets": ("out, f32(scale)]", "out, f32(max(scale, 1.0))]"),
    "a workspace that is not used": ("out, workspace, tiling]", "out, tiling]"),
    "a workspace that is not declared": ("args: [x, y, out, f32(scale)]", "args: [x, y, out, workspace]"),
    "a workspace of a tensor": ("workspace: 4 * x.numel()", "workspace: x * 4"),
    "a folder of headers that is empty": ("include: [inc]", "include: ['']"),
    "a definition that is no name": ("{WIDTH: 8}", "{9WIDTH: 8}"),
    "a definition of a list": ("{WIDTH: 8}", "{WIDTH: [8]}"),
    "flags that are one word": ("flags: [-O3]", "flags: -O3"),
    "a tiling field without a C type": ("n: u32(x.numel())", "n: x.numel()"),
    "a tiling field that is no name": ("tiling: {n: u32", "tiling: {1n: u32"),
    "a tiling of a shape": ("n: u32(x.numel())", "n: u32(x.shape)"),
    "a when that is a number": ("when: x.dim() == 1", "when: x.dim()"),
    "a when of the data": ("when: x.dim() == 1", "when: x.sum() > 0"),
    "a kernel behind one that takes all": ("    dtypes: [float16, float32]\n    when: x.dim() == 1\n", ""),
    "a launch key of a composed kernel": ("compute: x + y * scale}", "compute: x + y * scale, block_dim: 2}"),
    "an unknown operator": ("compute: x + y * scale", "compute: x + scaled(y, scale)"),
    "an operator with wrong arguments": ("compute: x + y * scale", "compute: x.add(y, alpha='one')"),
    "a composed kernel of another type": ("compute: x + y * scale", "compute: x.shape"),
    "a composed kernel that names a gradient": ("compute: x + y * scale", "compute: grad * scale"),
    "a primitive without a name": ("{primitive: Add, args: [x, y], attrs: {a: scale}}", "{args: [x, y]}"),
    "an unknown key of a primitive": ("attrs: {a: scale}", "atrs: {a: scale}"),
    # ---- gradients
    "no gradient": ("    x: grad\n    y", "    y"),
    "no gradients": ("  backward: {function: 'my.kernels:back', setup_context: 'my.kernels:setup'}\n", ""),
    "a marker that is misspelt": ("b: not_differentiable", "b: not_diferentiable"),
    "a word for all that is misspelt": (
        "backward: {function: 'my.kernels:back', setup_context: 'my.kernels:setup'}",
        "backward: not_differentable",
    ),
    "a gradient twice": ("    b: not_differentiable", "    'b, x': not_differentiable"),
    "a gradient that is a number": ("    x: grad\n", "    x: scale\n"),
    "a gradient of an output without one": ("'grads[0]'", "'grads[0] + grads[1]'"),
    "a gradient out of range": ("'grads[0]'", "'grads[2]'"),
    "a formula for an unknown device": ("npu: scale * grad}", "tpu: scale * grad}"),
    "no default formula": ("{default: grad * scale, npu", "{cpu: grad * scale, npu"),
    "formulas beside a function": ("setup_context: 'my.kernels:setup'}", "x: grad}"),
    "a function that is malformed": ("function: 'my.kernels:back'", "function: my.kernels.back"),
    "flags that are words": ("[true, false]", "[yes, no]"),
    "flags that are all true": ("[true, false]", "[true, true]"),
    # ---- forward
    "a tangent of an argument": ("    result: x_t + y_t * scale", "    result: x_t + y_t * scale\n    x: x_t"),
    "a tangent of no tensor": ("x_t + y_t * scale", "x_t + scale_t"),
    "a tangent that reads a gradient": ("x_t + y_t * scale", "grad + x_t"),
    "a tangent that reads no tangent": ("x_t + y_t * scale", "x + y"),
    "an unknown word for tangents": ("  forward:\n    result: x_t + y_t * scale", "  forward: auto_liner"),
    # ---- examples
    "an example without an argument": ("{x: [1.0, 2.0], y: 'ones([2])', b", "{x: [1.0, 2.0], b"),
    "an example with an unknown argument": ("b: None, sizes: [1]}", "b: None, sizes: [1], scal: 2.0}"),
    "an example that is ragged": ("x: [1.0, 2.0]", "x: [[1.0], [1.0, 2.0]]"),
    "an example of an unknown operator": ("'ones([2])'", "'onse([2])'"),
    "an example that expects something unknown": ("expect: x + y", "expect: x + z"),
    "a tolerance that is a word": ("tolerance: 1e-6", "tolerance: small"),
    "an example without arguments": (
        "  - args: {x: [1.0, 2.0], y: 'ones([2])', b: None, sizes: [1]}\n    expect",
        "  - expect",
    ),
}


def said(folder: Path, title: str) -> str:
    """What is said of GOOD with one change."""
    old, new = CHANGES[title]
    assert GOOD.count(old) == 1, f"{title}: {GOOD.count(old)} places"
    return findings(folder, GOOD.replace(old, new))


def golden() -> dict[str, str]:
    """The texts of the golden file by title."""
    parts = re.split(r"^#### (.*)\n", GOLDEN.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_nothing_is_wrong_with_the_good_one(tmp_path: Path) -> None:
    assert findings(tmp_path, GOOD) == ""


@pytest.mark.parametrize("title", CHANGES)
def test_a_fault_and_its_exact_text(tmp_path: Path, title: str) -> None:
    text = said(tmp_path, title)
    assert "error[" in text
    assert text == golden()[title]


def test_the_golden_file_has_no_other() -> None:
    assert list(golden()) == list(CHANGES)


def test_every_key_of_the_language_is_in_the_good_one() -> None:
    """So that a new key comes with its faults."""
    schema = json_schema()["$defs"]
    keys = {key for name in schema for key in schema[name].get("properties", {}) if name not in ("by_device",)}
    keys -= {"cpu", "cuda", "mps", "meta"}  # devices, as keys
    written = {*re.findall(r"(\w+):", GOOD)}
    assert keys - written == {"abi", "aliases", "load"}  # which have tests of their own


def test_no_advice_goes_in_a_circle(tmp_path: Path) -> None:
    """What a launched kernel writes to needs a rule, whatever else there is for other devices."""
    launched = "  - {device: cpu, symbol: twice, args: [x, out, u64(x.numel())]}\n"
    entry = f"- func: n::twice(Tensor x) -> Tensor\n  kernels:\n{launched}  - {{compute: x + x}}\n"
    without = f"library: libk.so\nops:\n{entry}"
    assert "error[MT314]" in findings(tmp_path, without)
    assert findings(tmp_path, f"{without}  fake: {{like: x}}\n") == ""


def test_what_is_launched_beside_a_kernel_for_meta_is_told_one_way_out(tmp_path: Path) -> None:
    """Either finding asks for a rule and no such kernel, so that who follows one does not meet the other."""
    launched = "  - {device: cpu, symbol: twice, args: [x, out, u64(x.numel())]}\n"
    head = f"library: libk.so\nops:\n- func: n::twice(Tensor x) -> Tensor\n  kernels:\n{launched}"
    meta, tail = "  - {device: meta, python: 'm:f'}\n", "  backward: not_differentiable\n"
    rule = "  fake: {like: x}\n"
    assert "give `fake` as `like:` or `shape:`, in place of the kernel for `meta`" in findings(
        tmp_path, head + meta + tail
    )
    both = findings(tmp_path, head + meta + rule + tail)
    assert "[MT404]" in both
    assert "remove that kernel: a launched one needs the rule" in both
    assert findings(tmp_path, head + rule + tail) == ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print("".join(f"#### {title}\n{said(Path(name), title)}" for title in CHANGES), end="")
