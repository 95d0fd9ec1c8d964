"""Every family of ``torch.distributions`` beside PyTorch's: samples of one seed, densities, moments, gradients."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

Make = Callable[[Any, Any], Any]  # (library, its distributions)


def covariance(t: Any) -> Any:
    root = t.tensor([[1.0, 0.0, 0.0], [0.3, 1.5, 0.0], [-0.2, 0.4, 0.8]])
    return root @ root.mT


TWO = ([0.3, 1.7], [1.5, 0.6])
FAMILIES: dict[str, Make] = {
    "Bernoulli": lambda t, d: d.Bernoulli(t.tensor([0.2, 0.7])),
    "Bernoulli logits": lambda t, d: d.Bernoulli(logits=t.tensor([-0.4, 2.0])),
    "Beta": lambda t, d: d.Beta(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "Binomial": lambda t, d: d.Binomial(7, t.tensor([0.2, 0.7])),
    "Binomial logits": lambda t, d: d.Binomial(t.tensor(5), logits=t.tensor([0.2, -0.7])),
    "Categorical": lambda t, d: d.Categorical(t.tensor([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]])),
    "Categorical logits": lambda t, d: d.Categorical(logits=t.tensor([0.2, 1.5, -0.3])),
    "Cauchy": lambda t, d: d.Cauchy(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "Chi2": lambda t, d: d.Chi2(t.tensor([1.5, 4.0])),
    "ContinuousBernoulli": lambda t, d: d.ContinuousBernoulli(t.tensor([0.2, 0.5, 0.9])),
    "ContinuousBernoulli logits": lambda t, d: d.ContinuousBernoulli(logits=t.tensor([0.2, -3.0])),
    "Dirichlet": lambda t, d: d.Dirichlet(t.tensor([[0.5, 1.0, 2.0], [3.0, 1.5, 4.0]])),
    "Exponential": lambda t, d: d.Exponential(t.tensor([0.5, 2.0])),
    "FisherSnedecor": lambda t, d: d.FisherSnedecor(t.tensor([3.0, 5.0]), t.tensor([6.0, 5.0])),
    "Gamma": lambda t, d: d.Gamma(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "GeneralizedPareto": lambda t, d: d.GeneralizedPareto(
        t.tensor([0.0, 1.0, 0.0]), t.tensor([1.0, 2.0, 1.0]), t.tensor([0.2, -0.3, 0.0])
    ),
    "Geometric": lambda t, d: d.Geometric(t.tensor([0.2, 0.7])),
    "Geometric logits": lambda t, d: d.Geometric(logits=t.tensor([0.2, -0.7])),
    "Gumbel": lambda t, d: d.Gumbel(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "HalfCauchy": lambda t, d: d.HalfCauchy(t.tensor([0.5, 2.0])),
    "HalfNormal": lambda t, d: d.HalfNormal(t.tensor([0.5, 2.0])),
    "Independent": lambda t, d: d.Independent(d.Normal(t.tensor([TWO[0]] * 3), t.tensor(TWO[1])), 1),
    "InverseGamma": lambda t, d: d.InverseGamma(t.tensor([1.5, 3.0]), t.tensor([1.0, 3.0])),
    "Kumaraswamy": lambda t, d: d.Kumaraswamy(t.tensor([1.5, 3.0]), t.tensor([2.0, 0.7])),
    "LKJCholesky": lambda t, d: d.LKJCholesky(3, t.tensor([0.5, 2.0])),
    "Laplace": lambda t, d: d.Laplace(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "LogNormal": lambda t, d: d.LogNormal(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "LogisticNormal": lambda t, d: d.LogisticNormal(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "LowRankMultivariateNormal": lambda t, d: d.LowRankMultivariateNormal(
        t.tensor([0.1, -0.2, 0.3]), t.tensor([[1.0], [0.5], [-0.3]]), t.tensor([0.6, 1.0, 0.4])
    ),
    "MixtureSameFamily": lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.tensor([0.3, 0.7])), d.Normal(t.tensor(TWO[0]), t.tensor(TWO[1]))
    ),
    "Multinomial": lambda t, d: d.Multinomial(5, t.tensor([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]])),
    "MultivariateNormal": lambda t, d: d.MultivariateNormal(t.tensor([0.1, -0.2, 0.3]), covariance(t)),
    "MultivariateNormal precision": lambda t, d: d.MultivariateNormal(
        t.tensor([[0.1, -0.2, 0.3]] * 2), precision_matrix=covariance(t)
    ),
    "NegativeBinomial": lambda t, d: d.NegativeBinomial(t.tensor([2.0, 3.5]), t.tensor([0.2, 0.7])),
    "Normal": lambda t, d: d.Normal(t.tensor(TWO[0]), t.tensor(TWO[1])),
    "Normal of numbers": lambda t, d: d.Normal(1.0, 2.0),
    "OneHotCategorical": lambda t, d: d.OneHotCategorical(t.tensor([[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]])),
    "OneHotCategoricalStraightThrough": lambda t, d: d.OneHotCategoricalStraightThrough(t.tensor([0.2, 0.5, 0.3])),
    "Pareto": lambda t, d: d.Pareto(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "Poisson": lambda t, d: d.Poisson(t.tensor([0.5, 20.0])),
    "RelaxedBernoulli": lambda t, d: d.RelaxedBernoulli(t.tensor(0.7), t.tensor([0.2, 0.7])),
    "RelaxedOneHotCategorical": lambda t, d: d.RelaxedOneHotCategorical(t.tensor(0.7), t.tensor([0.2, 0.5, 0.3])),
    "StudentT": lambda t, d: d.StudentT(t.tensor([1.5, 4.0]), 0.5, t.tensor([1.0, 2.0])),
    "TransformedDistribution": lambda t, d: d.TransformedDistribution(
        d.Normal(t.tensor(TWO[0]), t.tensor(TWO[1])), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]
    ),
    "Uniform": lambda t, d: d.Uniform(t.tensor([0.0, -1.0]), t.tensor([1.0, 3.0])),
    "VonMises": lambda t, d: d.VonMises(t.tensor([0.0, 2.0]), t.tensor([1.0, 5.0])),
    "Weibull": lambda t, d: d.Weibull(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "Wishart": lambda t, d: d.Wishart(t.tensor([4.0, 5.5]), covariance(t)),
}
# Whose samples the processor's own library draws (Intel's, in PyTorch): `exponential_` and what is made of it.
NOT_DRAWN_ALIKE = {"Exponential", "Pareto", "Weibull"}
# PyTorch takes good samples for singular ones, and warns: what it draws first is compared.
FIRST_DRAW = {"Wishart"}
PROPERTIES = "mean mode variance stddev batch_shape event_shape has_rsample has_enumerate_support"


def made(name: str) -> tuple[Any, Any]:
    return tuple(FAMILIES[name](t, t.distributions) for t in (pytorch, ours))


def result(function: Callable[[], Any]) -> Any:
    """What it returns, or the error's class."""
    try:
        value = function()
    except (NotImplementedError, ValueError, AttributeError) as error:
        return type(error)
    return value


def same(mine: Any, its: Any, tolerance: float = 2e-5) -> None:
    if hasattr(its, "detach"):
        assert tuple(mine.shape) == tuple(its.shape)
        assert str(mine.dtype) == str(its.dtype)
        np.testing.assert_allclose(mine.detach().numpy(), its.detach().numpy(), rtol=tolerance, atol=tolerance)
    elif isinstance(its, tuple):
        assert tuple(mine) == tuple(its)
    else:
        assert mine == its


@pytest.mark.parametrize("name", [*FAMILIES])
def test_what_is_known_of_it(name: str) -> None:
    its, mine = made(name)
    assert repr(mine) == repr(its)
    for each in PROPERTIES.split():
        same(result(lambda each=each: getattr(mine, each)), result(lambda each=each: getattr(its, each)))
    same(result(mine.entropy), result(its.entropy))
    same(result(mine.enumerate_support), result(its.enumerate_support))
    for each in ("probs", "logits", "covariance_matrix", "precision_matrix", "scale_tril", "perplexity"):
        if hasattr(its, each) and not callable(getattr(its, each)):
            same(getattr(mine, each), getattr(its, each), 1e-4)


@pytest.mark.parametrize("name", [*FAMILIES])
def test_samples_and_densities(name: str) -> None:
    its, mine = made(name)
    pytorch.manual_seed(5)
    ours.manual_seed(5)
    drawn = its._bartlett_sampling(pytorch.Size((40,))) if name in FIRST_DRAW else its.sample((40,))
    if name not in NOT_DRAWN_ALIKE:
        same(mine.sample((40,)), drawn)
    value = ours.from_numpy(drawn.numpy().copy())
    same(mine.log_prob(value), its.log_prob(drawn), 1e-4)
    same(result(lambda: mine.cdf(value)), result(lambda: its.cdf(drawn)))
    shares = np.linspace(0.05, 0.95, 6, dtype="f4").reshape(6, *[1] * len(its.batch_shape))
    same(
        result(lambda: mine.icdf(ours.from_numpy(shares.copy()))),
        result(lambda: its.icdf(pytorch.from_numpy(shares.copy()))),
        1e-4,
    )
    its, mine = its.expand((4, *its.batch_shape)), mine.expand((4, *its.batch_shape))
    same(mine.batch_shape, its.batch_shape)
    same(mine.log_prob(value[:4]), its.log_prob(drawn[:4]), 1e-4)
    assert tuple(mine.sample((3,)).shape) == (3, *its.batch_shape, *its.event_shape)


REPARAMETRISED = [name for name in FAMILIES if FAMILIES[name](pytorch, pytorch.distributions).has_rsample]


@pytest.mark.parametrize(
    "name", sorted({*REPARAMETRISED} - NOT_DRAWN_ALIKE - FIRST_DRAW - {"LogisticNormal", "Normal of numbers"})
)
def test_gradients_of_samples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the parameters that were given: PyTorch's tables for gamma and beta variables are good to 1e-3."""
    found = []
    for t in (pytorch, ours):
        leaves = []
        plain = t.tensor

        def leaf(data: Any, plain: Any = plain, leaves: Any = leaves, **options: Any) -> Any:
            x = plain(data, **options)
            if x.is_floating_point():
                leaves.append(x.requires_grad_())
            return x

        class Recording:
            tensor = staticmethod(leaf)

        distribution = FAMILIES[name](Recording, t.distributions)
        t.manual_seed(1)
        (distribution.rsample((200,)) * 1.5).sum().backward()
        found.append([np.zeros(1) if x.grad is None else x.grad.numpy() for x in leaves])
    for its, mine in zip(*found, strict=True):
        np.testing.assert_allclose(mine, its, rtol=2e-3, atol=2e-2)


WRONG: list[Make] = [
    lambda t, d: d.Normal(0.0, -1.0),
    lambda t, d: d.Normal("a", 1.0),
    lambda t, d: d.Normal(0.0, 1.0).log_prob(t.tensor(math.nan)),
    lambda t, d: d.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
    lambda t, d: d.Bernoulli(),
    lambda t, d: d.Bernoulli(t.tensor(0.5), t.tensor(0.1)),
    lambda t, d: d.Bernoulli(t.tensor(1.5)),
    lambda t, d: d.Bernoulli(t.tensor(0.5)).log_prob(t.tensor(0.3)),
    lambda t, d: d.Categorical(t.tensor(0.5)),
    lambda t, d: d.Categorical(t.tensor([0.5, 0.5])).log_prob(t.tensor(2)),
    lambda t, d: d.Uniform(1.0, 0.0),
    lambda t, d: d.Uniform(0.0, 1.0).log_prob(t.tensor(2.0)),
    lambda t, d: d.Dirichlet(t.tensor(1.0)),
    lambda t, d: d.Beta(t.tensor(-1.0), t.tensor(1.0)),
    lambda t, d: d.Gamma(t.tensor(1.0), t.tensor(0.0)),
    lambda t, d: d.Poisson(t.tensor(1.0)).log_prob(t.tensor(0.5)),
    lambda t, d: d.MultivariateNormal(t.zeros(2)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    lambda t, d: d.Multinomial(t.tensor([1, 2]), t.ones(2, 2)),
    lambda t, d: d.Independent(d.Normal(t.zeros(2), 1.0), 2),
    lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), d.Normal(t.zeros(3), 1.0)),
    lambda t, d: d.LKJCholesky(1),
    lambda t, d: d.Wishart(t.tensor(0.5), t.eye(3)),
    lambda t, d: d.kl_divergence(d.Normal(0.0, 1.0), d.Poisson(1.0)),
    lambda t, d: d.Distribution.set_default_validate_args("no"),
    lambda t, d: d.Cauchy(0.0, 1.0).enumerate_support(),
]


@pytest.fixture
def its_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch checks its parameters: the first use of its Dynamo, by a test that ran before, ends that in a process."""
    monkeypatch.setattr(pytorch.distributions.Distribution, "_validate_args", True)


@pytest.mark.usefixtures("its_checks")
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(number: int) -> None:
    errors = []
    for t in (pytorch, ours):
        with pytest.raises((ValueError, TypeError, NotImplementedError, RuntimeError)) as raised:
            WRONG[number](t, t.distributions)
        errors.append(raised.value)
    assert isinstance(errors[1], type(errors[0])), errors


def test_all_names_are_there() -> None:
    assert {*pytorch.distributions.__all__} <= {*ours.distributions.__all__}
    names = [name for name in pytorch.distributions.__all__ if inspect.isclass(getattr(pytorch.distributions, name))]
    for name in names:
        mine, its = (inspect.signature(getattr(t.distributions, name)).parameters for t in (ours, pytorch))
        assert [*mine] == [*its], name
