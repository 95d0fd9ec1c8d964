"""Families that are transforms of others."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from ._compound import TransformedDistribution
from ._continuous import Cauchy, Normal, Uniform, shape_of
from ._discrete import Categorical, _OfCategories, _OfOdds, one_of
from ._positive import Exponential, Gamma
from .transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from .utils import broadcast_all, clamp_probs, euler_constant

__all__ = [
    "ExpRelaxedCategorical",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "InverseGamma",
    "Kumaraswamy",
    "LogNormal",
    "LogisticNormal",
    "LogitRelaxedBernoulli",
    "Pareto",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "Weibull",
]

_LOCATED: Any = {"loc": constraints.real, "scale": constraints.positive}


class LogNormal(TransformedDistribution):
    """e to the power of a normal variable."""

    arg_constraints: ClassVar[Any] = _LOCATED
    support = constraints.positive
    base_dist: Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The normal variable's."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The normal variable's."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        """The normal variable's, and its mean."""
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """The absolute value of a variable that is symmetric about 0."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _of: Any

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._of(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The variable's."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        """Twice the variable's density."""
        if self._validate_args:
            self._validate_sample(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        found = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        """On the positive side."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Tensor:
        """The inverse."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """The variable's, less log 2."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal variable of mean 0."""

    _of = Normal

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of a Cauchy variable about 0."""

    _of = Cauchy

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.base_dist.variance


class InverseGamma(TransformedDistribution):
    """1 by a gamma variable."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    base_dist: Gamma

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The gamma variable's."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The gamma variable's."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """Infinite up to a concentration of 1."""
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite up to a concentration of 2."""
        a = self.concentration
        return torch.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        """Of digamma and log gamma."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Gumbel(TransformedDistribution):
    """The largest of many: of distribution function exp(-exp(-(x - loc) / scale))."""

    arg_constraints: ClassVar[Any] = _LOCATED
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        shape = shape_of(loc, scale)
        low, high = (
            torch.full(shape, value, dtype=self.loc.dtype, device=self.loc.device)
            for value in (limits.tiny, 1 - limits.eps)
        )
        turned = AffineTransform(0, -torch.ones_like(self.scale))
        steps = [ExpTransform().inv, turned, ExpTransform().inv, AffineTransform(self.loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        """Its square."""
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        """log scale + 1 + Euler's constant."""
        return self.scale.log() + (1 + euler_constant)


class Pareto(TransformedDistribution):
    """Over ``scale``, with a tail of power ``alpha``."""

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, validate_args=validate_args), steps, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From ``scale`` on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """Infinite up to a power of 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """``scale``."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite up to a power of 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        """log(scale / alpha) + 1 + 1 / alpha."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """A power of an exponential variable."""

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        steps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        return torch.exp(torch.lgamma(1 + n * self.concentration.reciprocal()))

    @property
    def mean(self) -> Tensor:
        """By the gamma function."""
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        inverse = self.concentration.reciprocal()
        return self.scale * ((self.concentration - 1) / self.concentration) ** inverse

    @property
    def variance(self) -> Tensor:
        """By the gamma function."""
        return self.scale.pow(2) * (self._moment(2) - torch.exp(2 * torch.lgamma(1 + self.concentration.reciprocal())))

    def entropy(self) -> Tensor:
        """The entropy."""
        inverse = self.concentration.reciprocal()
        return euler_constant * (1 - inverse) + torch.log(self.scale * inverse) + 1


class Kumaraswamy(TransformedDistribution):
    """Over (0, 1), of distribution function 1 - (1 - x^c1)^c0."""

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            torch.full_like(self.concentration0, 0),
            torch.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        steps = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return (torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)).exp() * b

    @property
    def mean(self) -> Tensor:
        """By the beta function."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """NaN where a concentration is below 1."""
        c1, c0 = self.concentration1, self.concentration0
        log_mode = c1.reciprocal() * (-c0).log1p() - (-c0 * c1).log1p()
        log_mode = torch.where((c0 < 1) | (c1 < 1), math.nan, log_mode)
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        """By the beta function."""
        return self._moment(2) - torch.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        """By digamma."""
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - torch.log(self.concentration1) - torch.log(self.concentration0)


class LogisticNormal(TransformedDistribution):
    """Shares of a whole, by stick breaking of normal variables."""

    arg_constraints: ClassVar[Any] = _LOCATED
    support = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The normal variables'."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The normal variables'."""
        return self.base_dist.base_dist.scale


class LogitRelaxedBernoulli(_OfOdds):
    """The log-odds of a `RelaxedBernoulli` (Maddison, Mnih and Teh, 2017)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._unbroadcasted_temperature = temperature
        name, given = one_of(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(shape_of(given), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far from a choice values are; one for all of a batch."""
        return self._unbroadcasted_temperature

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Logistic noise on the log-odds, by the temperature."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return torch.as_tensor(self.temperature).log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Between 0 and 1, nearer to one of them the lower the temperature."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self.base_dist.probs


class ExpRelaxedCategorical(_OfCategories):
    """The logarithms of a `RelaxedOneHotCategorical` (Maddison, Mnih and Teh, 2017)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # whose exponentials have the sum 1
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self._unbroadcasted_temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far from a choice values are; one for all of a batch."""
        return self._unbroadcasted_temperature

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Gumbel noise on the logits, by the temperature."""
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - ((-(u.log())).log())) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        count = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = torch.as_tensor(self.temperature, dtype=logits.dtype)
        scale = torch.full_like(temperature, float(count)).lgamma() - temperature.log().mul(-(count - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares of a whole, nearer to one category the lower the temperature."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The choice's."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The choice's."""
        return self.base_dist.probs
