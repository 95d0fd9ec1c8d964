"""Arguments by other names than the schemas': `input`, and what NumPy calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.both import agree

CALLS: dict[str, Callable[[Any], Any]] = {
    "input": lambda torch: torch.abs(input=torch.ones(1)),
    "input of several overloads": lambda torch: torch.add(input=torch.ones(2), other=1),
    "axis": lambda torch: torch.cat([torch.ones(2, 3)], axis=1).shape,
    "axis of a method": lambda torch: torch.ones(2, 3).softmax(axis=1),
    "axis of several overloads": lambda torch: torch.ones(2, 3).max(axis=1).values,
    "axis of a namespace": lambda torch: torch.linalg.norm(torch.ones(2, 3), axis=1),
    "keepdims": lambda torch: torch.sum(torch.ones(2, 3), axis=1, keepdims=True).shape,
    "x2": lambda torch: torch.add(torch.ones(2), x2=1),
    "x": lambda torch: torch.abs(x=torch.ones(1)),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "by both names": lambda torch: torch.sum(torch.ones(2, 3), axis=1, dim=1),
    "what has no dim": lambda torch: torch.flip(torch.ones(2, 3), axis=[1]),
    "torch.ops": lambda torch: torch.ops.aten.cat([torch.ones(2, 3)], axis=1),
    "torch.ops's input": lambda torch: torch.ops.aten.abs(input=torch.ones(1)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arguments_by_other_names(call: Callable[[Any], Any]) -> None:
    agree(call)


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_names_that_are_refused(call: Callable[[Any], Any]) -> None:
    agree(call, "")
