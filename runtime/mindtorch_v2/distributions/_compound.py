"""Distributions of distributions: independent dimensions as one value, mixtures, and what transforms make of
variables.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """Takes the last ``reinterpreted_batch_ndims`` dimensions of a batch as those of one value."""

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        there = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > there:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {there}"
            )
        whole = base_distribution.batch_shape + base_distribution.event_shape
        cut = there - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(whole[:cut], whole[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As its base."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """As its base, where no dimension is taken."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Any:
        """Its base's."""
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    @property
    def mean(self) -> Tensor:
        """Its base's."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """Its base's."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """Its base's."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Its base's."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Its base's."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        """The sum of its base's."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The sum of its base's."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Its base's. Raises NotImplementedError where a dimension is taken: values are products then."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """One of several components of a family, the last dimension of a batch, chosen by a `Categorical`."""

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not hasattr(mixture_distribution, "probs") or mixture_distribution.event_shape:
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution, got "
                f"{component_distribution!r}"
            )
        chosen, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for i, j in zip(reversed(chosen), reversed(batch), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError(f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with {batch}")
        count = mixture_distribution.logits.shape[-1]
        if count != component_distribution.batch_shape[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({component_distribution.batch_shape[-1]})"
            )
        self._mixture_distribution, self._component_distribution, self._num_component = (
            mixture_distribution,
            component_distribution,
            count,
        )
        super().__init__(batch, component_distribution.event_shape, validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """What chooses."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """What is chosen from."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = probs.shape[:-1] + Size([1] * missing) + probs.shape[-1:] + Size([1] * len(self.event_shape))
        return probs.reshape(shape)

    def _mean_over(self, values: Tensor) -> Tensor:
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The components' means, by weight."""
        return self._mean_over(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        means = self.component_distribution.mean
        spread = (means - self.mean.unsqueeze(-1 - len(self._event_shape))).pow(2.0)
        return self._mean_over(self.component_distribution.variance) + self._mean_over(spread)

    def cdf(self, value: Any) -> Tensor:
        """The components', by weight."""
        found = self.component_distribution.cdf(value.unsqueeze(-1 - len(self._event_shape)))
        return (found * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the weighted sum."""
        if self._validate_args:
            self._validate_sample(value)
        found = self.component_distribution.log_prob(value.unsqueeze(-1 - len(self._event_shape)))
        return torch.logsumexp(found + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """A choice for each, and of the components' values those that were chosen."""
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            events = Size([1] * (len(self._event_shape) + 1))
            choices = self.mixture_distribution.sample(sample_shape)
            choices = choices.reshape(choices.shape + events)
            values = self.component_distribution.sample(sample_shape)
            repeated = choices.expand((*values.shape[:dim], 1, *values.shape[dim + 1 :]))
            return torch.gather(values, dim, repeated).squeeze(dim)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same, of a larger batch."""
        new = copy.copy(self)
        new._batch_shape = Size(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(new._batch_shape)
        new._component_distribution = self._component_distribution.expand((*new._batch_shape, self._num_component))
        return new

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


class TransformedDistribution(Distribution):
    """What transforms make of a variable, one after another."""

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        listed = [transforms] if isinstance(transforms, Transform) else transforms
        if not (isinstance(listed, list) and all(isinstance(one, Transform) for one in listed)):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        self.transforms = listed
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got "
                f"{base_shape}."
            )
        shape = whole.forward_shape(base_shape)
        base_distribution = base_distribution.expand(whole.inverse_shape(shape)[: len(base_shape) - events])
        taken = whole.domain.event_dim - events
        if taken > 0:
            base_distribution = Independent(base_distribution, taken)
        self.base_dist = base_distribution
        event_dim = whole.codomain.event_dim + max(events - whole.domain.event_dim, 0)
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As its base."""
        return bool(self.base_dist.has_rsample)

    @constraints.dependent_property
    def support(self) -> Any:
        """The last transform's codomain."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    def _carried(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """What was drawn of the base, carried over."""
        with torch.no_grad():
            return self._carried(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """The same with a gradient."""
        return self._carried(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        """The base's where the value comes from, less what the transforms do to volumes there."""
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            volume = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(volume, event_dim - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _grows(self, value: Any) -> Any:
        """``value``, or 1 - value where the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Tensor:
        """The base's where the value comes from."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._grows(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        """The base's, carried over."""
        return self._carried(self.base_dist.icdf(self._grows(value)))
