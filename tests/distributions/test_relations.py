"""Divergences, transforms and constraints beside PyTorch's."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.distributions.test_families import FAMILIES, same

BOTH = (pytorch, ours)
PAIRED = [name for name in FAMILIES if " " not in name and name not in ("TransformedDistribution", "Wishart")]


def divergence(t: Any, p: str, q: str) -> Any:
    d = t.distributions
    try:
        return d.kl_divergence(FAMILIES[p](t, d), FAMILIES[q](t, d))
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return error


@pytest.mark.parametrize("p", PAIRED)
def test_divergences_from_all_families(p: str) -> None:
    for q in PAIRED:
        its, mine = (divergence(t, p, q) for t in BOTH)
        if isinstance(its, Exception):
            assert isinstance(mine, NotImplementedError) == isinstance(its, NotImplementedError), (q, its, mine)
        else:
            assert not isinstance(mine, Exception), (q, mine)
            same(mine, its, 1e-4)


def test_a_divergence_of_ones_own() -> None:
    d = ours.distributions

    class Mine(d.Normal):
        pass

    @d.register_kl(Mine, d.Normal)
    def _(p: Any, q: Any) -> float:
        return 7.0

    assert d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0)) == 7
    assert d.kl_divergence(d.Normal(0.0, 1.0), Mine(0.0, 1.0)) == 0
    with pytest.raises(TypeError, match="subclass"):
        d.register_kl(int, d.Normal)


def square(t: Any, d: Any) -> Any:
    return t.linspace(-1, 1, 9).reshape(3, 3)


Case = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]
VECTOR: Callable[[Any, Any], Any] = lambda t, d: t.tensor([[0.3, -0.8, 1.2], [0.1, 0.5, -2.0]])  # noqa: E731
POSITIVE: Callable[[Any, Any], Any] = lambda t, d: VECTOR(t, d).exp()  # noqa: E731
TRANSFORMS: dict[str, Case] = {
    "abs": (lambda t, d: d.AbsTransform(), VECTOR),
    "affine": (lambda t, d: d.AffineTransform(1.0, t.tensor([2.0, -1.0, 0.5])), VECTOR),
    "affine of events": (lambda t, d: d.AffineTransform(1.0, t.tensor([2.0, -1.0, 0.5]), event_dim=1), VECTOR),
    "cat": (
        lambda t, d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]),
        VECTOR,
    ),
    "compose": (lambda t, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.StickBreakingTransform()]), VECTOR),
    "correlations": (lambda t, d: d.CorrCholeskyTransform(), VECTOR),
    "distribution function": (lambda t, d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), VECTOR),
    "exp": (lambda t, d: d.ExpTransform(), VECTOR),
    "independent": (lambda t, d: d.IndependentTransform(d.ExpTransform(), 1), VECTOR),
    "inverse": (lambda t, d: d.ExpTransform().inv, POSITIVE),
    "lower triangular": (lambda t, d: d.LowerCholeskyTransform(), square),
    "positive-definite": (lambda t, d: d.PositiveDefiniteTransform(), square),
    "power": (lambda t, d: d.PowerTransform(t.tensor(-2.0)), POSITIVE),
    "reshape": (lambda t, d: d.ReshapeTransform((3,), (3, 1)), VECTOR),
    "sigmoid": (lambda t, d: d.SigmoidTransform(), VECTOR),
    "softmax": (lambda t, d: d.SoftmaxTransform(), VECTOR),
    "softplus": (lambda t, d: d.SoftplusTransform(), VECTOR),
    "stack": (lambda t, d: d.StackTransform([d.ExpTransform(), d.AffineTransform(0.0, 3.0)]), VECTOR),
    "sticks": (lambda t, d: d.StickBreakingTransform(), VECTOR),
    "tanh": (lambda t, d: d.TanhTransform(), VECTOR),
    "identity": (lambda t, d: d.identity_transform, VECTOR),
}


def attempt(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except (NotImplementedError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("name", [*TRANSFORMS])
def test_transforms(name: str) -> None:
    found = []
    for t in BOTH:
        d = t.distributions
        make, given = TRANSFORMS[name]
        transform, x = make(t, d), given(t, d)
        y = transform(x)
        found.append(
            [
                repr(transform) if "AffineTransform" not in repr(transform) else "",
                y,
                transform.inv(y),
                attempt(lambda transform=transform, x=x, y=y: transform.log_abs_det_jacobian(x, y)),
                attempt(lambda transform=transform, y=y, x=x: transform.inv.log_abs_det_jacobian(y, x)),
                transform.bijective,
                attempt(lambda transform=transform: int(transform.sign)),
                tuple(transform.forward_shape(x.shape)),
                tuple(transform.inverse_shape(y.shape)),
                attempt(lambda transform=transform: transform.domain.event_dim),
                attempt(lambda transform=transform: transform.codomain.event_dim),
                attempt(lambda transform=transform, x=x: transform.domain.check(x)),
                transform == transform,
                transform.inv == transform,
            ]
        )
    for its, mine in zip(*found, strict=True):
        same(mine, its, 1e-4)


def test_a_cache_gives_back_what_was_carried_over() -> None:
    for t in BOTH:
        d = t.distributions
        transform = d.SigmoidTransform(cache_size=1)
        x = t.tensor([30.0])
        assert transform.inv(transform(x)) is x
        assert transform.with_cache(1) is transform
        assert transform.with_cache(0).inv(transform(x)) is not x
        assert pickle.loads(pickle.dumps(transform)) == transform
        assert copy.deepcopy(d.ComposeTransform([transform])).parts == [transform]


REGIONS = [
    "boolean",
    "corr_cholesky",
    "lower_cholesky",
    "lower_triangular",
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
    "symmetric",
    "unit_interval",
]
VALUES = (
    [[1.0, 0.0], [0.5, 0.5]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[0.25, 0.75], [0.75, 2.0]],
    [[-1.0, 2.0], [0.0, 3.0]],
    [[1.0, 0.0], [0.0, 1.0]],
)


@pytest.mark.parametrize("name", REGIONS)
def test_regions(name: str) -> None:
    its, mine = (getattr(t.distributions.constraints, name) for t in BOTH)
    assert repr(mine) == repr(its)
    assert (mine.event_dim, mine.is_discrete) == (its.event_dim, its.is_discrete)
    for value in VALUES:
        same(mine.check(ours.tensor(value)), its.check(pytorch.tensor(value)))
    for registry in ("biject_to", "transform_to"):
        found = [attempt(lambda t=t, c=c: getattr(t.distributions, registry)(c)) for t, c in zip(BOTH, (its, mine))]  # noqa: B905, B023
        assert isinstance(found[0], type) == isinstance(found[1], type)
        if not isinstance(found[0], type):
            x = np.linspace(-1, 1, 9, dtype="f4").reshape(3, 3)
            y = found[1](ours.from_numpy(x.copy()))
            same(y, found[0](pytorch.from_numpy(x.copy())))
            assert bool(mine.check(y).all())


def test_regions_with_bounds() -> None:
    x = [0.0, 0.5, 1.0, 2.0, 3.0]
    for make in (
        lambda c: c.interval(0.5, 2),
        lambda c: c.half_open_interval(0.5, 2),
        lambda c: c.greater_than(1.0),
        lambda c: c.greater_than_eq(1.0),
        lambda c: c.less_than(1.0),
        lambda c: c.integer_interval(1, 2),
        lambda c: c.independent(c.positive, 1),
        lambda c: c.stack([c.positive, c.real, c.boolean, c.real, c.real]),
        lambda c: c.cat([c.positive, c.unit_interval], 0, [2, 3]),
        lambda c: c.multinomial(7),
    ):
        its, mine = (make(t.distributions.constraints) for t in BOTH)
        same(mine.check(ours.tensor(x)), its.check(pytorch.tensor(x)))
        assert mine.event_dim == its.event_dim
    c = ours.distributions.constraints
    assert c.is_dependent(c.dependent)
    assert isinstance(c.positive, c.greater_than)
    with pytest.raises(ValueError, match="dependent"):
        c.dependent.check(ours.ones(1))
    with pytest.raises(NotImplementedError):
        _ = c.dependent.event_dim
    with pytest.raises(TypeError, match="lower_bound, upper_bound"):
        c.interval(1)


# ---------------------------------------------------------------- what PyTorch's test_distributions.py showed
@pytest.mark.parametrize("family", ["Binomial", "NegativeBinomial"])
def test_a_gradient_between_odds(family: str) -> None:
    """At even odds a binomial's density has a kink in its formula, and none in its values."""
    found = []
    for library in (ours, pytorch):
        logits = library.zeros(2, requires_grad=True)
        getattr(library.distributions, family)(3, logits=logits).log_prob(library.tensor([0.0, 2.0])).sum().backward()
        found.append(logits.grad.tolist())
    assert found[0] == pytest.approx(found[1])


def test_a_family_of_a_program_keeps_its_class_as_it_expands() -> None:
    for library in (ours, pytorch):
        families = library.distributions

        class Mixture(families.MixtureSameFamily):  # type: ignore[misc]
            pass

        mixture = Mixture(families.Categorical(library.ones(2)), families.Normal(library.zeros(2), 1.0))
        wide = mixture.expand((3,))
        assert type(wide) is Mixture
        assert tuple(wide.sample().shape) == (3,)
        assert wide.log_prob(library.zeros(3)).tolist() == pytest.approx([-0.9189385] * 3)


@pytest.mark.parametrize("named", ["a function", "a tuple", "a number"])
def test_transforms_that_are_none(named: str) -> None:
    for library in (ours, pytorch):
        families = library.distributions
        given = {"a function": lambda x: x, "a tuple": (families.ExpTransform(),), "a number": 3}[named]
        with pytest.raises(ValueError, match="transforms must be a Transform or"):
            families.TransformedDistribution(families.Normal(0.0, 1.0), given)
        assert families.TransformedDistribution(families.Normal(0.0, 1.0), []).transforms == []


def test_a_family_that_says_nothing_of_itself() -> None:
    """It is used without checks, and a warning says so."""
    for library in (ours, pytorch):

        class Silent(library.distributions.Distribution):  # type: ignore[misc,name-defined]
            def log_prob(self, value: Any) -> Any:
                self._validate_sample(value)
                return value

        with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
            silent = Silent(validate_args=True)
        with pytest.warns(UserWarning, match="does not define `support`"):
            silent.log_prob(library.zeros(()))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Silent(validate_args=False)
