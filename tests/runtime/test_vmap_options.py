"""`vmap`'s arguments beside PyTorch's: nested dimensions, keywords, chunks."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.semantics import Entry, check


def x(t: Any) -> Any:
    return t.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def chunks(t: Any, chunk_size: int) -> Any:
    calls: list[int] = []

    def function(a: Any, b: Any) -> Any:
        calls.append(1)
        return a * b, (b - a).sum()

    return t.vmap(function, in_dims=(0, None), out_dims=(1, 0), chunk_size=chunk_size)(x(t), t.ones(2)), len(calls)


def drawn(t: Any, draw: Any, randomness: str) -> Any:
    result = t.vmap(lambda a: draw(a) + 0 * a, randomness=randomness)(x(t))
    return tuple(result.shape), bool((result[0] == result[1]).all())


RANDOM = "vmap: called random operation while in randomness error mode."
TABLE: dict[str, Entry] = {
    "dict": lambda t: t.vmap(lambda d: d["a"] * d["b"], in_dims=({"a": 0, "b": None},))({"a": x(t), "b": t.ones(2)}),
    "keywords are not mapped": lambda t: t.vmap(lambda a, k: a * k)(x(t), k=t.ones(3, 2) * 3),
    "empty": lambda t: t.vmap(lambda a: a * 2)(t.ones(0, 3)),
    "chunks of 1": lambda t: chunks(t, 1),
    "chunks of 2": lambda t: chunks(t, 2),
    "one chunk": lambda t: chunks(t, 7),
    "chunks along another dimension": lambda t: t.vmap(lambda a: a.sum(), in_dims=1, chunk_size=1)(x(t)),
    "rand, different": lambda t: drawn(t, lambda a: t.rand(2), "different"),
    "rand, same": lambda t: drawn(t, lambda a: t.rand(2), "same"),
    "randn of a tuple, different": lambda t: drawn(t, lambda a: t.randn((2,)), "different"),
    "rand, not told": (lambda t: drawn(t, lambda a: t.rand(2), "error"), RANDOM),
    "rand_like, not told": (lambda t: drawn(t, t.rand_like, "error"), RANDOM),
    "rand_like, different": lambda t: drawn(t, t.rand_like, "different"),
    "dropout, not told": (lambda t: drawn(t, lambda a: t.nn.functional.dropout(a, 0.5), "error"), RANDOM),
    "no samples": lambda t: t.vmap(t.sin)(t.zeros(0, 3)),
    "no samples, one after the other": lambda t: t.vmap(lambda a: a @ t.ones(4, 2), 1)(t.zeros(3, 0, 4)),
    "jacfwd at nothing": lambda t: t.func.jacfwd(t.sin)(t.zeros(0)),
    "hessian at nothing": lambda t: t.func.hessian(lambda a: a * 2)(t.zeros(0)),
    "jacrev at nothing": lambda t: t.func.jacrev(t.exp)(t.zeros(0)),
    "no chunk": (
        lambda t: t.vmap(lambda a: a, chunk_size=0)(x(t)),
        "vmap: chunk_size should be None or greater than 0. (got 0)",
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_vmap(name: str) -> None:
    check(TABLE[name])
