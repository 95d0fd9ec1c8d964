"""Variables that count, and choices among categories; what is chosen by is ``probs`` or ``logits``, each made of the
other.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from ._continuous import shape_of
from ._positive import Gamma
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
    "one_of",
]

_BINARY: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
_SHARES: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}


def one_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """Which of both was given, and what. Raises ValueError unless it is one."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


class _OfOdds(Distribution):
    """What has ``probs`` and ``logits`` of yes and no."""

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        found: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return found

    @property
    def param_shape(self) -> Size:
        """The parameter's."""
        return self._param.size()

    def _all_values(self, values: Tensor, expand: bool) -> Tensor:
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Bernoulli(_OfOdds, ExponentialFamily):
    """1 with a probability, else 0."""

    arg_constraints: ClassVar[Any] = _BINARY
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = one_of(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(shape_of(given), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``probs``."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier one, NaN where both are."""
        mode = (self.probs >= 0.5).to(self.probs)
        return torch.where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Drawn by ``torch.bernoulli``."""
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        """Minus the cross entropy."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """The cross entropy with itself."""
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1."""
        return self._all_values(torch.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return torch.log1p(torch.exp(natural_params[0]))


class Geometric(_OfOdds):
    """How often something fails before it succeeds."""

    arg_constraints: ClassVar[Any] = _BINARY
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = one_of(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(shape_of(given), validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Tensor:
        """1 / p - 1."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1 / p - 1) / p."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By the inverse of the distribution function."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            u = self.probs.new_empty(shape).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Tensor:
        """Of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1) & (value == 0)
        return value * (-torch.where(sure, torch.zeros_like(probs), probs)).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        """The cross entropy, by p."""
        cross = torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return cross / self.probs


def _log_one_plus_exp(logits: Tensor) -> Tensor:
    """log(1 + e^logits) without overflow; at 0 its derivative is the mean of those on both sides."""
    positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
    return positive + torch.log1p(torch.exp(-torch.abs(logits)))


class Binomial(_OfOdds):
    """How many of ``total_count`` trials succeed."""

    arg_constraints: ClassVar[Any] = {"total_count": constraints.nonnegative_integer, **_BINARY}
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        name, given = one_of(probs, logits)
        self.total_count, self.__dict__[name] = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """From none to all."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Drawn by ``torch.binomial``."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        """Of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        return value * self.logits - n * _log_one_plus_exp(self.logits) + ways

    def entropy(self) -> Tensor:
        """The sum over all values. Raises NotImplementedError for different numbers of trials."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """From none to all. Raises NotImplementedError for different numbers of trials."""
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._all_values(torch.arange(1 + most, dtype=self._param.dtype, device=self._param.device), expand)


class NegativeBinomial(_OfOdds):
    """How often something succeeds before it failed ``total_count`` times; ``probs`` is of success."""

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        name, given = one_of(probs, logits)
        self.total_count, self.__dict__[name] = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """n times the odds."""
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        """The mean by the probability of failure."""
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """A Poisson variable of a gamma-distributed rate."""
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        """Of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        logsigmoid, n = torch.nn.functional.logsigmoid, self.total_count
        plain = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        return plain - ways.masked_fill(n + value == 0.0, 0.0)


class Poisson(ExponentialFamily):
    """How often something happens that happens ``rate`` times on average."""

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``rate``."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """Its whole part."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """``rate``."""
        return self.rate

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Drawn by ``torch.poisson``."""
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        """Of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (torch.log(self.rate),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return torch.exp(natural_params[0])


class Categorical(Distribution):
    """One of several, by their number, along the last dimension of the parameter."""

    arg_constraints: ClassVar[Any] = _SHARES
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = one_of(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = int(given.size(-1))
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The numbers of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of ``probs``."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Tensor:
        found: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return found

    @property
    def param_shape(self) -> Size:
        """The parameter's."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        """NaN: numbers of categories have none."""
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN."""
        return self.mean

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Drawn by ``torch.multinomial``."""
        sample_shape = Size(sample_shape)
        with torch.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = torch.multinomial(rows, sample_shape.numel(), True).T
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        """Of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        value, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """The mean of minus the logarithm."""
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All numbers."""
        values = torch.arange(self._num_events, dtype=torch.long, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class _OfCategories(Distribution):
    """What a `Categorical` decides."""

    _categorical: Categorical

    @property
    def logits(self) -> Tensor:
        """The choice's."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The choice's."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The choice's."""
        return self._categorical.param_shape


class OneHotCategorical(_OfCategories):
    """One of several, as a vector with a 1 at its place."""

    arg_constraints: ClassVar[Any] = _SHARES
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _vectors(self, numbers: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(numbers, self._categorical._num_events).to(self.probs)

    @property
    def mean(self) -> Tensor:
        """``probs``."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return self._vectors(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        """p (1 - p) of each place."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """The choice's."""
        return self._vectors(self._categorical.sample(Size(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        """The choice's."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        """The choice's."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The rows of the identity."""
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose values' gradients are those of ``probs``."""

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """A value, with the gradient of ``probs``."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OfCategories):
    """How often each category is chosen in ``total_count`` choices."""

    arg_constraints: ClassVar[Any] = _SHARES

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Choices, counted."""
        with torch.no_grad():
            chosen = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape))
            chosen = chosen.permute(*range(1, chosen.dim()), 0)
            counts = chosen.new_zeros(self._extended_shape(sample_shape))
            counts.scatter_add_(-1, chosen, torch.ones_like(chosen))
            return counts.type_as(self.probs)

    def log_prob(self, value: Any) -> Tensor:
        """Of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone()
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """By the marginals, which are binomial."""
        n = torch.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weights = torch.exp(self._binomial.log_prob(counts))
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + (weights * torch.lgamma(counts + 1)).sum([0, -1])
