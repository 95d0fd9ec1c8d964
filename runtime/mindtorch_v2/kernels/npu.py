"""Built-in operators on NPUs by AscendC kernels, compiled at the first launch.

The kernels take contiguous float32 or float16 tensors of one shape. Anything else goes by way of the CPU, as operators
without an NPU kernel do.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import OpOverload, Tensor
from .._numbers import as_element, is_beyond
from ..npu.fallback import run_on_cpu
from ..npu.launcher import KernelLauncher
from ..npu.paths import kernel_sources
from ..npu.streams import Stream

__all__ = [
    "add",
    "add_",
    "add_scalar",
    "div",
    "exp",
    "fill_",
    "mul",
    "mul_scalar",
    "mul_scalar_",
    "neg",
    "record_stream",
    "relu",
    "sub",
    "sum_all",
    "threshold_backward",
]

_ELEMENTS_PER_BLOCK = 2048
_MOST_BLOCKS = 40  # vector cores that every chip of the family has; blocks of `sum` wait for one another
_SLOT_BYTES = 32  # of `sum`'s workspace, for each block
_SUFFIXES = {_core.dtypes["float32"]: "f32", _core.dtypes["float16"]: "f16"}
_FLOAT32 = _core.dtypes["float32"]
_aten: Any = torch.ops.aten


@functools.cache
def _source(name: str) -> KernelLauncher:
    return KernelLauncher.from_source(f"mindtorch_{name}", [kernel_sources() / f"{name}.cpp"])


@functools.cache
def _kernel(file: str, symbol: str, *types: str) -> _core.Kernel:
    return _source(file).bind(symbol, tuple(_core.c_types[name] for name in types))


def _fits(*tensors: Tensor) -> bool:
    """Whether the kernels take these tensors together."""
    first = tensors[0]
    return (
        first.dtype in _SUFFIXES
        and 0 < first.numel() < 2**32
        and all(
            t.device == first.device and t.dtype is first.dtype and t.shape == first.shape and t.is_contiguous()
            for t in tensors
        )
    )


def _whole(t: Tensor) -> Tensor:
    """The tensor, but one element that is seen as many, which the gradient of a sum is, as so many elements."""
    if t.numel() < 2 or t.dtype not in _SUFFIXES or any(t.stride()):
        return t
    out, n = _core.alloc_like(t), t.numel()
    kernel = _kernel("elementwise", f"expand_{_SUFFIXES[t.dtype]}", "ptr", "ptr", "u32")
    kernel(_blocks(n), _core.as_strided(t, (1,), (1,), t.storage_offset()), out, n)
    return out


def _blocks(n: int) -> int:
    return min(-(-n // _ELEMENTS_PER_BLOCK), _MOST_BLOCKS)


def _run(name: str, *args: Any) -> None:
    """Launches the elementwise kernel of the first tensor's dtype; numbers go as float."""
    n = args[0].numel()
    types = ["ptr" if isinstance(arg, Tensor) else "f32" for arg in args]
    kernel = _kernel("elementwise", f"{name}_{_SUFFIXES[args[0].dtype]}", *types, "u32")
    kernel(_blocks(n), *args, n)


def _single(number: Any) -> Any:
    """A number as arithmetic in float32 takes it: one beyond its range is infinite."""
    return math.copysign(math.inf, number) if is_beyond(number, _FLOAT32) else number


def _pair(op: OpOverload, name: str, self: Tensor, other: Tensor) -> Tensor:
    self, other = _whole(self), _whole(other)
    if not _fits(self, other):
        return run_on_cpu(op, self, other)  # type: ignore[no-any-return]
    out = _core.alloc_like(self)
    _run(name, self, other, out)
    return out


def mul(self: Tensor, other: Tensor) -> Tensor:
    """self * other"""
    return _pair(_aten.mul.Tensor, "mul", self, other)


def div(self: Tensor, other: Tensor) -> Tensor:
    """self / other"""
    return _pair(_aten.div.Tensor, "div", self, other)


def sub(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    """self - alpha * other"""
    self, other = _whole(self), _whole(other)
    if not _fits(self, other):
        return run_on_cpu(_aten.sub.Tensor, self, other, alpha=alpha)  # type: ignore[no-any-return]
    out = _core.alloc_like(self)
    if alpha == 1:
        _run("sub", self, other, out)
    else:
        _run("add_alpha", self, other, out, -alpha)
    return out


def add(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    """self + alpha * other"""
    self, other = _whole(self), _whole(other)
    if not _fits(self, other):
        return run_on_cpu(_aten.add.Tensor, self, other, alpha=alpha)  # type: ignore[no-any-return]
    return _sum_into(_core.alloc_like(self), self, other, alpha)


def add_(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    """self + alpha * other, into self."""
    other = _whole(other)
    if not _fits(self, other):
        return run_on_cpu(_aten.add_.Tensor, self, other, alpha=alpha)  # type: ignore[no-any-return]
    return _sum_into(self, self, other, alpha)


def _sum_into(out: Tensor, self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    if alpha == 1:
        _run("add", self, other, out)
    else:
        _run("add_alpha", self, other, out, alpha)
    return out


def add_scalar(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """self + alpha * other, for a number."""
    if not _fits(self):
        return run_on_cpu(_aten.add.Scalar, self, other, alpha)  # type: ignore[no-any-return]
    if alpha != 1:
        as_element(alpha, self.dtype)  # which must hold it
    out = _core.alloc_like(self)
    _run("adds", self, out, _single(other * alpha))
    return out


def mul_scalar(self: Tensor, other: Any) -> Tensor:
    """self * other, for a number."""
    if not _fits(self):
        return run_on_cpu(_aten.mul.Scalar, self, other)  # type: ignore[no-any-return]
    out = _core.alloc_like(self)
    _run("muls", self, out, _single(other))
    return out


def mul_scalar_(self: Tensor, other: Any) -> Tensor:
    """self * other, for a number, into self."""
    if not _fits(self):
        return run_on_cpu(_aten.mul_.Scalar, self, other)  # type: ignore[no-any-return]
    _run("muls", self, self, _single(other))
    return self


def _unary(op: OpOverload, name: str, self: Tensor) -> Tensor:
    if not _fits(self):
        return run_on_cpu(op, self)  # type: ignore[no-any-return]
    out = _core.alloc_like(self)
    _run(name, self, out)
    return out


def relu(self: Tensor) -> Tensor:
    """max(x, 0)"""
    return _unary(_aten.relu.default, "relu", self)


def exp(self: Tensor) -> Tensor:
    """e to the power of each element."""
    return _unary(_aten.exp.default, "exp", self)


def neg(self: Tensor) -> Tensor:
    """The negative of each element."""
    return _unary(_aten.neg.default, "neg", self)


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    """``grad_output`` where self > threshold, else 0."""
    grad_output = _whole(grad_output)
    if not _fits(grad_output, self):
        return run_on_cpu(_aten.threshold_backward.default, grad_output, self, threshold)  # type: ignore[no-any-return]
    out = _core.alloc_like(self)
    _run("threshold_backward", grad_output, self, out, threshold)
    return out


def fill_(self: Tensor, value: Any) -> Tensor:
    """Every element set to a number, which must fit the dtype."""
    if not _fits(self):
        return run_on_cpu(_aten.fill_.Scalar, self, value)  # type: ignore[no-any-return]
    _run("fill", self, as_element(value, self.dtype))
    return self


def sum_all(self: Tensor, *, dtype: Any = None) -> Tensor:
    """The sum of all elements."""
    if not _fits(self) or dtype not in (None, self.dtype):
        return run_on_cpu(_aten.sum.default, self, dtype=dtype)  # type: ignore[no-any-return]
    n = self.numel()
    blocks = _blocks(n)
    out = _core.alloc((), self.dtype, self.device)
    workspace = _core.alloc((blocks * _SLOT_BYTES,), _core.dtypes["uint8"], self.device)
    kernel = _kernel("sum", f"sum_{_SUFFIXES[self.dtype]}", "ptr", "ptr", "ptr", "u32")
    kernel(blocks, self, out, workspace, n)
    return out


def record_stream(self: Tensor, s: Any) -> None:
    """Says that work queued on a stream of the tensor's NPU uses it."""
    if not isinstance(s, Stream):
        raise TypeError(f"record_stream: argument 's' (position 2) must be npu.Stream, not {type(s).__name__}")
    if s.device != self.device:
        raise RuntimeError(f"record_stream: expected a stream of {self.device}, the tensor's device, got {s}")
    _core.npu_record_stream(self, s.npu_stream)
