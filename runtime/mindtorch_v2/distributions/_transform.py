"""What a transform is, a function with an inverse; and those that are made of others, or that move shapes alone."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Size
from . import constraints
from .utils import sum_rightmost

__all__ = [
    "ComposeTransform",
    "IndependentTransform",
    "ReshapeTransform",
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
