"""Operators of each element, and sums of all, on NPUs by AscendC kernels.

The kernels take contiguous float32 or float16 tensors of one shape. Anything else goes by way of the CPU, as operators
without an NPU kernel do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import OpOverload, Tensor
from .._numbers import as_element, is_beyond
from ..npu.fallback import run_on_cpu
from ..npu.streams import Stream
from ._npu import FLOAT32, SUFFIXES, blocks, fits, in_rows, kernel, result_like, run, together, whole

__all__ = [
    "abs",
    "add",
    "add_",
    "add_scalar",
    "addcdiv",
    "addcmul",
    "div",
    "div_scalar",
    "exp",
    "fill_",
    "gelu",
    "gelu_backward",
    "log",
    "mean_all",
    "mul",
    "mul_scalar",
    "mul_scalar_",
    "neg",
    "reciprocal",
    "record_stream",
    "relu",
    "rsqrt",
    "sigmoid",
    "sigmoid_backward",
    "silu",
    "silu_backward",
    "sqrt",
    "square",
    "sub",
    "sub_scalar",
    "sum_all",
    "tanh",
    "tanh_backward",
    "threshold_backward",
]

_SLOT_BYTES = 32  # of `sum`'s workspace, for each block
_aten: Any = torch.ops.aten


def _single(number: Any) -> Any:
    """A number as arithmetic in float32 takes it: one beyond its range is infinite."""
    return math.copysign(math.inf, number) if is_beyond(number, FLOAT32) else number


def _pair(op: OpOverload, name: str, self: Tensor, other: Tensor, file: str = "elementwise") -> Tensor:
    if not in_rows(self, other):
        self, other = together(self, other)
        if not fits(self, other):
            return run_on_cpu(op, self, other)  # type: ignore[no-any-return]
    out = result_like(self)
    run(file, name, self, other, out)
    return out


def mul(self: Tensor, other: Tensor) -> Tensor:
    """self * other"""
    return _pair(_aten.mul.Tensor, "mul", self, other)


def div(self: Tensor, other: Tensor) -> Tensor:
    """self / other"""
    return _pair(_aten.div.Tensor, "div", self, other)


def sub(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    """self - alpha * other"""
    self, other = together(self, other)
    if not fits(self, other):
        return run_on_cpu(_aten.sub.Tensor, self, other, alpha=alpha)  # type: ignore[no-any-return]
    out = result_like(self)
    if alpha == 1:
        run("elementwise", "sub", self, other, out)
    else:
        run("elementwise", "add_alpha", self, other, out, -alpha)
    return out


def add(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    """self + alpha * other"""
    if alpha == 1 and _is_row_of(self, other):
        return _with_row(self, other)
    if not in_rows(self, other):
        self, other = together(self, other)
        if not fits(self, other):
            return run_on_cpu(_aten.add.Tensor, self, other, alpha=alpha)  # type: ignore[no-any-return]
    return _sum_into(result_like(self), self, other, alpha)


def _is_row_of(self: Tensor, other: Tensor) -> bool:
    """Whether ``other`` is one row for all of a contiguous ``self``, as a bias is."""
    alike = self.dtype is other.dtype and self.device == other.device and self.is_contiguous() and other.is_contiguous()
    return alike and self.dim() > 1 == other.dim() and self.shape[-1] == other.shape[0] and fits(self)


def _with_row(self: Tensor, row: Tensor) -> Tensor:
    out, n = result_like(self), row.numel()
    add_row = kernel("rows", f"add_row_{SUFFIXES[self.dtype]}", "ptr", "ptr", "ptr", "u32", "u32")
    add_row(blocks(self.numel()), self, row, out, self.numel() // n, n)
    return out


def add_(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    """self + alpha * other, into self."""
    if self.is_contiguous() and _core.broadcast_shapes(self.shape, other.shape) == self.shape:
        _, other = together(self, other)
    if not fits(self, other):
        return run_on_cpu(_aten.add_.Tensor, self, other, alpha=alpha)  # type: ignore[no-any-return]
    return _sum_into(self, self, other, alpha)


def _sum_into(out: Tensor, self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    if alpha == 1:
        run("elementwise", "add", self, other, out)
    else:
        run("elementwise", "add_alpha", self, other, out, alpha)
    return out


def add_scalar(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """self + alpha * other, for a number."""
    (self,) = together(self)
    if not fits(self):
        return run_on_cpu(_aten.add.Scalar, self, other, alpha)  # type: ignore[no-any-return]
    if alpha != 1:
        as_element(alpha, self.dtype)  # which must hold it
    out = result_like(self)
    run("elementwise", "adds", self, out, _single(other * alpha))
    return out


def sub_scalar(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """self - alpha * other, for a number."""
    (self,) = together(self)
    if not fits(self):
        return run_on_cpu(_aten.sub.Scalar, self, other, alpha)  # type: ignore[no-any-return]
    return add_scalar(self, -other, alpha)


def div_scalar(self: Tensor, other: Any) -> Tensor:
    """self / other, for a number."""
    (self,) = together(self)
    if not fits(self):
        return run_on_cpu(_aten.div.Scalar, self, other)  # type: ignore[no-any-return]
    out = result_like(self)
    run("elementwise", "divs", self, out, _single(other))
    return out


def mul_scalar(self: Tensor, other: Any) -> Tensor:
    """self * other, for a number."""
    (self,) = together(self)
    if not fits(self):
        return run_on_cpu(_aten.mul.Scalar, self, other)  # type: ignore[no-any-return]
    out = result_like(self)
    run("elementwise", "muls", self, out, _single(other))
    return out


def mul_scalar_(self: Tensor, other: Any) -> Tensor:
    """self * other, for a number, into self."""
    if not fits(self):
        return run_on_cpu(_aten.mul_.Scalar, self, other)  # type: ignore[no-any-return]
    run("elementwise", "muls", self, self, _single(other))
    return self


def _unary(op: OpOverload, name: str, self: Tensor, file: str = "elementwise") -> Tensor:
    if not in_rows(self):
        (self,) = together(self)
        if not fits(self):
            return run_on_cpu(op, self)  # type: ignore[no-any-return]
    out = result_like(self)
    run(file, name, self, out)
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


def _function(name: str, does: str) -> Callable[[Tensor], Tensor]:
    """The operator of one tensor that is called as its kernel in math.cpp."""

    def call(self: Tensor) -> Tensor:
        return _unary(getattr(_aten, name).default, name, self, "math")

    call.__name__, call.__doc__ = name, does
    return call


sqrt = _function("sqrt", "The square root of each element.")
rsqrt = _function("rsqrt", "1 / the square root of each element.")
reciprocal = _function("reciprocal", "1 / each element.")
abs = _function("abs", "The magnitude of each element.")
log = _function("log", "The natural logarithm of each element.")
square = _function("square", "Each element times itself.")
sigmoid = _function("sigmoid", "1 / (1 + exp(-x))")
tanh = _function("tanh", "The hyperbolic tangent of each element.")
silu = _function("silu", "x / (1 + exp(-x))")


def _gradient(name: str, does: str) -> Callable[[Tensor, Tensor], Tensor]:
    """The operator of a gradient and one tensor that is called as its kernel in math.cpp."""

    def call(grad_output: Tensor, other: Tensor) -> Tensor:
        return _pair(getattr(_aten, name).default, name, grad_output, other, "math")

    call.__name__, call.__doc__ = name, does
    return call


sigmoid_backward = _gradient("sigmoid_backward", "grad y (1 - y), of the result y.")
tanh_backward = _gradient("tanh_backward", "grad (1 - y^2), of the result y.")
silu_backward = _gradient("silu_backward", "grad s (1 + x (1 - s)) with s = 1 / (1 + exp(-x)).")
_GELU = {"none": "gelu", "tanh": "gelu_tanh"}  # by how the normal distribution is approximated


def gelu(self: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution's function of x, or an approximation by tanh."""
    if approximate not in _GELU or not fits(self):
        return run_on_cpu(_aten.gelu.default, self, approximate=approximate)  # type: ignore[no-any-return]
    return _unary(_aten.gelu.default, _GELU[approximate], self, "math")


def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = "none") -> Tensor:
    """The gradient of `gelu`."""
    grad_output, self = together(grad_output, self)
    if approximate not in _GELU or not fits(grad_output, self):
        op = _aten.gelu_backward.default
        return run_on_cpu(op, grad_output, self, approximate=approximate)  # type: ignore[no-any-return]
    return _pair(_aten.gelu_backward.default, f"{_GELU[approximate]}_backward", grad_output, self, "math")


def _three(op: OpOverload, name: str, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    tensors = together(self, tensor1, tensor2)
    if not fits(*tensors):
        return run_on_cpu(op, *tensors, value=value)  # type: ignore[no-any-return]
    out = result_like(tensors[0])
    run("math", name, *tensors, out, _single(value))
    return out


def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """self + value * tensor1 * tensor2"""
    return _three(_aten.addcmul.default, "addcmul", self, tensor1, tensor2, value)


def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """self + value * tensor1 / tensor2"""
    return _three(_aten.addcdiv.default, "addcdiv", self, tensor1, tensor2, value)


def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    """``grad_output`` where self > threshold, else 0."""
    grad_output, self = together(grad_output, self)
    if not fits(grad_output, self):
        return run_on_cpu(_aten.threshold_backward.default, grad_output, self, threshold)  # type: ignore[no-any-return]
    out = result_like(self)
    run("elementwise", "threshold_backward", grad_output, self, out, threshold)
    return out


def fill_(self: Tensor, value: Any) -> Tensor:
    """Every element set to a number, which must fit the dtype."""
    if not fits(self):
        return run_on_cpu(_aten.fill_.Scalar, self, value)  # type: ignore[no-any-return]
    run("elementwise", "fill", self, as_element(value, self.dtype))
    return self


def _of_all(op: OpOverload, name: str, self: Tensor, dtype: Any) -> Tensor:
    self = whole(self)
    if not fits(self) or not self.is_contiguous() or dtype not in (None, self.dtype):
        return run_on_cpu(op, self, dtype=dtype)  # type: ignore[no-any-return]
    n = self.numel()
    out = _core.alloc((), self.dtype, self.device)
    workspace = _core.alloc((blocks(n) * _SLOT_BYTES,), _core.dtypes["uint8"], self.device)
    kernel("sum", f"{name}_{SUFFIXES[self.dtype]}", "ptr", "ptr", "ptr", "u32")(blocks(n), self, out, workspace, n)
    return out


def sum_all(self: Tensor, *, dtype: Any = None) -> Tensor:
    """The sum of all elements."""
    return _of_all(_aten.sum.default, "sum", self, dtype)


def mean_all(self: Tensor, *, dtype: Any = None) -> Tensor:
    """The mean of all elements."""
    return _of_all(_aten.mean.default, "mean", self, dtype)


def record_stream(self: Tensor, s: Any) -> None:
    """Says that work queued on a stream of the tensor's NPU uses it."""
    if not isinstance(s, Stream):
        raise TypeError(f"record_stream: argument 's' (position 2) must be npu.Stream, not {type(s).__name__}")
    if s.device != self.device:
        raise RuntimeError(f"record_stream: expected a stream of {self.device}, the tensor's device, got {s}")
    _core.npu_record_stream(self, s.npu_stream)
