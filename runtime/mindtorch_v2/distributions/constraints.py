"""What values a parameter may have, or a distribution gives: ``constraint.check(value)`` says which do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor

__all__ = [
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region of values; the last ``event_dim`` dimensions of a tensor are one value of it."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Which values are in it: a tensor of bools, without the event's dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Tested(Constraint):
    """A region that one test of a value, and of the region's bounds, decides."""

    _test: Callable[..., Tensor]
    _bounds: tuple[str, ...] = ()

    def __init__(self, *given: Any, **named: Any) -> None:
        bounds = {**dict(zip(self._bounds, given, strict=False)), **named}
        if len(given) > len(self._bounds) or bounds.keys() != {*self._bounds}:
            wanted = ", ".join(self._bounds) or "no bounds"
            raise TypeError(f"{type(self).__name__[1:]}: expected {wanted}, got {bounds}")
        self.__dict__.update(bounds)

    def check(self, value: Tensor) -> Tensor:
        """Which values are in it."""
        return self._test(value, *(getattr(self, name) for name in self._bounds))

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._bounds)})"


def _region(
    name: str, test: Callable[..., Tensor], *bounds: str, event_dim: int = 0, is_discrete: bool = False
) -> type[_Tested]:
    """The class of the regions that a test decides, which is found by PyTorch's name for it."""
    fields = {"_test": staticmethod(test), "_bounds": bounds, "event_dim": event_dim, "is_discrete": is_discrete}
    made = type(f"_{name}", (_Tested,), {**fields, "__module__": __name__})
    return globals().setdefault(made.__name__, made)


class _Dependent(Constraint):
    """A region that other parameters decide: whether a value is in it cannot be told."""

    def __init__(self, *, is_discrete: Any = None, event_dim: int | None = None) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether it is one of whole numbers. Raises NotImplementedError where that depends, too."""
        if self._is_discrete is None:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """The dimensions of a value. Raises NotImplementedError where they depend, too."""
        if self._event_dim is None:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = None, event_dim: int | None = None) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is None else is_discrete,
            event_dim=self._event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        """Raises ValueError."""
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):  # noqa: N801  (PyTorch's name)
    """A property that is a region, which the object decides; on the class it is one that depends."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = None, event_dim: int | None = None) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        """The same of another function, as a decorator."""
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a region depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _Independent(Constraint):
    """A region each of whose values is an array of values of another."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As its base."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """Those of its base, and of the array."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Which values are in it."""
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[: result.dim() - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Joined(Constraint):
    """Regions side by side along a dimension: behind one another, or one at each place (``stacked``)."""

    stacked = False

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim, self.lengths = [*cseq], dim, [*(lengths or [1] * len(cseq))]

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """Whether one of them is."""
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """That of the one with most dimensions."""
        most = max(one.event_dim for one in self.cseq)
        return most + 1 if self.stacked and self.dim + most < 0 else most

    def check(self, value: Tensor) -> Tensor:
        """Which values are in it."""
        parts = value.unbind(self.dim) if self.stacked else value.split(self.lengths, self.dim)
        checks = [one.check(part) for one, part in zip(self.cseq, parts, strict=True)]
        return torch.stack(checks, self.dim) if self.stacked else torch.cat(checks, self.dim)


class _Stacked(_Joined):
    stacked = True

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture's components, whose values have no dimension for the components."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        """As its base."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        """As its base."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Which values are in it."""
        checked = self.base_constraint.check(value.unsqueeze(value.dim() - self.event_dim))
        return checked.all(-1)


def _is_symmetric(value: Tensor) -> Tensor:
    return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


def _is_square(value: Tensor) -> Tensor:
    fits = value.shape[-2] == value.shape[-1]
    return torch.full(value.shape[:-2], fits, dtype=torch.bool, device=value.device)


def _is_symmetric_square(value: Tensor) -> Tensor:
    return _is_symmetric(value) if bool(_is_square(value).all()) else _is_square(value)


def _is_lower(value: Tensor) -> Tensor:
    return (value.tril() == value).view((*value.shape[:-2], -1)).all(-1)


def _has_positive_diagonal(value: Tensor) -> Tensor:
    return (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _has_unit_rows(value: Tensor) -> Tensor:
    tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
    return ((value.detach().norm(dim=-1) - 1).abs() < tolerance).all(-1)


def _is_positive_definite(value: Tensor) -> Tensor:
    symmetric_ones = _is_symmetric_square(value)
    if not bool(symmetric_ones.all()):
        return symmetric_ones
    return torch.linalg.cholesky_ex(value).info.eq(0)


def _is_positive_semidefinite(value: Tensor) -> Tensor:
    symmetric_ones = _is_symmetric_square(value)
    if not bool(symmetric_ones.all()):
        return symmetric_ones
    return torch.linalg.eigvalsh(value).ge(0).all(-1)


def _is_simplex(value: Tensor) -> Tensor:
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


def _is_one_hot(value: Tensor) -> Tensor:
    return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


_LOW, _HIGH = "lower_bound", "upper_bound"
interval = _region("Interval", lambda x, low, high: (low <= x) & (x <= high), _LOW, _HIGH)
half_open_interval = _region("HalfOpenInterval", lambda x, low, high: (low <= x) & (x < high), _LOW, _HIGH)
greater_than = _region("GreaterThan", lambda x, low: low < x, _LOW)
greater_than_eq = _region("GreaterThanEq", lambda x, low: low <= x, _LOW)
less_than = _region("LessThan", lambda x, high: x < high, _HIGH)
integer_interval = _region(
    "IntegerInterval", lambda x, low, high: (x % 1 == 0) & (low <= x) & (x <= high), _LOW, _HIGH, is_discrete=True
)
_IntegerGreaterThan = _region("IntegerGreaterThan", lambda x, low: (x % 1 == 0) & (x >= low), _LOW, is_discrete=True)
multinomial = _region(
    "Multinomial", lambda x, high: (x >= 0).all(-1) & (x.sum(-1) <= high), _HIGH, event_dim=1, is_discrete=True
)
_simplex = _region("Simplex", _is_simplex, event_dim=1)
_lower_cholesky = _region("LowerCholesky", lambda x: _is_lower(x) & _has_positive_diagonal(x), event_dim=2)
_corr_cholesky = _region(
    "CorrCholesky", lambda x: _is_lower(x) & _has_positive_diagonal(x) & _has_unit_rows(x), event_dim=2
)
_positive_definite = _region("PositiveDefinite", _is_positive_definite, event_dim=2)
_positive_semidefinite = _region("PositiveSemidefinite", _is_positive_semidefinite, event_dim=2)
_real = _region("Real", lambda x: x == x)  # not NaN

dependent = _Dependent()
independent, cat, stack = _Independent, _Joined, _Stacked
boolean = _region("Boolean", lambda x: (x == 0) | (x == 1), is_discrete=True)()
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
real, positive, nonnegative, unit_interval = _real(), greater_than(0.0), greater_than_eq(0.0), interval(0.0, 1.0)
real_vector = independent(real, 1)
simplex, lower_cholesky, corr_cholesky = _simplex(), _lower_cholesky(), _corr_cholesky()
one_hot = _region("OneHot", _is_one_hot, event_dim=1, is_discrete=True)()
lower_triangular = _region("LowerTriangular", _is_lower, event_dim=2)()
square = _region("Square", _is_square, event_dim=2)()
symmetric = _region("Symmetric", _is_symmetric_square, event_dim=2)()
positive_definite, positive_semidefinite = _positive_definite(), _positive_semidefinite()
