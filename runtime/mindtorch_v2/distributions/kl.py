"""Kullback and Leibler's divergence of one distribution from another, by formulas for pairs of families."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from ._compound import Independent, TransformedDistribution
from ._continuous import Cauchy, ContinuousBernoulli, Laplace, Normal, Uniform
from ._discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from ._multivariate import LowRankMultivariateNormal, MultivariateNormal, log_det, squared_distance
from ._positive import Beta, Dirichlet, Exponential, Gamma
from ._transformed import Gumbel, HalfNormal, LogNormal, Pareto
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import euler_constant, sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_formulas: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Says that a function is the formula for two families, and those that derive from them."""
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected type_p to be a Distribution subclass but got {kind}")

    def decorate(formula: Formula) -> Formula:
        _formulas[type_p, type_q] = formula
        _formula.cache_clear()
        return formula

    return decorate


@functools.cache
def _formula(type_p: Any, type_q: Any) -> Formula | None:
    """That of the nearest families: of the first one's nearest class, then of the second's."""
    for p in type_p.__mro__:
        for q in type_q.__mro__:
            if (p, q) in _formulas:
                return _formulas[p, q]
    return None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean, under ``p``, of log p - log q. Raises NotImplementedError for a pair without a formula."""
    kinds: list[Any] = [type(p), type(q)]
    formula = _formula(*kinds)
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    found: Tensor = formula(p, q)
    return found


def _infinite_like(tensor: Tensor) -> Tensor:
    return torch.full_like(tensor, math.inf)


def _x_log_x(x: Tensor) -> Tensor:
    return torch.xlogy(x, x)


# ---------------------------------------------------------------- within families
@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    """Bregman's divergence of the log normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The cross KL-divergence between different exponential families cannot be computed: {type(p)}, {type(q)}"
        )
    theirs = q._natural_params
    mine = [one.detach().requires_grad_() for one in p._natural_params]
    with torch.enable_grad():
        normalizer = p._log_normalizer(*mine)
        gradients = torch.autograd.grad(normalizer.sum(), mine, create_graph=True)
    result = q._log_normalizer(*theirs) - normalizer
    for a, b, gradient in zip(mine, theirs, gradients, strict=True):
        result = result - sum_rightmost((b - a) * gradient, len(q.event_shape))
    return result


@register_kl(Bernoulli, Bernoulli)
def _(p: Any, q: Any) -> Any:
    softplus = torch.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = torch.where(q.probs == 0, math.inf, t1)
    t1 = torch.where(p.probs == 0, torch.zeros_like(t1), t1)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = torch.where(q.probs == 1, math.inf, t2)
    return t1 + torch.where(p.probs == 1, torch.zeros_like(t2), t2)


@register_kl(Beta, Beta)
def _(p: Any, q: Any) -> Any:
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    slopes = [torch.digamma(one) for one in (p.concentration1, p.concentration0, sum_p)]
    t3 = (p.concentration1 - q.concentration1) * slopes[0] + (p.concentration0 - q.concentration0) * slopes[1]
    return t1 - t2 + t3 + (sum_q - sum_p) * slopes[2]


@register_kl(Binomial, Binomial)
def _(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
    return torch.where((p.probs == 0).expand_as(t), torch.zeros_like(t), t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    return (
        p.mean * (p.logits - q.logits)
        + p._log_constant()
        + torch.log1p(-p.probs)
        - (q._log_constant() + torch.log1p(-q.probs))
    )


@register_kl(Dirichlet, Dirichlet)
def _(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    t1 = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return t1 + ((a - b) * (a.digamma() - a.sum(-1).digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _(p: Any, q: Any) -> Any:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    shift_q, shift_p = q.loc / q.scale, p.loc / q.scale
    t1 = -ratio.log() - shift_q + shift_p + ratio * euler_constant
    return t1 + torch.exp(shift_q + (1 + ratio).lgamma() - shift_p) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LogNormal, LogNormal)
def _(p: Any, q: Any) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _(p: Any, q: Any) -> Any:
    ratio = p.alpha / q.alpha
    scales = p.scale / q.scale
    kl = q.alpha * scales.log() + ratio.log() + ratio.reciprocal() - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, math.inf, kl)


@register_kl(Poisson, Poisson)
def _(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _(p: Any, q: Any) -> Any:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, kl)


@register_kl(Cauchy, Cauchy)
def _(p: Any, q: Any) -> Any:
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: Any, q: Any) -> Any:
    """That of the bases, where the transforms are the same."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: expected distributions of the same transforms")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: expected as many dimensions taken of both")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _trace_of_squares(lower: Tensor, factor: Tensor) -> Tensor:
    """The trace of L^-1 F F^T L^-T."""
    batch = torch.broadcast_shapes(lower.shape[:-2], factor.shape[:-2])
    solved = torch.linalg.solve_triangular(
        lower.expand(batch + lower.shape[-2:]), factor.expand(batch + factor.shape[-2:]), upper=False
    )
    return solved.pow(2).sum([-2, -1])


def _half_log_det(d: Any) -> Tensor:
    if isinstance(d, LowRankMultivariateNormal):
        return 0.5 * d.log_det()
    return log_det(d._unbroadcasted_scale_tril)


def _normal_vectors(p: Any, q: Any) -> Any:
    """0.5 (tr(Q^-1 P) + distance - n) + half the logarithm of the determinants' ratio."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    low_rank = isinstance(p, LowRankMultivariateNormal)
    factors = [p.cov_factor, p.cov_diag.sqrt().diag_embed()] if low_rank else [p._unbroadcasted_scale_tril]
    apart = q.loc - p.loc
    trace: Any = 0.0
    if isinstance(q, LowRankMultivariateNormal):
        scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
        root = q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
        for factor in factors:
            plain = (root * factor).pow(2).sum([-2, -1])
            trace = trace + plain - _trace_of_squares(q._capacitance_tril, scaled.matmul(factor))
        distance = q.distance(apart)
    else:
        for factor in factors:
            trace = trace + _trace_of_squares(q._unbroadcasted_scale_tril, factor)
        distance = squared_distance(q._unbroadcasted_scale_tril, apart)
    return _half_log_det(q) - _half_log_det(p) + 0.5 * (trace + distance - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_normal_vectors)


# ---------------------------------------------------------------- where p may give what q does not
def _always_infinite(shape_of: str) -> Formula:
    return lambda p, q: _infinite_like(getattr(p, shape_of))


for _kind, _shape, _others in (
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, "alpha", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
):
    for _other in _others:
        register_kl(_kind, _other)(_always_infinite(_shape))


# ---------------------------------------------------------------- between families
@register_kl(Bernoulli, Poisson)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_constant()


@register_kl(Beta, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))


@register_kl(Beta, Gamma)
def _(p: Any, q: Any) -> Any:
    t1 = -p.entropy() + q.concentration.lgamma() - q.concentration * q.rate.log()
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return t1 - (q.concentration - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Uniform)
def _(p: Any, q: Any) -> Any:
    kl = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), math.inf, kl)


@register_kl(ContinuousBernoulli, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Uniform)
def _(p: Any, q: Any) -> Any:
    kl = -p.entropy() + (q.high - q.low).log()
    outside = torch.max(torch.ge(q.low, p.support.lower_bound), torch.le(q.high, p.support.upper_bound))
    return torch.where(outside, math.inf, kl)


def _to_normal(p: Any, q: Any) -> Any:
    """Of anything with a mean, a variance and an entropy."""
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.variance)
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + spread


for _spread in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_spread, Normal)(_to_normal)


@register_kl(Exponential, Gamma)
def _(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    t1 = -q.concentration * torch.log(ratio)
    return t1 + ratio + q.concentration.lgamma() + q.concentration * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _(p: Any, q: Any) -> Any:
    product, shift = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 + product.reciprocal() - shift + (shift + product.log() - (product + 1).log()).exp()


@register_kl(Gamma, Exponential)
def _(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _(p: Any, q: Any) -> Any:
    product, shift = p.rate * q.scale, q.loc / q.scale
    t1 = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    t2 = product.log() + p.concentration / product
    return t1 + t2 + shift.exp() * (1 + product.reciprocal()).pow(-p.concentration) - shift


@register_kl(Normal, Gumbel)
def _(p: Any, q: Any) -> Any:
    means, scales = (p.loc - q.loc) / q.scale, (p.scale / q.scale).pow(2)
    t1, t2 = (p.scale / q.scale).log() - means, torch.exp(-means + 0.5 * scales)
    return -t1 + t2 - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _(p: Any, q: Any) -> Any:
    apart, ratio = p.loc - q.loc, p.scale / q.scale
    z = apart / p.scale
    t1 = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * z.pow(2)) + apart * torch.erf(math.sqrt(0.5) * z)
    return -torch.log(ratio) + t1 / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _(p: Any, q: Any) -> Any:
    product = p.scale * q.rate
    t1 = p.alpha / product
    kl = t1.log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return torch.where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Gamma)
def _(p: Any, q: Any) -> Any:
    log_scale = p.scale.log() + p.alpha.reciprocal()
    kl = p.alpha.log() - log_scale + q.concentration.lgamma() - q.concentration * q.rate.log()
    kl = kl + (1 - q.concentration) * log_scale + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1
    return torch.where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Normal)
def _(p: Any, q: Any) -> Any:
    spread = p.scale.pow(2) * p.alpha / ((p.alpha - 1).pow(2) * (p.alpha - 2))
    away = (p.alpha * p.scale / (p.alpha - 1) - q.loc).pow(2)
    t1 = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    kl = t1 + 0.5 * (spread + away) / q.scale.pow(2) - 1
    return torch.where(p.alpha <= 2, math.inf, kl)


@register_kl(Uniform, Beta)
def _(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1 = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    t2 = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    t3 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    kl = t3 - t1 + t2 - width.log()
    return torch.where((p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), math.inf, kl)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Any, q: Any) -> Any:
    kl = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_constant()
    outside = torch.max(torch.ge(p.high, q.support.upper_bound), torch.le(p.low, q.support.lower_bound))
    return torch.where(outside, math.inf, kl)


@register_kl(Uniform, Exponential)
def _(p: Any, q: Any) -> Any:
    kl = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < q.support.lower_bound, math.inf, kl)


@register_kl(Uniform, Gamma)
def _(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1 = q.concentration.lgamma() - q.concentration * q.rate.log() - width.log()
    t2 = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    return torch.where(p.low < q.support.lower_bound, math.inf, t1 + t2 + q.rate * (p.high + p.low) / 2)


@register_kl(Uniform, Gumbel)
def _(p: Any, q: Any) -> Any:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Pareto)
def _(p: Any, q: Any) -> Any:
    width = p.high - p.low
    t1 = (q.alpha * q.scale.pow(q.alpha) * width).log()
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    kl = mean_log * (q.alpha + 1) - t1
    return torch.where(p.low < q.support.lower_bound, math.inf, kl)
