"""Transforms of numbers, each element by itself."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from ._transform import Transform
from .utils import broadcast_all

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
]


class _Elementwise(Transform):
    """A growing bijection of numbers; objects of one class are equal."""

    bijective = True
    sign = 1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None


class ExpTransform(_Elementwise):
    """e to the power of x."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The value of x."""
        return x


class SigmoidTransform(_Elementwise):
    """1 / (1 + e^-x)."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        limits = torch.finfo(x.dtype)
        return torch.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y: Any) -> Any:
        limits = torch.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """By softplus, of both signs."""
        return -torch.nn.functional.softplus(-x) - torch.nn.functional.softplus(x)


class SoftplusTransform(_Elementwise):
    """log(1 + e^x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return torch.nn.functional.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the sigmoid."""
        return -torch.nn.functional.softplus(-x)


class TanhTransform(_Elementwise):
    """The hyperbolic tangent."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(1 - tanh^2 x), in a form without cancellation."""
        return 2.0 * (math.log(2.0) - x - torch.nn.functional.softplus(-2.0 * x))


class PowerTransform(Transform):
    """x to the power of ``exponent``, of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    @property
    def sign(self) -> Any:
        """The exponent's."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = None

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of exponent * y / x."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the value of something of a shape."""
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AbsTransform(Transform):
    """The absolute value; its inverse takes the positive side."""

    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """loc + scale * x."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """The dimensions of a value, as given."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """What it takes."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool((torch.as_tensor(a) == torch.as_tensor(b)).all()) for a, b in pairs)

    __hash__ = None

    @property
    def sign(self) -> Any:
        """The scale's."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return 1 if self.scale > 0 else -1 if self.scale < 0 else 0

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |scale|, for each element of a value."""
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = torch.full_like(x, math.log(abs(self.scale)))
        shape = x.shape
        if self._event_dim:
            result = result.view((*result.size()[: -self._event_dim], -1)).sum(-1)
            shape = shape[: -self._event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the value of something of a shape."""
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution of numbers."""

    bijective = True
    sign = 1
    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        return (
            self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size)
        )
