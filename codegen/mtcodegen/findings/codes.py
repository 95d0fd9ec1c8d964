"""Every diagnostic's code, with what it means and a file that causes it: for ``explain`` and docs/diagnostics.md.

Codes are stable: a meaning never changes, and a code is never used again.
"""

from __future__ import annotations

from dataclasses import dataclass

from mtcodegen.findings.expression_codes import CODES as EXPRESSION_CODES

__all__ = ["CODES", "Code"]


@dataclass(frozen=True)
class Code:
    """``example`` is a YAML file that causes it; empty where a file alone cannot."""

    title: str
    text: str
    example: str = ""


def _op(rest: str, func: str = "double(Tensor x) -> Tensor", namespace: str = "my") -> str:
    return f"namespace: {namespace}\nops:\n- func: {func}\n{rest}"


_KERNEL = "  kernels:\n  - {device: cpu, library: libk.so, symbol: double, args: [x, out, u64(x.numel())]}\n"
_TAIL = f"  fake: {{like: x}}\n{_KERNEL}  backward: not_differentiable\n"


CODES: dict[str, Code] = {
    "MT100": Code(
        "more findings than are shown",
        "Only the first 200 are. Mend those, and run the tool again.",
    ),
    "MT101": Code(
        "a file that cannot be read as YAML",
        "The file is missing or unreadable, is not UTF-8, has a character that YAML does not allow, or breaks YAML's "
        "grammar. A value that contains `: ` or ` #`, or that starts with one of `[ { & * ! | > % @`, must be quoted.",
        "namespace: my\nops: [\n",
    ),
    "MT102": Code(
        "a key that is given twice",
        "One of the two would silently win. The hint says where the first one stands.",
        _op("  doc: one\n  doc: two\n" + _TAIL),
    ),
    "MT103": Code(
        "a file that is not one list of operators",
        "A file holds one document: a list of operators, or a mapping with `ops`. Keys are names.",
        "---\n[]\n---\n[]\n",
    ),
    "MT104": Code(
        "an anchor, an alias or a tag",
        "They let a small file stand for a huge one, or for objects of any type. Write values out; their types follow "
        "from the keys.",
        _op("  doc: &text one\n" + _TAIL),
    ),
    "MT105": Code(
        "nesting without end",
        "Lists and mappings may be 32 levels deep; the language needs seven.",
        "[" * 40 + "]" * 40 + "\n",
    ),
    "MT110": Code(
        "an unknown key",
        "Keys are never ignored: a misspelt one would change what the operator means.",
        _op("  kernals: []\n" + _TAIL),
    ),
    "MT111": Code(
        "a key that is missing",
        "An operator needs `func`; a kernel needs one of `symbol`, `python`, `mindspore` and `compute`.",
        "namespace: my\nops:\n- doc: Nothing else.\n",
    ),
    "MT112": Code(
        "a value of the wrong type",
        "For instance a mapping where a list belongs, or a number where a string does.",
        _op("  kernels: none\n"),
    ),
    "MT113": Code(
        "a value that is not one of those allowed",
        "Devices are cpu, npu, cuda, mps and meta; dtypes are torch's names; the abi is `ascendc` or `c`.",
        _op(_TAIL.replace("device: cpu", "device: gpu")),
    ),
    "MT114": Code(
        "a value that is empty or malformed",
        "Python functions are written `module:function`; names have letters, digits and `_`; a list that must say "
        "something is not empty.",
        _op(_TAIL.replace("symbol: double", "symbol: 2x")),
    ),
    "MT115": Code(
        "two keys that exclude each other",
        "A kernel is one thing: launched, Python, MindSpore or composed, from a library or from sources.",
        _op(_TAIL.replace("symbol: double", "symbol: double, python: 'm:f'")),
    ),
    "MT120": Code(
        "an operator that is declared twice",
        "Within one file or in two files of one run. Overloads have different names after the dot.",
        _op(_TAIL + "- func: double(Tensor x) -> Tensor\n" + _TAIL),
    ),
    "MT121": Code(
        "an operator without a namespace",
        "Operators live in `torch.ops.<namespace>`. The file's `namespace` is the default of its operators.",
        "- func: double(Tensor x) -> Tensor\n" + _TAIL,
    ),
    "MT122": Code(
        "a name that is taken",
        "Operators are attributes of Python objects: `torch.ops.<namespace>.<name>.<overload>`. One that is called "
        "`__class__`, say, or an overload that is called `overloads`, could not be set or found, and the namespaces "
        "`_` and `prim` are the runtime's own.",
        "namespace: my\nops:\n- func: __class__(Tensor x) -> Tensor\n" + _TAIL,
    ),
    "MT150": Code(
        "a schema that does not parse",
        "Schemas are written in the grammar of PyTorch's native_functions.yaml: "
        "`name.overload(Tensor self, int[] dim=[0], *, Scalar? alpha=None) -> Tensor`.",
        _op(_TAIL, func="double(Tensor x, int dim=hello) -> Tensor"),
    ),
    "MT301": Code(
        "an operator without a kernel",
        "Nothing would run it.",
        _op("  fake: {like: x}\n  backward: not_differentiable\n"),
    ),
    "MT303": Code(
        "a launched kernel without a library",
        "A `symbol` is looked up in a `library`, the kernel's or the file's, or in what its `source` is built to.",
        _op(_TAIL.replace("library: libk.so, ", "")),
    ),
    "MT304": Code(
        "a missing or useless block_dim",
        "With the abi `ascendc`, the default on npu, a kernel runs in `block_dim` blocks. With `c` it is a plain call.",
        _op(_TAIL.replace("device: cpu", "device: npu")),
    ),
    "MT305": Code(
        "a kernel without a device",
        "Python and composed kernels may run everywhere; a launched kernel and a primitive name theirs.",
        _op(_TAIL.replace("device: cpu, ", "")),
    ),
    "MT306": Code(
        "a key of another kind of kernel",
        "`library`, `source`, `symbol`, `abi`, `block_dim`, `args`, `workspace` and `tiling` describe a launch.",
        _op("  fake: {like: x}\n  kernels:\n  - {compute: x + x, block_dim: 4}\n  backward: not_differentiable\n"),
    ),
    "MT307": Code(
        "a kernel that never runs",
        "Kernels are tried in order. One without `dtypes` and `when` takes everything, and nothing behind it runs.",
        _op(_TAIL.replace("  backward", "  - {device: cpu, python: 'm:f'}\n  backward")),
    ),
    "MT308": Code(
        "outputs that a kernel cannot make",
        "A launched kernel writes to memory that is allocated by the `fake` rule: new tensors of a known shape. "
        "Views, lists and numbers come from `compute` or `python`. A list of expressions has one for every output. "
        "Each is among the `args`. An argument that is written to is passed as it is, or by `desc`: `contiguous(x)` "
        "may be a copy of it.",
        _op("  fake: {python: 'm:f'}\n" + _KERNEL + "  backward: not_differentiable\n"),
    ),
    "MT309": Code(
        "a workspace or tiling that is not declared, or not used",
        "`workspace` and `tiling` are declared in the kernel, and stand among its `args` where it takes them.",
        _op(_TAIL.replace("args: [x,", "args: [x, workspace,")),
    ),
    "MT401": Code(
        "an operator without a fake rule",
        "It says what the outputs look like: fake tensors need it, and launched kernels' outputs are allocated by it.",
        _op(_KERNEL + "  backward: not_differentiable\n"),
    ),
    "MT402": Code(
        "a fake rule that does not fit",
        "There is one rule for every new output; mutated arguments and composed operators need none.",
        _op(_TAIL.replace("{like: x}", "[{like: x}, {like: x}]")),
    ),
    "MT403": Code(
        "a fake rule that leaves something open",
        "Where there is no tensor argument, `shape`, `dtype` and `device` must all be given.",
        _op(
            "  fake: {shape: '[n]'}\n  kernels:\n  - {device: cpu, python: 'm:f'}\n",
            func="fresh(int n, *, Device? device=None) -> Tensor",
        ),
    ),
    "MT410": Code(
        "an argument without a gradient",
        "Every tensor argument has a formula, or is said to be `not_differentiable`.",
        _op(_TAIL.replace("not_differentiable", "{x: grad}"), func="double(Tensor x, Tensor y) -> Tensor"),
    ),
    "MT411": Code(
        "a gradient for something that has none",
        "Only tensors have gradients.",
        _op(_TAIL.replace("not_differentiable", "{x: grad, n: grad}"), func="double(Tensor x, int n) -> Tensor"),
    ),
    "MT412": Code(
        "a gradient for something that is not an argument",
        "Keys of `backward` are arguments of the operator, several of them with commas between.",
        _op(_TAIL.replace("not_differentiable", "{x: grad, z: grad}")),
    ),
    "MT413": Code(
        "two gradients for one argument",
        "It stands in the keys of two formulas.",
        _op(
            _TAIL.replace("not_differentiable", "{x: grad, 'x, y': grad}"), func="double(Tensor x, Tensor y) -> Tensor"
        ),
    ),
    "MT414": Code(
        "an operator without gradients",
        "Backward through it would fail in training. Say what is meant: formulas; `not_differentiable`, so that no "
        "gradient flows through it; or `not_implemented`, so that backward raises.",
        _op("  fake: {like: x}\n" + _KERNEL),
    ),
    "MT415": Code(
        "something beside a hand-written backward",
        "`function` returns all gradients, with `setup_context` saving what it needs; there is nothing else to say.",
        _op(_TAIL.replace("not_differentiable", "{function: 'm:f', x: grad}")),
    ),
    "MT416": Code(
        "a gradient of an out variant",
        "As in PyTorch, functions with `out=` arguments do not support autograd, backward or forward.",
        _op(
            _TAIL.replace("  fake: {like: x}\n", ""),
            func="double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        ),
    ),
    "MT501": Code(
        "a file name that cannot be a module's",
        "The module is named after the YAML file: letters, digits and `_`, and no keyword.",
    ),
    "MT502": Code(
        "two files that make one module",
        "Two YAML files of the same name, or two targets of pyproject.toml, would be written to one folder.",
    ),
    "MT503": Code("a file that cannot be written", "The output folder or a file in it is not writable."),
    "MT504": Code(
        "a file that is not the generator's",
        "A file in the output folder has the name of a module but not the header of a generated file. Files written by "
        "hand are never overwritten.",
    ),
    "MT510": Code("output that is not there", "`check` wants every module to be generated."),
    "MT511": Code(
        "output that is not up to date",
        "The file differs from what its YAML file says: the YAML file, a template or the file itself was changed.",
    ),
    "MT512": Code(
        "output that nothing makes",
        "A Python file in the output folder comes from no YAML file: the YAML file was removed or renamed, or the file "
        "was written by hand and belongs elsewhere.",
    ),
}

_NPU_TAIL = (
    "  fake: {like: x}\n"
    "  kernels:\n"
    "  - {device: npu, library: libk.so, symbol: decode, block_dim: 8, args: [x, out]}\n"
    "  backward: not_differentiable\n"
)
_TWO = "two(Tensor x) -> (Tensor, Tensor)"
_TWO_TAIL = "  fake: [{like: x}, {like: x}]\n  kernels: [{device: cpu, compute: [x, x]}]\n"
CODES |= {
    "MT620": Code(
        "something that PyTorch has no place for",
        "In the form `torch` operators are registered with PyTorch itself, where kernels of MindSpore and of NPUs, "
        "gradients of operators that write to an argument or return a view, forward-mode formulas, graph updates and "
        "casts on npu cannot be. They are left out.",
    ),
    "MT621": Code(
        "an operator that PyTorch cannot register",
        "In the form `torch` an operator needs a kernel that runs there, a namespace that is not PyTorch's own, "
        "no keyword-only tensor that has a gradient, and names that PyTorch's schema language does not reserve.",
    ),
    "MT622": Code(
        "something that MindSpore has no place for",
        "In the form `mindspore` operators are cells of MindSpore, whose tensors do not change in place. Operators "
        "that write to an argument or return a view are left out, with what calls them; so are casts, kernels for "
        "other devices, and on npu all but libraries of AscendC kernels: a source is built into one first.",
    ),
    "MT623": Code(
        "an operator that MindSpore cannot run",
        "In the form `mindspore` an operator needs a kernel that runs there, and a namespace other than `aten`, which "
        "stands for MindSpore's own operators.",
    ),
    "MT130": Code(
        "a variant that cannot be made",
        "Of a functional operator `autogen` makes the out variant (`name.out`, or `name.<overload>_out`) and the "
        "in-place one (`name_`, where the first argument is a tensor and the only output); of an in-place one the "
        "functional (`name`) and the out variant; of one that writes to other arguments `name_functional` and the out "
        "variant.",
        _op("  autogen: double.output\n" + _TAIL),
    ),
    "MT131": Code(
        "a method that no tensor can have",
        "A method is called on the argument that is named `self`, or else on the first one: that is one tensor.",
        _op("  variants: method\n" + _TAIL, func="double(int n, Tensor x) -> Tensor"),
    ),
    "MT310": Code(
        "a fallback that does nothing or cannot work",
        "`fallback: cpu` copies tensors to cpu, runs the kernel there, and copies results back. It needs that kernel, "
        "a tensor argument that says where the results belong, and outputs that are no views.",
        _op("  fallback: cpu\n  kernels: [{compute: x * 2}]\n"),
    ),
    "MT311": Code(
        "an `autocast` that casts nothing",
        "Inside `torch.autocast` the operator's floating-point tensors are cast to a dtype, or with `promote` to the "
        "widest of theirs. An operator that writes to an argument cannot cast that.",
        _op("  autocast: {npu: promote}\n" + _TAIL),
    ),
    "MT312": Code(
        "a `graph` that cannot be updated",
        "A captured graph replays its launches on the memory that it was captured with. `update` names the arguments "
        "whose values the host reads at a launch and that may change from one replay to the next: numbers, lists of "
        "numbers, tensors on the host. They cannot decide the shape or dtype of an output, and there must be a kernel "
        "for npu.",
        _op("  graph: {update: [lens]}\n" + _NPU_TAIL, func="decode(Tensor x, int[] seq_lens) -> Tensor"),
    ),
    "MT140": Code(
        "an example that does not call the operator",
        "Each argument without a default has a value, and there are no others. A tensor is an expression of operators, "
        "such as `randn([2, 3])`, or nested lists of numbers, all of one length at each level.",
        _op(_TAIL + "  examples: [{args: {y: [1.0, 2.0]}}]\n"),
    ),
    "MT417": Code(
        "an `output_differentiability` that does not hold",
        "It has `true` or `false` for each output, in order. An output without a gradient never requires grad, and no "
        "formula may read its gradient.",
        _op(f"{_TWO_TAIL}  output_differentiability: [true, false]\n  backward: {{x: 'grads[0] + grads[1]'}}\n", _TWO),
    ),
    "MT418": Code(
        "a forward-mode formula in `backward`",
        "PyTorch's derivatives.yaml has gradients of arguments and tangents of outputs side by side. Here gradients "
        "stand in `backward`, and tangents in `forward`.",
        _op(_TAIL.replace("not_differentiable", "{x: grad * 2, result: auto_linear}")),
    ),
    "MT420": Code(
        "a tangent of something that has none",
        "Keys of `forward` are the operator's differentiable outputs: `result`, `result0` and so on, or their names. "
        "Where nothing is differentiable, or gradients go through the operators that it is made of, nothing would ask "
        "for a tangent.",
        _op(_TAIL.replace("not_differentiable", "{x: grad * 2}\n  forward: {reslt: x_t * 2}")),
    ),
    "MT421": Code(
        "an output without a tangent",
        "Where there is a `forward`, every differentiable output has a formula, or is said to be "
        "`not_differentiable` or `not_implemented`.",
        _op(f"{_TWO_TAIL}  backward: {{x: 'grads[0] + grads[1]'}}\n  forward: {{result0: x_t}}\n", _TWO),
    ),
    "MT422": Code(
        "a tangent that depends on no tangent",
        "The tangent of an output is linear in those of the arguments: `x_t` is that of `x`, and zeros where there is "
        "none.",
        _op(_TAIL.replace("not_differentiable", "{x: grad * 2}\n  forward: {result: x * 2}")),
    ),
    "MT423": Code(
        "an `auto_element_wise` that cannot be made",
        "Where each element of the output depends on the same element of the arguments, the gradients' formulas on the "
        "tangents give the tangent. It needs one output, and in `backward` one formula for each argument.",
        _op(_TAIL.replace("not_differentiable", "not_implemented\n  forward: auto_element_wise")),
    ),
}

_EXPRESSION_EXAMPLES = {
    "MT200": "grad *",
    "MT201": "grad * 1x",
    "MT202": "(" * 80 + "grad" + ")" * 80,
    "MT204": "grad * sclae",
    "MT205": "grad * x.shpae[0]",
    "MT206": "doubel(grad)",
    "MT207": "grad * min()",
    "MT208": "grad * ceil_div(x, 2)",
    "MT209": "grad * x.shape",
    "MT210": "x.shape",
    "MT211": "grad * workspace",
    "MT214": "grads[1]",
}
_SPECIAL_EXAMPLES = {
    "MT211": _op("  check: [out.dim() == 1]\n" + _TAIL),
    "MT212": _op("  check: [y.dim() == 1]\n" + _TAIL, func="double(Tensor x, Tensor? y) -> Tensor"),
    "MT213": _op("  check: [x > 0]\n" + _TAIL),
    "MT215": _op(_TAIL.replace("u64(x.numel())", "x.numel()")),
    "MT216": _op(
        _KERNEL.replace("out", "x") + "  backward: {x: grad * x}\n", func="double_(Tensor(a!) x) -> Tensor(a!)"
    ),
}


def _expression_example(code: str) -> str:
    formula = _EXPRESSION_EXAMPLES.get(code, "grad")
    example = _TAIL.replace("not_differentiable", f"{{x: {formula!r}}}")
    return _SPECIAL_EXAMPLES.get(code) or _op(example, func="double(Tensor x, *, float scale=2.0) -> Tensor")


CODES |= {code: Code(title, text, _expression_example(code)) for code, (title, text) in EXPRESSION_CODES.items()}
