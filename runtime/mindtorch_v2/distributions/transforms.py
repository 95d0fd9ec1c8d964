"""Functions that carry random variables over: each has an inverse, and the logarithm of what it does to volumes."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from .utils import broadcast_all, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function from ``domain`` to ``codomain``; where it is ``bijective``, ``inv`` is its inverse, ``sign`` its
    slope's.

    With ``cache_size`` 1 the inverse of what was computed last is what it was computed of.
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Any, Any] | None = None
        self._inverse_of: weakref.ref[_Inverse] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None, "_inverse_of": None}

    @property
    def event_dim(self) -> int:
        """The dimensions of a value. Raises ValueError where values of both sides have not the same."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Any:
        """The inverse."""
        found = None if self._inverse_of is None else self._inverse_of()
        if found is None:
            found = _Inverse(self)
            self._inverse_of = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """Whether it grows (1) or falls (-1), of a bijection of numbers."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # as of what defines equality

    def __call__(self, x: Any) -> Any:
        """The value of x."""
        if not self._cache_size:
            return self._call(x)
        if self._last is None or self._last[0] is not x:
            self._last = x, self._call(x)
        return self._last[1]

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        if self._last is None or self._last[1] is not y:
            self._last = self._inverse(y), y
        return self._last[0]

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of what it multiplies volumes by at ``x``, whose value is ``y``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the value of something of a shape."""
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        """The shape of what has a value of a shape."""
        return Size(shape)


class _Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """What it takes."""
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """What values there may be."""
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        inverse: Transform = self._inv.with_cache(cache_size).inv
        return inverse

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Inverse) and self._inv == other._inv

    __hash__ = None

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Size:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Several, one after another; none is the identity."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else [*parts]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    def _edge(self, first: bool) -> Any:
        """Domain or codomain: that of the part at this end, with the dimensions that those behind it need."""
        if not self.parts:
            return constraints.real
        order = [*reversed(self.parts)] if first else self.parts
        near, far = ("domain", "codomain") if first else ("codomain", "domain")
        needed = getattr(order[0], far).event_dim
        for part in order:
            needed += getattr(part, near).event_dim - getattr(part, far).event_dim
            needed = max(needed, getattr(part, near).event_dim)
        edge = getattr(order[-1], near)
        return constraints.independent(edge, needed - edge.event_dim) if needed > edge.event_dim else edge

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """What it takes."""
        return self._edge(first=True)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """What values there may be."""
        return self._edge(first=False)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Any:
        """The parts' inverses, in the other order."""
        return ComposeTransform([part.inv for part in reversed(self.parts)], self._cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        """The value of x."""
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the parts', each over the dimensions that the whole has more."""
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim = self.domain.event_dim
        total: Any = 0
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            total = total + sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the value of something of a shape."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        """The shape of what has a value of a shape."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        lines = ",\n    ".join(repr(part) for part in self.parts)
        return f"ComposeTransform(\n    {lines}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions are those of one value."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """What it takes."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """What values there may be."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As its base."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """As its base."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the base's."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the value of something of a shape."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Size:
        """The shape of what has a value of a shape."""
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Another shape of the last dimensions."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """What it takes."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """What values there may be."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Zero."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _replaced(self, shape: Any, old: Size, new: Size) -> Size:
        cut = len(shape) - len(old)
        if cut < 0:
            raise ValueError("Too few dimensions on input")
        if Size(shape[cut:]) != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return Size((*shape[:cut], *new))

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the value of something of a shape."""
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Size:
        """The shape of what has a value of a shape."""
        return self._replaced(shape, self.out_shape, self.in_shape)


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


class SoftmaxTransform(Transform):
    """Softmax of vectors, whose inverse takes logarithms: no bijection."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        shares = (x - x.max(-1, True)[0]).exp()
        return shares / shares.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """Vectors to the shares of a stick that is broken once for each element: shares are one more."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = None

    @staticmethod
    def _left(x: Any) -> Any:
        """How many pieces are to come at each element."""
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def _call(self, x: Any) -> Any:
        broken = SigmoidTransform()(x - self._left(x).log())
        rest = (1 - broken).cumprod(-1)
        pad = torch.nn.functional.pad
        return pad(broken, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        pieces = y[..., :-1]
        rest = (1 - pieces.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return pieces.log() - rest.log() + self._left(pieces).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of a triangular matrix."""
        x = x - self._left(x).log()
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Size:
        """One more."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Size:
        """One less."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with a positive diagonal, by its exponential."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive-definite ones: the square of `LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = None

    def _call(self, x: Any) -> Any:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of correlation matrices, row by row by partial
    correlations.
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), -1)
        rest = (1 - partial**2).sqrt().cumprod(-1)
        whole = partial + torch.eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return whole * torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = 1 - (y * y).cumsum(-1)
        before = torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(before, -1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Of a triangular matrix: what is left of each row at each step, and the tangents' slopes."""
        rest = 1 - (y * y).cumsum(-1)
        steps = 0.5 * tril_matrix_to_vec(rest, -2).log().sum(-1) if y.shape[-1] > 2 else 0.0
        slopes = -2 * (x + torch.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)
        return steps + slopes

    def forward_shape(self, shape: Any) -> Size:
        """Square matrices."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Size:
        """Vectors of what is below the diagonal."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class _Joined(Transform):
    """Transforms side by side along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(one, Transform) for one in tseq):
            raise TypeError(f"{type(self).__name__}: expected transforms, got {tseq!r}")
        super().__init__(cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else [*tseq]
        self.dim = dim

    def _cut(self, x: Any) -> list[Any]:
        raise NotImplementedError

    def _join(self, parts: Sequence[Any]) -> Any:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return all(one.bijective for one in self.transforms)

    def _call(self, x: Any) -> Any:
        return self._join([one(part) for one, part in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._join([one.inv(part) for one, part in zip(self.transforms, self._cut(y), strict=True)])


class CatTransform(_Joined):
    """Transforms of parts of given lengths along a dimension."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [*(lengths or [1] * len(self.transforms))]
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"CatTransform: expected {len(self.transforms)} lengths, got {self.lengths}")

    @property
    def event_dim(self) -> int:
        """That of the one with most dimensions."""
        return max(one.event_dim for one in self.transforms)

    @property
    def length(self) -> int:
        """Of all parts together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _cut(self, x: Any) -> list[Any]:
        return [*x.split(self.lengths, self.dim)]

    def _join(self, parts: Sequence[Any]) -> Any:
        return torch.cat([*parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Behind one another, or where a value has the dimension their sum."""
        found = []
        for one, before, after in zip(self.transforms, self._cut(x), self._cut(y), strict=True):
            det = one.log_abs_det_jacobian(before, after)
            found.append(sum_rightmost(det, self.event_dim - one.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return torch.cat(found, dim)
        total = found[0]
        for det in found[1:]:
            total = total + det
        return total

    @constraints.dependent_property
    def domain(self) -> Any:
        """What it takes."""
        return constraints.cat([one.domain for one in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """What values there may be."""
        return constraints.cat([one.codomain for one in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """A transform for each place of a dimension."""

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with another cache."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _cut(self, x: Any) -> list[Any]:
        return [*x.unbind(self.dim)]

    def _join(self, parts: Sequence[Any]) -> Any:
        return torch.stack([*parts], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of each."""
        parts = zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        return self._join([one.log_abs_det_jacobian(before, after) for one, before, after in parts])

    @constraints.dependent_property
    def domain(self) -> Any:
        """What it takes."""
        return constraints.stack([one.domain for one in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """What values there may be."""
        return constraints.stack([one.codomain for one in self.transforms], self.dim)
