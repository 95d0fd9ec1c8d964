"""Second derivatives of activations that no single operator computes."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor
from .._ops import ops

__all__ = ["gelu_backward_backward", "gelu_backward_setup"]


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
