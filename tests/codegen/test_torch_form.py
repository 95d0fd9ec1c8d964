"""One ops.yaml under both runtimes: the same values, gradients and errors, and PyTorch's own check of the operators."""

from __future__ import annotations

import ast
import gc
import importlib
import itertools
import keyword
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch as oracle
from torch._ops import _OpNamespace

import mindtorch_v2 as mindtorch
import mindtorch_v2.library.definitions
from mtcodegen.findings.codes import Severity
from mtcodegen.findings.diagnostics import render_text
from mtcodegen.project.generate import generate
from mtcodegen.targets.job import Input, Job
from tests.codegen.support import load, put_sources, write

SOURCE = """\
#include <stdint.h>
struct fields { uint8_t flag; double factor; uint32_t n; };
int axpy(const float* x, const float* y, float* out, float scale, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] + scale * y[i];
  return 0;
}
int times(const float* x, float* out, const struct fields* f) {
  for (uint32_t i = 0; i < f->n; ++i) out[i] = f->flag ? x[i] * f->factor : x[i];
  return f->n == 7 ? 3 : 0;
}
typedef struct {
  void* data; int64_t ndim; const int64_t* shape; const int64_t* strides; int32_t dtype, itemsize;
} mt_tensor;
int blank(const mt_tensor* out) {
  for (int i = 0; i < out->itemsize; ++i) ((uint8_t*)out->data)[i] = 0;
  return 0;
}
int diagonal(const mt_tensor* x, float* out) {
  for (int64_t i = 0; i < x->shape[0]; ++i) out[i] = ((float*)x->data)[i * (x->strides[0] + x->strides[1])];
  return 0;
}
"""
TEXT = """\
namespace: codegen_both
ops:
- func: axpy(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
  autogen: axpy.out, axpy_
  check: [x.shape == y.shape]
  fake: {like: x}
  kernels:
  - device: cpu
    source: kernels.c
    symbol: axpy
    args: [contiguous(x), contiguous(y), out, f32(scale), u64(x.numel())]
    dtypes: float32
  backward: {x: grad, y: grad * scale}
- func: times(Tensor x, float factor=3.0, bool flag=True) -> Tensor
  fake: {like: x}
  kernels:
  - device: cpu
    source: kernels.c
    symbol: times
    tiling: {flag: 'bool(flag)', factor: f64(factor), n: u32(x.numel())}
    args: [contiguous(x), out, tiling]
  backward: {x: grad * factor if flag else grad}
- func: diagonal(Tensor x) -> Tensor
  fake: {shape: ['x.size(0)']}
  kernels:
  - {device: cpu, source: kernels.c, symbol: diagonal, args: [desc(x), out]}
  backward: not_implemented
- func: blank(Tensor x, Tensor y) -> Tensor
  fake: {shape: 'broadcast_shapes(x.shape, y.shape)', dtype: 'result_type(x, y)'}
  kernels: [{device: cpu, source: kernels.c, symbol: blank, args: [desc(out)]}]
  backward: not_implemented
- func: blank_mask(Tensor x, Tensor y) -> Tensor
  fake: {shape: 'broadcast_shapes(x.shape, y.shape)', dtype: bool}
  kernels: [{device: cpu, source: kernels.c, symbol: blank, args: [desc(out)]}]
  backward: not_implemented
- func: both(Tensor x, Tensor y) -> (Tensor, Tensor)
  fake: [{like: x}, {like: y, dtype: bool}]
  kernels: [{device: cpu, compute: [x * y, x > y]}]
  output_differentiability: [true, false]
  backward: {x: 'grads[0] * y', y: 'grads[0] * x'}
- func: first(Tensor[] xs, Tensor? bias=None) -> Tensor
  fake: {like: 'xs[0]'}
  kernels: [{device: cpu, compute: 'xs[0] * 2 + bias if bias is not None else xs[0] * 2'}]
  backward: {xs: not_differentiable, bias: grad}
- func: cube(Tensor x) -> Tensor
  autocast: {cpu: bfloat16}
  kernels: [{compute: x * x * x}]
- func: each_add(Tensor[] xs, Tensor y) -> Tensor[]
  autogen: each_add.out, each_add_
  kernels: [{python: 'tests.codegen.test_autogen:each_add'}]
- func: each_double_(Tensor(a!)[] xs, Tensor(b!) count) -> ()
  autogen: each_double, each_double.out
  kernels: [{python: 'tests.codegen.test_autogen:each_double'}]
"""


def made(folder: Path, text: str, target: str = "torch") -> tuple[dict[str, str], str]:
    """Files by path and the findings, for a folder with the C kernels."""
    (folder / "kernels.c").write_text(SOURCE)
    path = folder / "ops.yaml"
    path.write_text(text)
    put_sources(folder, text)
    generated, found = generate([Job((Input(path, path.name),), folder / "made", "", target)])
    return (generated[0].files if generated else {}), render_text(found)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The module for PyTorch, and the one for the runtime."""
    folder = tmp_path_factory.mktemp("both")
    files, shown = made(folder, TEXT)
    assert shown == ""
    write(folder / "codegen_both_torch", files)
    sys.path.insert(0, str(folder))
    try:
        theirs = importlib.import_module("codegen_both_torch.ops")
    finally:
        sys.path.remove(str(folder))
    return theirs, load(folder, TEXT)


def _tensors(torch, *values, grad=True):
    return [torch.tensor(value, requires_grad=grad and value.dtype.kind == "f") for value in map(np.float32, values)]


CALLS = {
    "axpy": lambda torch, op: (op, _tensors(torch, [1, 2], [3, 4]), {"scale": 2.5}),
    "axpy, default": lambda torch, op: (op, _tensors(torch, [[1], [2]], [[3], [4]]), {}),
    "times": lambda torch, op: (op, _tensors(torch, [1, 2, 3]), {}),
    "times, off": lambda torch, op: (op, [*_tensors(torch, [1, 2]), 2.0, False], {}),
    "both": lambda torch, op: (op, _tensors(torch, [1, 5], [3, 4]), {}),
    "first": lambda torch, op: (op, [_tensors(torch, [1, 5], [3, 4], grad=False), *_tensors(torch, [7, 8])], {}),
    "cube": lambda torch, op: (op, _tensors(torch, [1, -2]), {}),
}


def _outcome(torch, module, title):
    op = getattr(torch.ops.codegen_both, title.partition(",")[0]).default
    op, args, kwargs = CALLS[title](torch, op)
    result = op(*args, **kwargs)
    outputs = list(result) if isinstance(result, tuple | list) else [result]
    sum((out * out).sum() for out in outputs if out.requires_grad).backward()
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor)]
    gradients = [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]
    return [out.tolist() for out in outputs], [out.requires_grad for out in outputs], gradients


@pytest.mark.parametrize("title", CALLS)
def test_values_and_gradients_agree(modules, title):
    theirs, ours = modules
    assert _outcome(oracle, theirs, title) == _outcome(mindtorch, ours, title)


@pytest.mark.parametrize("title", CALLS)
def test_pytorch_finds_nothing_wrong(modules, title):
    name = title.partition(",")[0]
    op, args, kwargs = CALLS[title](oracle, getattr(oracle.ops.codegen_both, name).default)
    outcome = oracle.library.opcheck(op, tuple(args), kwargs)
    assert {*outcome.values()} == {"SUCCESS"}, outcome


SHAPES = [((1,), (1,)), ((2, 1), (3,)), ((2,), ()), ((), (2,)), ((), ())]
DTYPES = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_outputs_of_two_tensors_have_their_shape_and_dtype(modules, shapes):
    for names in itertools.product(DTYPES, DTYPES):
        expected = oracle.add(
            *(oracle.zeros(shape, dtype=getattr(oracle, name)) for shape, name in zip(shapes, names, strict=True))
        )
        for torch, module in zip((oracle, mindtorch), modules, strict=True):
            x, y = (torch.zeros(shape, dtype=getattr(torch, name)) for shape, name in zip(shapes, names, strict=True))
            for op, dtype in ((module.blank, str(expected.dtype)), (module.blank_mask, "torch.bool")):
                for result in (op(x, y), op(x.to("meta"), y.to("meta"))):
                    assert (tuple(result.shape), str(result.dtype)) == (tuple(expected.shape), dtype), names


def test_shapes_that_do_not_fit_are_an_error(modules):
    for torch, module in zip((oracle, mindtorch), modules, strict=True):
        for device in ("cpu", "meta"):
            with pytest.raises(RuntimeError, match="broadcast"):
                module.blank(torch.ones(2, device=device), torch.ones(3, device=device))


def test_a_strided_tensor_reaches_a_kernel_as_it_is(modules):
    for torch, module in zip((oracle, mindtorch), modules, strict=True):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
        assert module.diagonal(x).tolist() == [1.0, 4.0]


SQUARE = """\
namespace: NAME
ops:
- func: slope(Tensor grad, Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{compute: grad * 2 * x}]
  backward: not_implemented
- func: square(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{compute: x * x}]
  backward: {x: 'slope(grad, x)'}
- func: mixed(Tensor x, *, Tensor y) -> Tensor
  fake: {like: x}
  kernels: [{compute: x * y}]
  backward: not_implemented
- func: square_(Tensor(a!) x) -> Tensor(a!)
  kernels: [{compute: x * x}]
  backward: {x: grad}
- func: grow(Tensor(a!) x) -> ()
  kernels: [{device: cpu, compute: 'x.add_(1)'}]
  backward: not_implemented
"""


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    """Operators without a gradient, for PyTorch."""
    folder = tmp_path_factory.mktemp("squares")
    files, shown = made(folder, SQUARE.replace("NAME", "codegen_squares"))
    assert "error" not in shown
    write(folder / "codegen_squares_torch", files)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("codegen_squares_torch.ops")
    finally:
        sys.path.remove(str(folder))


def test_a_gradient_that_there_is_none_for_is_an_error(squares, tmp_path):
    for torch, module in ((oracle, squares), (mindtorch, load(tmp_path, SQUARE.replace("NAME", "codegen_squares")))):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (first,) = torch.autograd.grad(module.square(x).sum(), x, create_graph=True)
        assert first.tolist() == [2.0, 4.0]
        with pytest.raises(RuntimeError, match="derivative for codegen_squares::slope is not implemented"):
            first.sum().backward()
        with torch.no_grad():
            assert module.slope(first, x).tolist() == [4.0, 16.0]


def test_what_pytorch_registers_no_gradient_for_is_refused_where_one_would_be_needed(squares):
    x, y = oracle.tensor([1.0, 2.0], requires_grad=True), oracle.tensor([3.0, 4.0])
    with pytest.raises(RuntimeError, match="derivative for codegen_squares::mixed is not implemented, and an argument"):
        squares.mixed(x, y=y)
    with pytest.raises(RuntimeError, match="derivative for codegen_squares::square_ is not implemented, and an arg"):
        squares.square_(x * 1)
    assert squares.mixed(x.detach(), y=y).tolist() == [3.0, 8.0]
    with oracle.no_grad():
        assert squares.grow(y) is None
        assert y.tolist() == [4.0, 5.0]
        y.sub_(1)
        version = y._version
        assert squares.square_(y) is y
        assert (y.tolist(), y._version) == ([9.0, 16.0], version + 1)


def test_variants(modules):
    for torch in (oracle, mindtorch):
        x, y = torch.tensor([1.0]), torch.tensor([2.0])
        assert torch.ops.codegen_both.axpy.out(x, y, scale=2.0, out=torch.empty(1)).tolist() == [5.0]
        assert torch.ops.codegen_both.axpy_(x, y) is x
        assert x.tolist() == [3.0]


def test_variants_of_lists(modules):
    for torch in (oracle, mindtorch):
        x, y, count, ops = torch.tensor([1.0]), torch.tensor([2.0, 3.0]), torch.tensor(0.0), torch.ops.codegen_both
        outs = [torch.empty(0), torch.empty(1)]
        ops.each_add.out([y, x], x, out=outs)
        assert [out.tolist() for out in outs] == [[3.0, 4.0], [2.0]]
        ops.each_add_(outs, x)
        assert [out.tolist() for out in outs] == [[4.0, 5.0], [3.0]]
        (double,), counted = ops.each_double.default([y], count)
        assert (double.tolist(), counted.item(), y.tolist(), count.item()) == ([4.0, 6.0], 1, [2.0, 3.0], 0)
        ops.each_double.out([y], count, out=outs[:1])
        assert (outs[0].tolist(), y.tolist(), count.item()) == ([4.0, 6.0], [2.0, 3.0], 1)


def test_autocast_in_pytorch(modules):
    theirs, _ = modules
    x = oracle.tensor([2.0], requires_grad=True)
    with oracle.autocast("cpu", dtype=oracle.float16):
        result = theirs.cube(x)
    result.backward()
    assert (result.dtype, result.item(), x.grad.tolist()) == (oracle.bfloat16, 8.0, [12.0])


SAVED = """\
namespace: codegen_saved
ops:
- func: product(Tensor x, Tensor y) -> Tensor
  device_check: NoCheck
  fake: {like: x}
  kernels: [{device: cpu, compute: x * y}]
  backward: {x: grad * y, y: grad * y.size(0) + x.dim()}
- func: root(Tensor x, bool inverse=False) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, compute: 1 / x.sqrt() if inverse else x.sqrt()}]
  backward: {x: '-grad * result / (2 * x) if inverse else grad / (2 * result)'}
- func: old(Tensor x) -> Tensor
  deprecated: call new
  kernels: [{compute: x * 2}]
"""


def test_the_module_is_the_same_text_but_for_its_import(tmp_path):
    """But for what PyTorch has no place for: here nothing."""
    ours, theirs = (made(tmp_path, SAVED, target)[0]["ops.py"] for target in ("mindtorch", "torch"))
    assert theirs.partition("__all__")[2] == ours.partition("__all__")[2]
    assert "mindtorch" not in theirs


def test_the_language_has_the_same_names_everywhere(tmp_path):
    """What a definition may import: for the runtime, and from what is copied beside modules for others."""
    beside = {"KernelLauncher", "Library", "torch"}  # of other modules in the runtime
    expected = {*mindtorch.library.definitions.__all__, *beside} - {"Definition"}
    assert {"like", "f32", "minimum", "DefinitionError", "OperatorBuilder"} <= expected
    for target in ("torch", "mindspore"):
        files, _ = made(tmp_path, SAVED.replace("codegen_saved", "codegen_named"), target)
        write(tmp_path / f"named_{target}", files)
    sys.path.insert(0, str(tmp_path))
    try:
        for target in ("torch", "mindspore"):
            assert {*importlib.import_module(f"named_{target}._{target}_definitions").__all__} == expected
    finally:
        sys.path.remove(str(tmp_path))


def test_a_package_needs_nothing_of_ours(tmp_path):
    """Not even installed: what carries out its definitions is in it."""
    files, _ = made(tmp_path, SAVED.replace("codegen_saved", "codegen_alone"))
    write(tmp_path / "codegen_alone", files)
    code = """\
import sys; sys.path.insert(0, sys.argv[1])
for name in ("mindtorch_v2", "mtcodegen", "opschema"): sys.modules[name] = None
import torch, codegen_alone.ops as ops
x = torch.tensor([4.0], requires_grad=True); ops.root(x).backward(); print(x.grad.item())
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert done.stdout == "0.25\n", done.stderr


@pytest.mark.parametrize("target", ["torch", "mindspore"])
def test_what_a_target_cannot_do_is_an_error_at_import(tmp_path, target):
    """Of a definition by hand: the generator leaves it out, and says so."""
    files, _ = made(tmp_path, SAVED, target)
    name = f"codegen_updated_{target}"
    support = f"_{target}_definitions"
    lines = [f"from .{support} import Library", "lib = Library('codegen_updated', 'FRAGMENT')"]
    lines += [
        "@lib.operator('f(Tensor x, int n) -> Tensor', graph_update=('n',))",
        "def f(op, x, n): op.returns(x * n)",
    ]
    write(tmp_path / name, {**files, "__init__.py": "", "ops.py": "\n".join(lines)})
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(RuntimeError, match=r"codegen_updated::f: graph_update=\['n'\]: .* leave it out"):
            importlib.import_module(f"{name}.ops")
    finally:
        sys.path.remove(str(tmp_path))


@pytest.fixture(scope="module")
def saving(tmp_path_factory):
    """Operators whose gradients read some of what they get."""
    folder = tmp_path_factory.mktemp("saving")
    files, shown = made(folder, SAVED)
    assert shown == ""
    write(folder / "codegen_saved_torch", files)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("codegen_saved_torch.ops")
    finally:
        sys.path.remove(str(folder))


def test_what_gradients_read_is_what_is_saved(saving):
    """Of `x` its number of dimensions alone, so that it may change; `y` may not."""
    x, y = (oracle.tensor(value, requires_grad=True) for value in ([1.0, 2.0], [3.0, 4.0]))
    given, kept = x * 1, y * 1
    result = saving.product(given, kept)
    given.mul_(10)
    gradients = oracle.autograd.grad(result.sum(), [x, y], retain_graph=True)
    assert [gradient.tolist() for gradient in gradients] == [[3.0, 4.0], [3.0, 3.0]]
    kept.mul_(10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


@pytest.mark.parametrize("inverse", [False, True])
def test_outputs_are_read_on_every_way(saving, inverse):
    x = oracle.tensor([1.0, 4.0], dtype=oracle.float64, requires_grad=True)
    assert oracle.autograd.gradcheck(lambda x: saving.root(x, inverse), x)


def test_a_graph_that_is_compiled_holds_operators_of_any_size(modules):
    theirs, _ = modules
    compiled = oracle.compile(lambda x, y: theirs.axpy(x, y, scale=2.0) * 2, fullgraph=True, backend="aot_eager")
    for size in (3, 4, 5):
        x, y = (oracle.ones(size, requires_grad=True) for _ in range(2))
        compiled(x, y).sum().backward()
        assert (x.grad.tolist(), y.grad.tolist()) == ([2.0] * size, [4.0] * size)


def test_tensors_are_freed_without_the_garbage_collector(modules):
    theirs, _ = modules
    x = oracle.ones(3, requires_grad=True) * 1
    alive = weakref.ref(x)
    gc.disable()
    try:
        theirs.axpy(x, x).sum().backward()
        with pytest.raises(RuntimeError, match="same shape"):
            theirs.axpy(x, oracle.ones(4))
        del x
        assert alive() is None
    finally:
        gc.enable()


def test_a_deprecated_operator_warns_where_it_is_called(saving):
    with pytest.warns(FutureWarning, match="codegen_saved::old is deprecated: call new") as caught:
        assert saving.old(oracle.ones(1)).item() == 2.0
    assert caught[0].filename == __file__


def test_errors_say_the_same(modules):
    messages = []
    for torch, module in zip((oracle, mindtorch), modules, strict=True):
        with pytest.raises(RuntimeError) as caught:
            module.axpy(torch.ones(2), torch.ones(3))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert messages[0].endswith("expected x and y to have the same shape, got x.shape = [2], y.shape = [3]")


def test_a_kernel_that_fails_and_one_for_another_dtype(modules):
    theirs, _ = modules
    with pytest.raises(RuntimeError, match="times: returned 3"):
        theirs.times(oracle.ones(7))
    with pytest.raises(RuntimeError, match=r"axpy: expected torch.float32, got torch.float64"):
        theirs.axpy(oracle.ones(1, dtype=oracle.float64), oracle.ones(1, dtype=oracle.float64))


def test_it_is_formatted_lint_free_and_compiles(tmp_path, repo_root):
    files, _ = made(tmp_path, TEXT)
    write(tmp_path / "out", files)
    for name, text in files.items():
        ast.parse(text, name, feature_version=(3, 10))
    for command in (["format", "--diff"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--config", repo_root / "pyproject.toml"]
        result = subprocess.run([*ruff, tmp_path / "out"], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout


def _readable(schema):
    try:
        oracle._C.parse_schema(schema)
    except RuntimeError:
        return False
    return True


def test_names_that_pytorch_reserves_are_refused(tmp_path):
    """Exactly those that PyTorch's own parser refuses; the runtime here takes them."""
    words = [*keyword.kwlist, *keyword.softkwlist, "print", "self", "inf", "name", "delete", "range"]
    for word in words:
        if word in ("None", "True", "False"):
            continue  # YAML's or the grammar's own
        schema = f"my::f(Tensor {word}) -> Tensor"
        _, shown = made(tmp_path, f"- func: {schema}\n  kernels: [{{python: 'm:f'}}]\n")
        assert ("error[MT621]" not in shown) == _readable(schema), word
        _, shown = made(tmp_path, f"- func: my::f.{word}(Tensor x) -> Tensor\n  kernels: [{{python: 'm:f'}}]\n")
        assert ("error[MT621]" not in shown) == _readable(f"my::f.{word}(Tensor x) -> Tensor"), word
    _, shown = made(tmp_path, "- func: my::name(Tensor as) -> Tensor\n  kernels: [{python: 'm:f'}]\n")
    assert [line for line in shown.splitlines() if line.startswith("ops.yaml")] == [
        "ops.yaml:1:13: error[MT621]: my::name: PyTorch reserves `name`, which cannot be the name of an operator",
        "ops.yaml:1:25: error[MT621]: my::name: PyTorch reserves `as`, which cannot be the name of an argument",
    ]


def _attributes(thing):
    return {name for name in [*dir(type(thing)), *vars(thing)] if not name.startswith("__")}


def test_names_that_pytorchs_objects_have_are_refused(tmp_path):
    """`torch.ops.load_library` is no namespace, `torch.ops.my.f.overloads` no overload."""
    namespaces = {name for name in _attributes(oracle.ops) if not isinstance(getattr(oracle.ops, name), _OpNamespace)}
    overloads = {name for name in _attributes(oracle.ops.aten.mm) if name not in oracle.ops.aten.mm.overloads()}
    assert {"load_library", "higher_order"} <= namespaces
    assert {"op", "overloads"} <= overloads
    schemas = [f"{name}::f(Tensor x) -> Tensor" for name in namespaces]
    schemas += [f"my::f.{name}(Tensor x) -> Tensor" for name in overloads]
    for schema in schemas:
        _, shown = made(tmp_path, f"- func: {schema}\n  kernels: [{{python: 'm:f'}}]\n")
        assert "error[MT621]" in shown or "error[MT122]" in shown, schema


def test_what_pytorch_has_no_place_for_is_listed(tmp_path):
    text = """\
namespace: my
library: libk.so
ops:
- func: f(Tensor x) -> Tensor
  autocast: {npu: float16}
  fake: {like: x}
  kernels:
  - {device: npu, symbol: f, block_dim: 1, args: [x, out]}
  - {device: cpu, mindspore: Abs, dtypes: float32}
  - {device: cpu, compute: x * 1}
  backward: {x: grad}
- func: g_(Tensor(a!) x) -> Tensor(a!)
  kernels: [{device: cpu, compute: x * 2}]
  backward: {x: grad * 2}
- func: h(Tensor x) -> Tensor
  fake: {like: x}
  kernels: [{device: cpu, mindspore: Abs}]
  backward: not_implemented
- func: each_(Tensor(a!)[] xs) -> ()
  tags: [inplace, needs_fixed_stride_order]
  kernels: [{python: 'tests.codegen.test_autogen:each_add'}]
"""
    files, shown = made(tmp_path, text)
    assert files == {}
    assert [line for line in shown.splitlines() if line.startswith("ops.yaml")] == [
        "ops.yaml:5:3: warning[MT620]: left out: PyTorch's library takes no casts on npu",
        "ops.yaml:8:19: warning[MT620]: left out: PyTorch cannot run kernels that are launched elsewhere than on cpu",
        "ops.yaml:9:19: warning[MT620]: left out: PyTorch cannot run MindSpore's primitives",
        "ops.yaml:14:3: warning[MT620]: left out: PyTorch's library takes no gradients of operators that alias",
        "ops.yaml:15:9: error[MT621]: my::h has no kernel that PyTorch can run",
        "ops.yaml:17:27: warning[MT620]: left out: PyTorch cannot run MindSpore's primitives",
        "ops.yaml:20:3: warning[MT620]: left out: PyTorch's library takes no tag `inplace` for this schema",
    ]
    assert made(tmp_path, text, "mindtorch")[1] == ""


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        ("f(Tensor(a) x) -> Tensor(a)", ["left out: PyTorch's library takes no gradients of operators that alias"]),
        ("f_(Tensor(a!) x) -> Tensor(a!)", ["left out: PyTorch's library takes no gradients of operators that alias"]),
        (
            "f(Tensor x, *, Tensor y) -> Tensor",
            ["marked::f: PyTorch takes no gradient for an operator with the keyword-only tensor `y`"],
        ),
        ("f(Tensor x) -> Tensor", []),
    ],
)
def test_that_no_gradient_flows_is_registered_like_a_gradient(tmp_path: Path, func: str, expected: list[str]) -> None:
    """And PyTorch refuses it where it would refuse that: such a module could not be imported."""
    path = tmp_path / "ops.yaml"
    path.write_text(f"- func: marked::{func}\n  kernels: [{{python: 'm:f'}}]\n  backward: not_differentiable\n")
    generated, found = generate([Job((Input(path, "ops.yaml"),), tmp_path / "generated", target="torch")])
    assert [item.message for item in found] == expected
    if generated:
        said = "not_implemented" if expected else "not_differentiable"
        assert f"op.{said}()" in generated[0].files["ops.py"]


@pytest.mark.parametrize(("last", "errors"), [("grad", []), ("grda", ["MT204"])])
def test_many_warnings_stand_in_nobodys_way(tmp_path: Path, last: str, errors: list[str]) -> None:
    """A package is written however much is left out of it, and an error is shown however many warnings precede it."""
    entry = "- func: many::f{}(Tensor x) -> Tensor\n  kernels: [{{python: 'm:f'}}]\n  backward: {{x: {}}}\n"
    entry += "  autocast: {{npu: float16}}\n"
    path = tmp_path / "ops.yaml"
    path.write_text("".join(entry.format(i, last if i == 249 else "grad") for i in range(250)))
    generated, found = generate([Job((Input(path, "ops.yaml"),), tmp_path / "generated", target="torch")])
    assert [item.code.name for item in found if item.severity is Severity.ERROR] == errors
    assert [item.code.name for item in found].count("MT620") == 200 - len(errors)
    assert found[-1].message.endswith(" more findings are not shown")
    assert bool(generated) == (not errors)
