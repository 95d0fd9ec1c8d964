"""Activations that look at shapes, and second derivatives that no single operator computes."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor
from .._ops import ops
from ._arrays import written_once
from .reduction import wrap_dim

__all__ = [
    "gelu_backward_backward",
    "gelu_backward_setup",
    "glu",
    "glu_backward",
    "hardswish",
    "hardswish_backward",
    "log_sigmoid_backward",
    "log_sigmoid_forward",
    "mish",
    "mish_backward",
    "prelu",
    "prelu_backward",
    "softplus_backward",
    "threshold_",
]


def _wide(x: Tensor) -> Tensor:
    """Half precision as float32, in which what is composed of several operators is rounded once."""
    return x.float() if x.is_floating_point() and x.dtype.itemsize < 4 else x


def hardswish(self: Tensor) -> Tensor:
    """x * hardsigmoid(x)"""
    x = _wide(self)
    result: Tensor = (x * (x + 3).clamp(0, 6) / 6).to(self.dtype)
    return result


def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `hardswish`: 0 up to -3, as it is from 3 on."""
    aten = ops.aten
    grad, x = _wide(grad_output), _wide(self)
    inside = aten.where(x < 3, grad * (x / 3 + 0.5), grad)
    result: Tensor = aten.where(x <= -3, aten.zeros_like(grad), inside).to(self.dtype)
    return result


def mish(self: Tensor) -> Tensor:
    """x * tanh(softplus(x))"""
    x = _wide(self)
    result: Tensor = (x * ops.aten.softplus(x).tanh()).to(self.dtype)
    return result


def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `mish`."""
    grad, x = _wide(grad_output), _wide(self)
    bent = ops.aten.softplus(x).tanh()
    result: Tensor = (grad * (bent + x * x.sigmoid() * (1 - bent * bent))).to(self.dtype)
    return result


def softplus_backward(grad_output: Tensor, self: Tensor, beta: float, threshold: float) -> Tensor:
    """The gradient of `softplus`: as it is above the threshold."""
    grad, x = _wide(grad_output), _wide(self) * beta
    result: Tensor = ops.aten.where(x > threshold, grad, grad * x.sigmoid()).to(self.dtype)
    return result


def threshold_(self: Tensor, threshold: float, value: float) -> Tensor:
    """Puts a number where x is not above a threshold: of elements in one place, all the same one."""
    once = written_once(self)
    once.masked_fill_(once <= threshold, value)
    return self


def gelu_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """What `gelu_backward_backward` reads: both tensors, and the approximation."""
    ctx.save_for_backward(*inputs[:2])
    ctx.approximate = inputs[2]


def gelu_backward_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of ``grad_output`` and of ``self``; the latter by gelu's second derivative."""
    grad_output, x = ctx.saved_tensors
    first = second = None
    if ctx.needs_input_grad[0]:
        first = ops.aten.gelu_backward(grad, x, approximate=ctx.approximate)
    if ctx.needs_input_grad[1]:
        second = grad * grad_output * (_by_erf(x) if ctx.approximate == "none" else _by_tanh(x))
    return first, second, None


def _by_erf(x: Any) -> Any:
    """With the normal density p: (x * cdf(x))'' = p(x) * (2 - x^2)."""
    return (x * x * -0.5).exp() * (2 - x * x) / math.sqrt(2 * math.pi)


def _by_tanh(x: Any) -> Any:
    """The second derivative of x / 2 * (1 + tanh(u)), where u = k * (x + c * x^3)."""
    k, c = math.sqrt(2 / math.pi), 0.044715
    t = (k * (x + c * x * x * x)).tanh()
    slope = k * (1 + 3 * c * x * x)
    return (1 - t * t) * (slope + 3 * k * c * x * x - x * t * slope * slope)


def _halves(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Both halves along a dimension. Raises RuntimeError where there are none."""
    if not self.dim():
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = wrap_dim(dim, self.dim())
    if self.shape[d] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {self.shape[d]}")
    half = self.shape[d] // 2
    return self.narrow(d, 0, half), self.narrow(d, half, half)


def glu(self: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second."""
    first, second = _halves(self, dim)
    result: Tensor = first * second.sigmoid()
    return result


def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient of `glu`."""
    first, second = _halves(_wide(self), dim)
    grad, gate = _wide(grad_output), second.sigmoid()
    result: Tensor = ops.aten.cat([grad * gate, grad * first * gate * (1 - gate)], dim).to(self.dtype)
    return result


def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    """log(sigmoid(x)), and exp(-|x|)."""
    x = _wide(self.contiguous())  # both results lie in rows, as PyTorch's
    buffer = (-x.abs()).exp()
    return (x.clamp_max(0) - buffer.log1p()).to(self.dtype), buffer.to(self.dtype)


def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """The gradient of `log_sigmoid`: of an empty buffer exp(-|x|) is computed again."""
    grad, x = _wide(grad_output), _wide(self)
    small = _wide(buffer) if buffer.numel() == x.numel() else (-x.abs()).exp()
    ratio = small / (1 + small)  # sigmoid(-|x|)
    result: Tensor = (grad * ops.aten.where(x < 0, 1 - ratio, ratio)).to(self.dtype)
    return result


def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else ``weight * x``: one weight, or one for each channel, the second dimension."""
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype} and {weight.dtype}: convert one of the two"
        )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.dim() == 1 and weight.numel() != 1:
        if not self.dim():
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
                f"channel size = {channels}."
            )
        weight = weight.reshape([-1 if d == 1 else 1 for d in range(self.dim())])
    elif weight.dim() > self.dim():
        weight = weight.reshape(())
    result: Tensor = ops.aten._prelu_kernel(self, weight)
    return result


def prelu_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of `_prelu_kernel`: of x, and of the weight, one for each x."""
    zeros = ops.aten.zeros_like(grad_output)
    inside = self > 0
    return ops.aten.where(inside, grad_output, weight * grad_output), ops.aten.where(inside, zeros, self * grad_output)
