"""A file that causes it, for each code that a file alone can cause: what ``explain`` and docs/diagnostics.md show."""

from __future__ import annotations

from mtcodegen.findings.codes import Code

__all__ = ["EXAMPLES"]


def _op(rest: str, func: str = "double(Tensor x) -> Tensor", namespace: str = "my") -> str:
    return f"namespace: {namespace}\nops:\n- func: {func}\n{rest}"


_KERNEL = "  kernels:\n  - {device: cpu, library: libk.so, symbol: double, args: [x, out, u64(x.numel())]}\n"
_TAIL = f"  fake: {{like: x}}\n{_KERNEL}  backward: not_differentiable\n"
_NPU_TAIL = (
    "  fake: {like: x}\n"
    "  kernels:\n"
    "  - {device: npu, library: libk.so, symbol: decode, block_dim: 8, args: [x, out]}\n"
    "  backward: not_differentiable\n"
)
_TWO = "two(Tensor x) -> (Tensor, Tensor)"
_TWO_TAIL = "  fake: [{like: x}, {like: x}]\n  kernels: [{device: cpu, compute: [x, x]}]\n"


def _formula(text: str) -> str:
    gradient = _TAIL.replace("not_differentiable", f"{{x: {text!r}}}")
    return _op(gradient, func="double(Tensor x, *, float scale=2.0) -> Tensor")


EXAMPLES: dict[Code, str] = {
    Code.MT101: "namespace: my\nops: [\n",
    Code.MT102: _op("  doc: one\n  doc: two\n" + _TAIL),
    Code.MT103: "---\n[]\n---\n[]\n",
    Code.MT104: _op("  doc: &text one\n" + _TAIL),
    Code.MT105: "[" * 40 + "]" * 40 + "\n",
    Code.MT106: _op("  [doc]: text\n" + _TAIL),
    Code.MT110: _op("  kernals: []\n" + _TAIL),
    Code.MT111: "namespace: my\nops:\n- doc: Nothing else.\n",
    Code.MT112: _op("  kernels: none\n"),
    Code.MT113: _op(_TAIL.replace("device: cpu", "device: gpu")),
    Code.MT114: _op(_TAIL.replace("symbol: double", "symbol: 2x")),
    Code.MT115: _op(_TAIL.replace("symbol: double", "symbol: double, python: 'm:f'")),
    Code.MT116: _op("  kernels: []\n"),
    Code.MT120: _op(_TAIL + "- func: double(Tensor x) -> Tensor\n" + _TAIL),
    Code.MT121: "- func: double(Tensor x) -> Tensor\n" + _TAIL,
    Code.MT122: "namespace: my\nops:\n- func: __class__(Tensor x) -> Tensor\n" + _TAIL,
    Code.MT130: _op("  autogen: double.output\n" + _TAIL),
    Code.MT131: _op("  variants: method\n" + _TAIL, func="double(int n, Tensor x) -> Tensor"),
    Code.MT132: _op(_TAIL, func=f"double(Tensor x, {', '.join(f'int n{i}' for i in range(63))}) -> Tensor"),
    Code.MT140: _op(_TAIL + "  examples: [{args: {}}]\n"),
    Code.MT141: _op(_TAIL + "  examples: [{args: {x: [1.0, 2.0], y: 1.0}}]\n"),
    Code.MT142: _op(
        f"{_TWO_TAIL}  backward: not_differentiable\n  examples: [{{args: {{x: [1.0]}}, expect: [[1.0]]}}]\n", _TWO
    ),
    Code.MT143: _op(
        _TAIL + "  examples: [{args: {x: [1.0], scale: [2.0]}}]\n", "double(Tensor x, *, float scale=2.0) -> Tensor"
    ),
    Code.MT144: _op(_TAIL + "  examples: [{args: {x: [[1.0, 2.0], [3.0]]}}]\n"),
    Code.MT150: _op(_TAIL, func="double(Tensor x, int dim=hello) -> Tensor"),
    Code.MT200: _formula("grad *"),
    Code.MT201: _formula("grad && x"),
    Code.MT202: _formula("(" * 80 + "grad" + ")" * 80),
    Code.MT204: _formula("grad * sclae"),
    Code.MT205: _formula("grad * x.shpae[0]"),
    Code.MT206: _formula("doubel(grad)"),
    Code.MT207: _formula("grad * min()"),
    Code.MT208: _formula("grad * ceil_div(x, 2)"),
    Code.MT209: _formula("grad * x.shape"),
    Code.MT210: _formula("x.shape"),
    Code.MT211: _op("  check: [out.dim() == 1]\n" + _TAIL),
    Code.MT212: _op("  check: [y.dim() == 1]\n" + _TAIL, func="double(Tensor x, Tensor? y) -> Tensor"),
    Code.MT213: _op("  check: [x > 0]\n" + _TAIL),
    Code.MT214: _formula("grads[1]"),
    Code.MT215: _op(_TAIL.replace("u64(x.numel())", "x.numel()")),
    Code.MT216: _op(
        _KERNEL.replace("out", "x") + "  backward: {x: grad * x}\n", func="double_(Tensor(a!) x) -> Tensor(a!)"
    ),
    Code.MT217: _op("  kernels: [{compute: double(x)}]\n"),
    Code.MT218: _formula("grad * x.numel"),
    Code.MT219: _formula("grad * x.ndim()"),
    Code.MT220: _op(_TAIL.replace("u64(x.numel())", "mode"), func="double(Tensor x, str mode) -> Tensor"),
    Code.MT221: _op(_TAIL.replace("u64(x.numel())", "'u64(1) if x.dim() > 0 else u64(2)'")),
    Code.MT222: _formula("grad * x.transpose(0)"),
    Code.MT223: _formula("grad * tanh(input=x)"),
    Code.MT224: _formula("grad * tanh(x, self=x)"),
    Code.MT225: _formula("grad * 1x"),
    Code.MT226: _formula("grad * 18446744073709551616"),
    Code.MT227: _op(_KERNEL.replace("x, out", 'x, out, "\'text"'), func="double(Tensor x) -> Tensor"),
    Code.MT228: _formula("grad * '\\q'"),
    Code.MT229: _formula("grad * sum(x, dims=[0])"),
    Code.MT230: _op(_TAIL.replace("u64(x.numel())", "u8(256)")),
    Code.MT301: _op("  fake: {like: x}\n  backward: not_differentiable\n"),
    Code.MT303: _op(_TAIL.replace("library: libk.so, ", "")),
    Code.MT304: _op(_TAIL.replace("device: cpu", "device: npu")),
    Code.MT305: _op(_TAIL.replace("device: cpu, ", "")),
    Code.MT306: _op(
        "  fake: {like: x}\n  kernels:\n  - {compute: x + x, block_dim: 4}\n  backward: not_differentiable\n"
    ),
    Code.MT307: _op(_TAIL.replace("  backward", "  - {device: cpu, python: 'm:f'}\n  backward")),
    Code.MT308: _op(
        "  fake: {python: 'm:f'}\n" + _KERNEL + "  backward: not_differentiable\n", func="double(Tensor x) -> int"
    ),
    Code.MT309: _op(_TAIL.replace("args: [x,", "args: [x, workspace,")),
    Code.MT310: _op("  fallback: cpu\n  kernels: [{compute: x * 2}]\n"),
    Code.MT311: _op("  autocast: {npu: promote}\n" + _TAIL),
    Code.MT312: _op("  graph: {update: [lens]}\n" + _NPU_TAIL, func="decode(Tensor x, int[] seq_lens) -> Tensor"),
    Code.MT313: _op(_TWO_TAIL.replace("[x, x]", "[x, x, x]") + "  backward: not_differentiable\n", _TWO),
    Code.MT314: _op("  fake: {python: 'm:f'}\n" + _KERNEL + "  backward: not_differentiable\n"),
    Code.MT315: _op(_TAIL.replace("out, ", "")),
    Code.MT316: _op(
        _KERNEL.replace("x, out", "contiguous(x)") + "  backward: not_differentiable\n",
        func="double_(Tensor(a!) x) -> Tensor(a!)",
    ),
    Code.MT317: _op(_TAIL.replace("symbol: double", "symbol: double, block_dim: 4")),
    Code.MT318: _op(_TAIL.replace("symbol: double", "symbol: double, workspace: 1024")),
    Code.MT319: _op(_TAIL.replace("args: [x,", "args: [upload(x),")),
    Code.MT320: _op("  fallback: cpu\n" + _TAIL.replace("device: cpu", "device: npu, block_dim: 1")),
    Code.MT321: _op("  graph: {update: [mode]}\n" + _NPU_TAIL, func="decode(Tensor x, str mode) -> Tensor"),
    Code.MT322: _op(
        "  graph: {update: [n]}\n" + _NPU_TAIL.replace("{like: x}", "{shape: '[n]'}"),
        func="decode(Tensor x, int n) -> Tensor",
    ),
    Code.MT323: _op("  graph: {update: [lens, lens]}\n" + _NPU_TAIL, func="decode(Tensor x, int[] lens) -> Tensor"),
    Code.MT324: _op("  graph: {update: [n]}\n" + _TAIL, func="double(Tensor x, int n) -> Tensor"),
    Code.MT331: _op("  graph: {update: [n], prepare: out}\n" + _NPU_TAIL, func="decode(Tensor x, int n) -> Tensor"),
    Code.MT325: _op(
        "  fallback: cpu\n  fake: {shape: '[n]', dtype: float32, device: device}\n"
        "  kernels:\n  - {device: cpu, python: 'm:f'}\n",
        func="fresh(int n, *, Device? device=None) -> Tensor",
    ),
    Code.MT326: _op(
        "  fallback: cpu\n  kernels:\n  - {device: cpu, python: 'm:f'}\n  backward: not_differentiable\n",
        func="view(Tensor(a) x) -> Tensor(a)",
    ),
    Code.MT327: _op(
        "  autocast: {npu: float16}\n" + _KERNEL.replace("out, ", "") + "  backward: not_differentiable\n",
        func="double_(Tensor(a!) x) -> Tensor(a!)",
    ),
    Code.MT328: _op(_TAIL.replace("library: libk.so", "source: duoble.c")),
    Code.MT329: _op(_TAIL.replace("u64(x.numel())", ", ".join(["u64(x.numel())"] * 61))),
    Code.MT401: _op(_KERNEL + "  backward: not_differentiable\n"),
    Code.MT402: _op(_TAIL.replace("{like: x}", "[{like: x}, {like: x}]")),
    Code.MT403: _op(
        "  fake: {shape: '[n]'}\n  kernels:\n  - {device: cpu, python: 'm:f'}\n",
        func="fresh(int n, *, Device? device=None) -> Tensor",
    ),
    Code.MT404: _op("  fake: {like: x}\n  kernels: [{compute: x * 2}]\n"),
    Code.MT405: _op(
        "  fake: {like: x}\n  kernels: [{device: cpu, python: 'm:f'}]\n  backward: not_differentiable\n",
        func="double(Tensor x) -> int",
    ),
    Code.MT406: _op(_TAIL.replace("{like: x}", "{like: x, device: x.device}")),
    Code.MT410: _op(_TAIL.replace("not_differentiable", "{x: grad}"), func="double(Tensor x, Tensor y) -> Tensor"),
    Code.MT411: _op(
        _TAIL.replace("not_differentiable", "{x: grad, n: grad}"), func="double(Tensor x, int n) -> Tensor"
    ),
    Code.MT412: _op(_TAIL.replace("not_differentiable", "{x: grad, z: grad}")),
    Code.MT413: _op(
        _TAIL.replace("not_differentiable", "{x: grad, 'x, y': grad}"), func="double(Tensor x, Tensor y) -> Tensor"
    ),
    Code.MT414: _op("  fake: {like: x}\n" + _KERNEL),
    Code.MT415: _op(_TAIL.replace("not_differentiable", "{function: 'm:f', x: grad}")),
    Code.MT416: _op(
        _TAIL.replace("  fake: {like: x}\n", ""),
        func="double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
    ),
    Code.MT417: _op(
        f"{_TWO_TAIL}  output_differentiability: [true, false]\n  backward: {{x: 'grads[0] + grads[1]'}}\n", _TWO
    ),
    Code.MT418: _op(_TAIL.replace("not_differentiable", "{x: grad * 2, result: auto_linear}")),
    Code.MT420: _op(_TAIL.replace("not_differentiable", "{x: grad * 2}\n  forward: {reslt: x_t * 2}")),
    Code.MT421: _op(f"{_TWO_TAIL}  backward: {{x: 'grads[0] + grads[1]'}}\n  forward: {{result0: x_t}}\n", _TWO),
    Code.MT422: _op(_TAIL.replace("not_differentiable", "{x: grad * 2}\n  forward: {result: x * 2}")),
    Code.MT423: _op(_TAIL.replace("not_differentiable", "not_implemented\n  forward: auto_element_wise")),
    Code.MT424: _op(f"{_TWO_TAIL}  output_differentiability: [true]\n  backward: {{x: 'grads[0]'}}\n", _TWO),
    Code.MT425: _op(f"{_TWO_TAIL}  output_differentiability: [true, true]\n  backward: {{x: 'grads[0]'}}\n", _TWO),
    Code.MT426: _op(f"{_TWO_TAIL}  output_differentiability: [false, false]\n  backward: {{x: 'grads[0]'}}\n", _TWO),
    Code.MT427: _op(
        f"{_TWO_TAIL}  output_differentiability: [true, false]\n  backward: {{x: 'grads[0]'}}\n"
        "  forward: {result0: x_t, result1: x_t}\n",
        _TWO,
    ),
    Code.MT428: _op("  kernels: [{compute: x * 2}]\n  forward: {result: x_t * 2}\n"),
}
