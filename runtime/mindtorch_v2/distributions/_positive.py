"""Positive variables, shares of a whole, and what the gamma distribution makes of a normal variable."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from ._continuous import shape_of
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all, standard_normal

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "StudentT"]


class Exponential(ExponentialFamily):
    """What waits for something that happens ``rate`` times in a unit of time."""

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """1 / rate."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """0."""
        return torch.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """1 / rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """1 / rate^2."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``e / rate``."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Tensor:
        """The share below."""
        if self._validate_args:
            self._validate_sample(value)
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value: Any) -> Tensor:
        """The inverse."""
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """1 - log rate."""
        return 1.0 - torch.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return -torch.log(-natural_params[0])


class Gamma(ExponentialFamily):
    """Of shape ``concentration`` and ``rate``."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(shape_of(concentration, rate), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """concentration / rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """Before the mean by 1 / rate, at least 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """concentration / rate^2."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``g / rate``; the gradient keeps a number's place in the distribution."""
        shape = self._extended_shape(sample_shape)
        value = torch.ops.aten._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return torch.xlogy(a, rate) + torch.xlogy(a - 1, value) - rate * value - torch.lgamma(a)

    def cdf(self, value: Any) -> Tensor:
        """The incomplete gamma function."""
        if self._validate_args:
            self._validate_sample(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        """Of digamma and log gamma."""
        a = self.concentration
        return a - torch.log(self.rate) + torch.lgamma(a) + (1.0 - a) * torch.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())


class Chi2(Gamma):
    """The sum of the squares of ``df`` normal variables."""

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """How many."""
        return self.concentration * 2


class FisherSnedecor(Distribution):
    """The ratio of two `Chi2` variables, each by its number of squares."""

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = (Gamma(df * 0.5, df) for df in (self.df1, self.df2))
        super().__init__(shape_of(df1, df2), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN up to ``df2`` of 2."""
        df2 = torch.where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """NaN up to ``df1`` of 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch.where(self.df1 <= 2, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        """NaN up to ``df2`` of 4."""
        df2 = torch.where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """The ratio."""
        shape = self._extended_shape(sample_shape)
        above, below = (one.rsample(sample_shape).view(shape) for one in (self._gamma1, self._gamma2))
        tiny = torch.finfo(below.dtype).tiny
        below.detach().clamp_(min=tiny)
        value = above / below
        value.detach().clamp_(min=tiny)
        return value

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return norm + a * ratio.log() + (a - 1) * torch.log(value) - (a + b) * torch.log1p(ratio * value)


class StudentT(Distribution):
    """A normal variable by the root of the mean of ``df`` squares of others."""

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``loc``, NaN up to ``df`` of 1."""
        return torch.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite up to ``df`` of 2, NaN up to 1."""
        found = torch.where(self.df > 2, self.scale.pow(2) * self.df / (self.df - 2), math.inf)
        return torch.where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``loc + scale * z / root``."""
        z = standard_normal(self._extended_shape(sample_shape), self.df)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (z * torch.rsqrt(squares / self.df))

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        y, df = (value - self.loc) / self.scale, self.df
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        norm = norm + torch.lgamma(0.5 * df) - torch.lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * torch.log1p(y**2.0 / df) - norm

    def entropy(self) -> Tensor:
        """Of digamma and the beta function."""
        df = self.df
        log_beta = torch.lgamma(0.5 * df) + math.lgamma(0.5) - torch.lgamma(0.5 * (df + 1))
        slope = torch.digamma(0.5 * (df + 1)) - torch.digamma(0.5 * df)
        return self.scale.log() + 0.5 * (df + 1) * slope + 0.5 * df.log() + log_beta


class Dirichlet(ExponentialFamily):
    """Shares of a whole, by concentrations along the last dimension."""

    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Gamma variables by their sum; the gradient keeps each one's place in its marginal distribution."""
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        return torch.ops.aten._sample_dirichlet(concentration)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return torch.xlogy(a - 1.0, value).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    @property
    def mean(self) -> Tensor:
        """Each concentration's share."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """Of concentrations less 1; where all are smaller, all at the largest."""
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        low = (self.concentration < 1).all(-1)
        top = torch.nn.functional.one_hot(self.concentration.argmax(-1), mode.shape[-1]).to(mode.dtype)
        return torch.where(low.unsqueeze(-1), top, mode)

    @property
    def variance(self) -> Tensor:
        """Each one's."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        """Of digamma and log gamma."""
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        norm = torch.lgamma(a).sum(-1) - torch.lgamma(total)
        return norm - (k - total) * torch.digamma(total) - ((a - 1.0) * torch.digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """A share between 0 and 1: the first of a `Dirichlet` of two."""

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        pair = torch.stack([*broadcast_all(concentration1, concentration0)], -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """That of the share."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """That of the rest."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        """The concentration's share."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """The `Dirichlet`'s."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The `Dirichlet`'s."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        """The `Dirichlet`'s."""
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration1, self.concentration0)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)
