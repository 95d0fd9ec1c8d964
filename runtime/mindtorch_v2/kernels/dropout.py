"""Dropout of elements and of channels, with zeros or so that mean and variance are kept; and random slopes."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .._type_info import contiguous_format
from .creation import empty_like

_F64 = _core.dtypes["float64"]
_ALPHA = 1.7580993408473766  # of selu, times its scale: where its negative side ends


def _noise(input: Tensor, p: float, train: bool, channels: bool, alpha: bool) -> tuple[Tensor | None, Tensor | None]:
    """What an input is multiplied by, and what is added then, drawn for each element or channel; None: nothing."""
    if p < 0 or p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or not input.numel():
        return None, None
    if p == 1:
        return ops.aten.zeros((), dtype=input.dtype, device=input.device), None
    if channels:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        noise = input.new_empty((*input.shape[:2], *(1,) * (input.dim() - 2)))
    else:
        noise = empty_like(input)
    noise.bernoulli_(1 - p)
    if not alpha:
        return noise.div_(1 - p), None
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = noise.add(-1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return noise.mul_(scale), shift


def _dropped(input: Tensor, p: float, train: bool, channels: bool, alpha: bool) -> Tensor:
    factor, shift = _noise(input, p, train, channels, alpha)
    result = input if factor is None else input * factor
    return result if shift is None else result + shift


def _dropped_(self: Tensor, p: float, train: bool, channels: bool, alpha: bool) -> Tensor:
    factor, shift = _noise(self, p, train, channels, alpha)
    if factor is not None:
        self.mul_(factor)
    if shift is not None:
        self.add_(shift)
    return self


def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` in place."""
    return _dropped_(self, p, train, False, False)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Channels of each sample zeroed with probability p, and the rest scaled."""
    return _dropped(input, p, train, True, False)


def feature_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` in place."""
    return _dropped_(self, p, train, True, False)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Elements set to selu's least value with probability p, and all scaled and moved to mean 0 and variance 1."""
    return _dropped(input, p, train, False, True)


def alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` in place."""
    return _dropped_(self, p, train, False, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of channels."""
    return _dropped(input, p, train, True, True)


def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
    return _dropped_(self, p, train, True, True)


# ---------------------------------------------------------------- random slopes
def _check_slopes(self: Tensor, lower: float, upper: float) -> None:
    if not self.is_floating_point():
        raise NotImplementedError(f'"rrelu" not implemented for {self.dtype}')
    for name, bound in (("lower", lower), ("upper", upper)):
        if isinstance(bound, complex):
            raise RuntimeError(f"rrelu: value cannot be converted to type double without overflow: {name} is complex")
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, but found lower: {lower}, upper: {upper}"
        )


def _slopes(self: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    """1 where x is positive; elsewhere a number between the bounds, drawn in the order of elements."""
    slopes = ops.aten.ones_like(self).reshape((-1,))
    below = (self.detach().reshape((-1,)) <= 0).nonzero().reshape((-1,))
    drawn = ops.aten.empty((below.numel(),), dtype=_F64, device=self.device).uniform_(lower, upper, generator=generator)
    result: Tensor = slopes.index_copy_(0, below, drawn.to(self.dtype)).reshape(self.shape)
    return result


def _leaky(self: Tensor, slope: float) -> Tensor:
    rows = self.contiguous()  # as in PyTorch, where the result lies so
    result: Tensor = ops.aten.where(rows > 0, rows, rows * slope)
    return result


def rrelu(
    self: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """x where it is positive, else x times a number drawn for each element; their mean where it is not training."""
    _check_slopes(self, lower, upper)
    return self.contiguous() * _slopes(self, lower, upper, generator) if training else _leaky(self, (lower + upper) / 2)


def rrelu_(
    self: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """`rrelu` in place."""
    if training:
        found: Tensor = self.copy_(rrelu(self.clone(), lower, upper, True, generator))
        return found
    _check_slopes(self, lower, upper)
    result: Tensor = ops.aten.leaky_relu_(self, (lower + upper) / 2)
    return result


def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """As `rrelu`, with the factors written to ``noise`` while training."""
    _check_slopes(self, lower, upper)
    if tuple(self.shape) != tuple(noise.shape):
        raise RuntimeError(f"noise tensor shape must match self tensor shape. Got self.shape = {list(self.shape)} "
                           f"noise.shape = {list(noise.shape)}")  # fmt: skip
    if not training:
        return _leaky(self, (lower + upper) / 2)
    noise.copy_(_slopes(self, lower, upper, generator))
    result: Tensor = self.contiguous() * noise.clone(memory_format=contiguous_format)
    return result


def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    """The gradient of `rrelu_with_noise`."""
    _check_slopes(self, lower, upper)
    if training and upper - lower > 1e-6:
        return grad_output * noise
    result: Tensor = ops.aten.where(self > 0, grad_output, grad_output * ((lower + upper) / 2))
    return result
