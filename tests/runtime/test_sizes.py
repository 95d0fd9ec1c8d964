"""``torch.Size`` is a tuple of ints, and stays one; devices compare with devices alone."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.runtime.both import agree

CASES: dict[str, Callable[[Any], Any]] = {
    "a tuple behind": lambda t: operator.add(t.Size([2, 3]), (1,)),
    "a tuple before": lambda t: operator.add((1,), t.Size([2, 3])),
    "a size": lambda t: t.Size([2]) + t.Size([3]),
    "repeated": lambda t: (t.Size([2]) * 2, 2 * t.Size([3])),
    "a slice": lambda t: t.Size([2, 3])[:1],
    "what is an int": lambda t: list(t.Size([True, t.tensor(2)])),
    "no tuple": lambda t: t.Size([2]).__add__(3),
    "a device and something else": lambda t: (t.device("cpu").__eq__(3), t.device("cpu").__ne__("cpu")),
    "a device and a string": lambda t: (t.device("cpu") == "cpu", t.device("cpu") != "cpu"),
    "devices": lambda t: (t.device("cpu") == t.device("cpu:0"), t.device("cpu") == t.device("cpu")),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes(name: str) -> None:
    agree(lambda torch: (kind(CASES[name](torch)), CASES[name](torch)))


def kind(value: Any) -> str:
    return type(value).__name__


@pytest.mark.parametrize("items", ["ab", [1.5], [None], [[1]]], ids=str)
def test_what_is_no_size(items: Any) -> None:
    agree(lambda torch: torch.Size(items), "torch.Size() takes an iterable of 'int' (item 0 is")
