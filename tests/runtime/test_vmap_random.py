"""Random numbers inside `vmap`, each sample's own or the same for all; and what `vmap` checks of its arguments."""

from __future__ import annotations

import collections
import functools
import importlib
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import mindtorch_v2
from tests.runtime.semantics import Entry, check

Point = collections.namedtuple("Point", ["x", "y"])
Draw = Callable[[Any, Any, Any], Any]
ERROR = "called random operation while in randomness error mode"
SAME = "Vmap does not currently support same randomness with a batched tensor input"
UNBATCHED = "different inplace randomness on an unbatched tensor"

# How each draws for one sample `a`; what is of a batch of `a` in place of the call inside `vmap` is the same numbers.
FROM_SIZES: dict[str, Draw] = {
    "rand": lambda t, a, g: t.rand(20, **g),
    "randn": lambda t, a, g: t.randn((4, 5), **g),
    "randint": lambda t, a, g: t.randint(100, (20,), **g),
    "randint from": lambda t, a, g: t.randint(5, 100, (20,), **g),
    "normal of a size": lambda t, a, g: t.normal(0.0, 1.0, (20,), **g),
    "randperm": lambda t, a, g: t.randperm(20, **g),
}
LIKE: dict[str, Draw] = {
    "rand_like": lambda t, a, g: t.rand_like(a),
    "randn_like": lambda t, a, g: t.randn_like(a),
    "randint_like": lambda t, a, g: t.randint_like(a, 100),
}
IN_PLACE: dict[str, Draw] = {
    "random_": lambda t, a, g: a.clone().random_(**g),
    "normal_": lambda t, a, g: a.clone().normal_(**g),
    "uniform_": lambda t, a, g: a.clone().uniform_(**g),
    "bernoulli_": lambda t, a, g: a.clone().bernoulli_(0.4, **g),
    "bernoulli_ of a tensor": lambda t, a, g: a.clone().bernoulli_(t.full((20,), 0.4), **g),
    "exponential_": lambda t, a, g: a.clone().exponential_(**g),
}
OF_VALUES: dict[str, Draw] = {
    "bernoulli": lambda t, a, g: t.bernoulli(a, **g),
    "bernoulli of p": lambda t, a, g: t.bernoulli(a, 0.4, **g),
    "normal": lambda t, a, g: t.normal(a, 1.0, **g),
    "normal of both": lambda t, a, g: t.normal(a, a, **g),
    "poisson": lambda t, a, g: t.poisson(a, **g),
    "_standard_gamma": lambda t, a, g: t._standard_gamma(a, **g),
    "multinomial": lambda t, a, g: t.multinomial(a, 5, **g),
}
DROPOUTS: dict[str, Draw] = {
    "dropout": lambda t, a, g: t.nn.functional.dropout(t.ones_like(a)),
    "alpha_dropout": lambda t, a, g: t.nn.functional.alpha_dropout(t.ones_like(a), training=True),
    "feature_dropout": lambda t, a, g: t.feature_dropout(t.ones_like(a).reshape(4, 5, 1), 0.5, True),
    "feature_alpha_dropout": lambda t, a, g: t.feature_alpha_dropout(t.ones_like(a).reshape(4, 5, 1), 0.5, True),
    "native_dropout": lambda t, a, g: t.native_dropout(t.ones_like(a), 0.5, True)[0],
    "attention": lambda t, a, g: t.nn.functional.scaled_dot_product_attention(
        *(a.reshape(1, 4, 5),) * 3, dropout_p=0.5
    ),
}
ALL = {**FROM_SIZES, **LIKE, **IN_PLACE, **OF_VALUES, **DROPOUTS}


def samples(t: Any, dim: int | None) -> Any:
    x = t.linspace(0.1, 0.9, 80).reshape(4, 20)
    return x[0] if dim is None else x if dim == 0 else x.t()


def mapped(t: Any, draw: Draw, randomness: str, dim: int | None, seeded: bool) -> Any:
    generator = {"generator": t.Generator().manual_seed(3)} if seeded else {}
    t.manual_seed(3)
    return t.vmap(lambda a, _: draw(t, a, generator), in_dims=(dim, 0), randomness=randomness)(
        samples(t, dim), t.ones(4)
    )


def how_they_differ(t: Any, draw: Draw, randomness: str, dim: int | None) -> Any:
    result = mapped(t, draw, randomness, dim, False)
    return tuple(result.shape), [bool((result[0] == result[i]).all()) for i in range(4)]


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", ALL)
def test_random_numbers_are_refused_unless_it_is_told_which(name: str, dim: int | None) -> None:
    check((lambda t: mapped(t, ALL[name], "error", dim, False), ERROR))


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", [*FROM_SIZES, *IN_PLACE, *OF_VALUES])
def test_each_sample_has_numbers_of_its_own(name: str, dim: int | None, seeded: bool) -> None:
    def case(t: Any) -> Any:
        return mapped(t, ALL[name], "different", dim, seeded)

    refused = name in IN_PLACE and dim is None
    check((case, UNBATCHED) if refused else case)


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", [*FROM_SIZES, *IN_PLACE, *OF_VALUES])
def test_all_samples_have_the_same_numbers(name: str, dim: int | None, seeded: bool) -> None:
    def case(t: Any) -> Any:
        return mapped(t, ALL[name], "same", dim, seeded)

    check((case, SAME) if name in OF_VALUES and dim is not None else case)


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", [*LIKE, *DROPOUTS])
def test_what_is_dropped_is_the_same_for_all_or_each_samples_own(name: str, dim: int | None, randomness: str) -> None:
    if name == "attention" and (dim is None) == (randomness == "different"):
        return  # scores of samples differ; and PyTorch refuses what is not mapped
    check(lambda t: how_they_differ(t, ALL[name], randomness, dim))


def dropped_gradient(t: Any, randomness: str) -> Any:
    def loss(w: Any) -> Any:
        return t.nn.functional.dropout(w * t.ones(20), 0.5).sum()

    found = t.vmap(t.func.grad(loss), randomness=randomness)(t.ones(4, 20))
    return tuple(found.shape), sorted(set(found.flatten().tolist())), bool((found[0] == found[1]).all())


def in_a_rule(t: Any) -> Any:
    """A Function's own rule is outside of the `vmap`: what it draws is drawn once."""

    class Noise(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x * 0 + t.rand(3), in_dims[0]

    t.manual_seed(0)
    return t.vmap(Noise.apply)(t.ones(2, 3))


def nested(t: Any, outer: str, inner: str) -> Any:
    t.manual_seed(1)
    return t.vmap(t.vmap(lambda a: t.rand(2) + 0 * a, randomness=inner), randomness=outer)(t.ones(2, 3))


def into_out(t: Any) -> Any:
    y = t.ones(3)
    return t.vmap(lambda a: t.randn(3, out=y), randomness="same")(t.ones(3))


def escaped(t: Any) -> Any:
    kept = []

    def function(a: Any) -> Any:
        kept.append(a)
        return a.sum()

    t.vmap(function)(t.ones(3, 2))
    return kept[0].sin()


def of_a_point(t: Any) -> Any:
    return type(t.vmap(lambda a: Point(a, a + 1))(t.ones(2))).__name__


def chunked(t: Any, chunks: int | None, chunk_size: int | None) -> Any:
    def function(a: Any) -> Any:
        return a.sin() + t.rand_like(a)

    t.manual_seed(2)
    x = t.linspace(0, 1, 20).reshape(5, 4)
    if chunks is None:
        return t.vmap(function, randomness="same", chunk_size=chunk_size)(x)
    name = "mindtorch_v2._functorch.functorch" if t is mindtorch_v2 else "functorch"
    experimental = importlib.import_module(f"{name}.experimental")
    return experimental.chunk_vmap(function, randomness="same", chunks=chunks)(x)


def changed_as(t: Any, name: str) -> Any:
    """A view by another tensor's shape is changed in place: what it is a view of changes."""
    x, other = t.ones(2, 1, 4), t.zeros(2, 4)

    def function(a: Any, b: Any) -> Any:
        b = b.reshape(1, 4) if name == "expand_as" else b
        getattr(a, name)(b).add_(1)
        return a * 2

    return t.vmap(function)(x, other), x


def viewed_as(t: Any, name: str) -> Any:
    x, other = t.ones(1, 4), t.zeros(3, 1, 4)
    found = t.vmap(lambda a, b: getattr(a, name)(b), (None, 0))(x, other)
    return found._base is x, tuple(found.stride())


def bad(t: Any) -> Any:
    with t.autograd.set_detect_anomaly(True):
        return t.vmap(t.func.grad(lambda x: x.sqrt().sum()))(-t.ones(3))


TABLE: dict[str, Entry] = {
    "chunks of a size, the same": lambda t: chunked(t, None, 2),
    **{f"{n} chunks, the same": functools.partial(chunked, chunks=n, chunk_size=None) for n in (1, 2, 3, 7)},
    "view_as": lambda t: changed_as(t, "view_as"),
    "reshape_as": lambda t: changed_as(t, "reshape_as"),
    "expand_as": lambda t: changed_as(t, "expand_as"),
    **{
        f"{name} a batch, of what is none": functools.partial(viewed_as, name=name)
        for name in ("view_as", "reshape_as", "expand_as")
    },
    "conjugates, nested": lambda t: t.vmap(t.vmap(t.conj))(t.ones(2, 3, dtype=t.complex64) * 1j).resolve_conj(),
    "anomalies": (bad, "Function 'SqrtBackward0' returned nan values in its 0th output."),
    "squeezed numbers": lambda t: t.vmap(lambda a: a.squeeze(0).transpose(0, -1))(t.ones(3, requires_grad=True)),
    "gradients inside, different": lambda t: dropped_gradient(t, "different"),
    "gradients inside, same": lambda t: dropped_gradient(t, "same"),
    "a generator after its state was set": lambda t: t.Generator().set_state(t.Generator().get_state()).device.type,
    "in a Function's rule": in_a_rule,
    "nested, different in both": lambda t: nested(t, "different", "different"),
    "nested, the same outside": lambda t: nested(t, "same", "different"),
    "nested, the same inside": lambda t: nested(t, "different", "same"),
    "nested, refused outside": (lambda t: nested(t, "error", "same"), ERROR),
    "out=": (into_out, "calling out variants"),
    "slopes": (lambda t: t.vmap(t.rrelu, randomness="same")(t.ones(3)), "do not yet support"),
    "nothing is dropped": lambda t: t.vmap(lambda a: t.nn.functional.dropout(a, 0.5, False))(t.ones(3, 2)),
    "attention without dropout": lambda t: t.vmap(t.nn.functional.scaled_dot_product_attention)(
        *(t.ones(2, 1, 3, 4),) * 3
    ),
    "other probabilities for each": (
        lambda t: t.vmap(lambda a, p: a.bernoulli_(p), (0, 0), randomness="same")(t.ones(3, 2), t.ones(3, 2)),
        SAME,
    ),
    "in place of what is not mapped": (
        lambda t: t.vmap(lambda a, p: a.bernoulli_(p), (None, 0), randomness="different")(t.ones(2), t.ones(3, 2)),
        "there exists a Tensor `other` in extra_args that has more elements than `self`",
    ),
    "a tensor that escaped": (escaped, "your tensor may have escaped from inside a function being vmapped"),
    "as a condition": (lambda t: t.vmap(lambda a: a if a else 0)(t.ones(3)), "data-dependent control flow"),
    "named results": of_a_point,
    "an ordered dict": lambda t: type(t.vmap(lambda a: collections.OrderedDict(x=a))(t.ones(2))).__name__,
    "other things than tensors": lambda t: t.vmap(lambda a: (a, "x", None), out_dims=(0, None, None))(t.ones(2)),
    "one output, in a tuple": lambda t: t.vmap(lambda a: a, out_dims=(1,))(t.ones(2, 3)),
    "text, not told": (lambda t: t.vmap(lambda a: "x")(t.ones(2)), "must only return Tensors, got type <class 'str'>"),
    "in_dims as a list": (lambda t: t.vmap(t.mul, [0, 0])(t.ones(3), t.ones(3)), "expected `in_dims` to be int or a"),
    "too few in_dims": (
        lambda t: t.vmap(t.mul, (0,))(t.ones(3), t.ones(3)),
        "in_dims is not compatible with the structure of `inputs`",
    ),
    "in_dims of text": (
        lambda t: t.vmap(t.sin, ("a",))(t.ones(3)),
        "in_dim must be either an integer dimension or None",
    ),
    "nothing to map": (lambda t: t.vmap(lambda a: t.ones(3), (None,))(1), "at least one Tensor"),
    "too many out_dims": (lambda t: t.vmap(lambda a: a, out_dims=(0, 0))(t.ones(2)), "not compatible"),
    "out_dims of text": (
        lambda t: t.vmap(t.sin, out_dims="x")(t.ones(2)),
        "must be an int, None or a python collection",
    ),
    "an out_dim beyond": (lambda t: t.vmap(t.sin, out_dims=3)(t.ones(2, 3)), "Dimension out of range"),
    "an out_dim below": (lambda t: t.vmap(t.sin, out_dims=-3)(t.ones(2, 3)), "Dimension out of range"),
}


@pytest.mark.parametrize("statement", TABLE)
def test_vmap_does_as_pytorch(statement: str) -> None:
    check(TABLE[statement])
