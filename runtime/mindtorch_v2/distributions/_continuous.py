"""Continuous variables on all numbers, or on an interval."""

from __future__ import annotations

import math
import numbers
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._core import Size, Tensor
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits, standard_normal

__all__ = ["Cauchy", "ContinuousBernoulli", "GeneralizedPareto", "Laplace", "Normal", "Uniform", "VonMises", "shape_of"]

_LOCATED = {"loc": constraints.real, "scale": constraints.positive}


def shape_of(*given: Any) -> Size:
    """The shape of parameters that were broadcast; of numbers alone, none."""
    return next((Size(one.size()) for one in broadcast_all(*given) if not all(map(_is_number, given))), Size())


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number)


class Normal(ExponentialFamily):
    """Normal, of mean ``loc`` and standard deviation ``scale``."""

    arg_constraints: ClassVar[Any] = _LOCATED
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(loc, scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """``scale``."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Its square."""
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Drawn by ``torch.normal``."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``loc + scale * z``."""
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Tensor:
        """By the error function."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Tensor:
        """By its inverse."""
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """Of the logarithm of the deviation."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal())

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)


class Laplace(Distribution):
    """Exponential on both sides of ``loc``."""

    arg_constraints: ClassVar[Any] = _LOCATED
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(loc, scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Twice the square of ``scale``."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """Its root."""
        return (2**0.5) * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By the inverse of the distribution function, of numbers in (-1, 1)."""
        limits = torch.finfo(self.loc.dtype)
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(limits.eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Any) -> Tensor:
        """A half, and the share between."""
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value: Any) -> Tensor:
        """The inverse."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 scale)."""
        return 1 + torch.log(2 * self.scale)


class Cauchy(Distribution):
    """The ratio of two normal variables: neither mean nor variance."""

    arg_constraints: ClassVar[Any] = _LOCATED
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(loc, scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN: there is none."""
        return torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``loc + scale * c``."""
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Tensor:
        """By the arc tangent."""
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Tensor:
        """By the tangent."""
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4 pi scale)."""
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Even over [low, high)."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(shape_of(low, high), validate_args=validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: none is more likely."""
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        """The width by the root of 12."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """Its square."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """``low + u * (high - low)``."""
        shape = self._extended_shape(sample_shape)
        u = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density, minus infinity outside."""
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return torch.log(inside) - torch.log(self.high - self.low)

    def cdf(self, value: Any) -> Tensor:
        """The share below."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        """The inverse."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """The logarithm of the width."""
        return torch.log(self.high - self.low)


class GeneralizedPareto(Distribution):
    """What is over a threshold ``loc``: of tail index ``concentration``, where 0 is the exponential distribution."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(shape_of(loc, scale, concentration), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From ``loc`` on; with a negative tail index up to an end."""
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    @property
    def _is_exponential(self) -> Tensor:
        return torch.isclose(self.concentration, torch.zeros_like(self.concentration))

    def log_survival_function(self, value: Any) -> Tensor:
        """The logarithm of the probability of a larger value."""
        z, flat = (value - self.loc) / self.scale, self._is_exponential
        index = torch.where(flat, torch.ones_like(self.concentration), self.concentration)
        return torch.where(flat, -z, -torch.log1p(self.concentration * z) / index)

    def log_cdf(self, value: Any) -> Tensor:
        """The logarithm of `cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Tensor:
        """The share below."""
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Tensor:
        """The inverse."""
        flat, log_rest = self._is_exponential, torch.log1p(-value)
        index = torch.where(flat, torch.ones_like(self.concentration), self.concentration)
        tail = self.scale * torch.expm1(-index * log_rest) / index
        return self.loc + torch.where(flat, -self.scale * log_rest, tail)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By the inverse of the distribution function."""
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        z, flat = (value - self.loc) / self.scale, self._is_exponential
        index = torch.where(flat, torch.ones_like(self.concentration), self.concentration)
        tail = -(1 / index + 1) * torch.log1p(self.concentration * z)
        return -self.scale.log() + torch.where(flat, -z, tail)

    @property
    def mean(self) -> Tensor:
        """Infinite from a tail index of 1 on."""
        index = self.concentration
        return torch.where(index < 1, self.loc + self.scale / (1 - index), math.inf)

    @property
    def variance(self) -> Tensor:
        """Infinite from a tail index of 1/2 on."""
        index = self.concentration
        return torch.where(index < 0.5, self.scale**2 / ((1 - index) ** 2 * (1 - 2 * index)), math.inf)

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    def entropy(self) -> Tensor:
        """log scale + concentration + 1."""
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)


class VonMises(Distribution):
    """An angle, as a normal variable on a circle."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @staticmethod
    def _log_bessel(order: int, x: Tensor) -> Tensor:
        scaled = torch.special.i0e(x) if order == 0 else torch.special.i1e(x)
        return scaled.log() + x

    def log_prob(self, value: Any) -> Tensor:
        """Of the density, by the modified Bessel function of order 0."""
        if self._validate_args:
            self._validate_sample(value)
        nearness = self.concentration * torch.cos(value - self.loc)
        return nearness - math.log(2 * math.pi) - self._log_bessel(0, self.concentration)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By Best and Fisher's rejection (1979) from a wrapped Cauchy variable, in float64."""
        with torch.no_grad():
            loc, concentration = self.loc.double(), self.concentration.double()
            tau = 1 + (1 + 4 * concentration**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * concentration)
            small = 1 / concentration + concentration  # to second order
            r = torch.where(concentration < 1e-5, small, (1 + rho**2) / (2 * rho))
            x = torch.empty(self._extended_shape(sample_shape), dtype=torch.float64, device=loc.device)
            done = torch.zeros(x.shape, dtype=torch.bool, device=loc.device)
            while not bool(done.all()):
                u1, u2, u3 = torch.rand((3, *x.shape), dtype=torch.float64, device=loc.device).unbind()
                z = torch.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = concentration * (r - f)
                accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                if bool(accepted.any()):
                    x = torch.where(accepted, (u3 - 0.5).sign() * f.acos(), x)
                    done = done | accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (self._log_bessel(1, self.concentration) - self._log_bessel(0, self.concentration)).exp()


class ContinuousBernoulli(ExponentialFamily):
    """Over [0, 1], with a density that grows or falls as e^(logits x) (Loaiza-Ganem and Cunningham, 2019).

    Between ``lims`` the formulas are those of series about 1/2.
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = logits if probs is None else probs
        (value,) = broadcast_all(given)
        self._lims = lims
        if probs is None:
            self.logits = value
        else:
            if validate_args and not bool(constraints.unit_interval.check(value).all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(value)
        super().__init__(shape_of(given), validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds of ``probs``."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Of ``logits``, neither 0 nor 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> Size:
        """The parameter's."""
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"].size()

    def _outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """``probs``, with the lower limit in place of those in the middle, where formulas are not stable."""
        return torch.where(self._outside(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _log_constant(self) -> Tensor:
        """The logarithm of what the density is multiplied by."""
        cut = self._cut()
        low = torch.where(cut <= 0.5, cut, torch.zeros_like(cut))
        high = torch.where(cut >= 0.5, cut, torch.ones_like(cut))
        ratio = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut)))
        log_norm = ratio - torch.where(cut <= 0.5, torch.log1p(-2.0 * low), torch.log(2.0 * high - 1.0))
        square = torch.pow(self.probs - 0.5, 2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square
        return torch.where(self._outside(), log_norm, series)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        cut = self._cut()
        x = self.probs - 0.5
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut))
        return torch.where(self._outside(), mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        cut = self._cut()
        square = (self.probs - 0.5).pow(2)
        spread = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (torch.log1p(-cut) - torch.log(cut)).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square
        return torch.where(self._outside(), spread, series)

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """By the inverse of the distribution function."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """The same with a gradient."""
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    def log_prob(self, value: Any) -> Tensor:
        """Of the density."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -entropy + self._log_constant()

    def cdf(self, value: Any) -> Tensor:
        """The share below."""
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut()
        share = (torch.pow(cut, value) * torch.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = torch.where(self._outside(), share, value)
        return torch.where(
            torch.le(value, 0.0),
            torch.zeros_like(value),
            torch.where(torch.ge(value, 1.0), torch.ones_like(value), inside),
        )

    def icdf(self, value: Any) -> Tensor:
        """The inverse."""
        cut = self._cut()
        top = torch.log1p(-cut + value * (2.0 * cut - 1.0)) - torch.log1p(-cut)
        return torch.where(self._outside(), top / (torch.log(cut) - torch.log1p(-cut)), value)

    def entropy(self) -> Tensor:
        """Of the logarithm of the constant, and the mean."""
        rest = torch.log1p(-self.probs)
        return self.mean * (rest - torch.log(self.probs)) - self._log_constant() - rest

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(outside, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        norm = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, norm, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
