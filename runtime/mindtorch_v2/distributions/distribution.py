"""What all distributions are: shapes of batches and events, checks of parameters and values, and `expand`."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import mindtorch_v2 as torch

from .._core import Size, Tensor
from .._frames import user_stacklevel
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A family of random variables; ``batch_shape`` are those of one object, each of whose values has ``event_shape``.

    A family says what its parameters are (``arg_constraints``, by name) and what its values may be (``support``); with
    ``validate_args`` (as set by `set_default_validate_args`) both are checked, and ValueError says what is wrong.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions that are made from now on check, unless they are told. Raises ValueError for no
        bool.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = Size([]),  # noqa: B008  (a value)
        event_shape: Any = Size([]),  # noqa: B008
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._constraints("arg_constraints", {}).items():
                self._check_parameter(name, constraint)

    def _constraints(self, name: str, otherwise: Any) -> Any:
        """What a family says of its parameters or values; where it does not, a warning says that nothing is checked."""
        try:
            return getattr(self, name)
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `{name}`, by which distributions are checked: set it, or pass "
                "`validate_args=False` to turn off validation.",
                stacklevel=user_stacklevel(),
            )
            return otherwise

    def _check_parameter(self, name: str, constraint: Any) -> None:
        computed = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
        if constraints.is_dependent(constraint) or computed:
            return
        value = getattr(self, name)
        if not bool(constraint.check(value).all()):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @property
    def batch_shape(self) -> Size:
        """The shape of the variables that one object has."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a value of one of them."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """What parameters may be, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """What values there may be."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution, of a larger batch: parameters are expanded, and share their memory.

        What a family keeps as it was given, since it is broadcast where it is used, has a name that says so.
        """
        new = copy.copy(self)
        new._batch_shape = Size(batch_shape)
        kept = len(self._batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                if not name.startswith("_unbroadcasted") and value.shape[:kept] == self._batch_shape:
                    new.__dict__[name] = value.expand(new._batch_shape + value.shape[kept:])
            elif isinstance(value, Distribution):
                new.__dict__[name] = value.expand(new._batch_shape + value.batch_shape[kept:])
        return new

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008  (a value)
        """Values that were drawn, without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Values that were drawn, whose gradients say how they move with the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """So many values."""
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Tensor:
        """The probability of a value that is not larger."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Tensor:
        """The value that has a probability as its `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The mean of minus the logarithm of the density."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """e to the power of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:  # noqa: B008
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = value.dim() - len(self._event_shape)
        if value.shape[max(events, 0) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        wanted = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(wanted), strict=False):
            if i not in (1, j) and j != 1:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {wanted}.")
        support = self._constraints("support", None)
        if support is None:
            return
        if not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                whole = not isinstance(value, Tensor) or value.numel() == 1
                shown.append(f"{name}: {value if whole else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"
