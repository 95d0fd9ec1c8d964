"""Indices that differ from sample to sample of `vmap`, and the mode that makes numbers among indices tensors."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise


def set_zero(x: Any, i: Any) -> Any:
    x = x.clone()
    x[i, 1] = 0.0
    return x


CASES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "two": lambda t, x, i, j: t.vmap(lambda i, j: x[i, j])(i, j),
    "one": lambda t, x, i, j: t.vmap(lambda i: x[i])(i),
    "before a slice": lambda t, x, i, j: t.vmap(lambda i: x[i, :, 1])(i),
    "behind a slice": lambda t, x, i, j: t.vmap(lambda i: x[:, i])(i),
    "around a slice": lambda t, x, i, j: t.vmap(lambda i, j: x[i, :, j])(i, j),
    "with None": lambda t, x, i, j: t.vmap(lambda i: x[None, i])(i),
    "of samples": lambda t, x, i, j: t.vmap(lambda x, i: x[i])(x, i[:2]),
    "from the end": lambda t, x, i, j: t.vmap(lambda i: x[i - 2])(i),
    "twice": lambda t, x, i, j: t.vmap(lambda i: t.vmap(lambda j: x[i, j])(j))(i),
    "written": lambda t, x, i, j: t.vmap(set_zero)(x, i[:2]),
    "the end of a slice": lambda t, x, i, j: t.vmap(lambda i: x[i:])(i),
    "beyond": lambda t, x, i, j: t.vmap(lambda i: x[i + 5])(i),
}


@pytest.mark.parametrize("name", CASES)
def test_an_index_of_each_sample(name: str) -> None:
    def case(t: Any) -> Any:
        return CASES[name](t, t.arange(24.0).reshape(2, 3, 4), t.tensor([0, 1, 1]), t.tensor([1, 2, 0]))

    agree_or_raise(case)


INDICES: dict[str, Callable[[Any], Any]] = {
    "a tensor": lambda t: t.tensor(1),
    "a list of tensors": lambda t: [t.tensor(1), t.tensor(0)],
    "a tensor and a number": lambda t: (t.tensor(1), 2),
    "numbers": lambda t: [0, 1],
    "a number": lambda t: 1,
    "a truth value": lambda t: (True, t.tensor(1)),
    "a mask": lambda t: t.tensor([True, False]),
    "a slice": lambda t: (t.tensor(1), slice(None)),
    "None": lambda t: (None, t.tensor(1)),
    "too many": lambda t: (t.tensor(1), [0, 1]),
    "a float": lambda t: t.tensor(1.0),
}


@pytest.mark.parametrize("name", INDICES)
def test_numbers_become_tensors(name: str) -> None:
    def case(t: Any) -> Any:
        seen = []

        class Names(t.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(getattr(func, "__name__", ""))
                return func(*args, **(kwargs or {}))

        mode = import_module(f"{t.__name__}._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
        x, index = t.arange(6).reshape(2, 3), INDICES[name](t)
        with Names(), mode():
            picked = x[index]
        return picked, [one for one in seen if one in ("index", "__getitem__")]

    agree_or_raise(case)


def test_samples_that_index_by_themselves() -> None:
    def case(t: Any) -> Any:
        mode = import_module(f"{t.__name__}._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex
        mask = t.arange(12).reshape(3, 4) % 2 == 0
        with mode():
            return t.vmap(lambda b, q: mask[b, q] & (q > 1))(t.tensor([0, 1, 2]), t.tensor([3, 2, 0]))

    agree(case)
