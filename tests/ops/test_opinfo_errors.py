"""What PyTorch's OpInfo says must raise, of every built-in operator that it describes: the same class of error."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.ops.test_opinfo import LEFT_OUT, converted, find, op_db, title

# Overloads that are not declared: with a tensor for an int, with a list of dimensions, and `arange` with `out`.
UNDECLARED = {"narrow", "movedim", "arange"}
DESCRIBED = {
    title(info): info
    for info in op_db
    if info.error_inputs_func is not None
    and info.name not in LEFT_OUT | UNDECLARED
    and not info.name.startswith("__r")  # OpInfo calls these in a way of its own
    and find(info.name) is not None
}


def call(function: Any, sample: Any, change: Any = lambda value: value) -> BaseException | None:
    try:
        function(change(sample.input), *change(tuple(sample.args)), **change(dict(sample.kwargs)))
    except Exception as caught:
        return caught
    return None


def summary(sample: Any) -> str:
    return repr(sample.summary())[:300]


@pytest.mark.filterwarnings("ignore:Using a target size")  # the losses, of sizes that differ
@pytest.mark.parametrize("name", DESCRIBED)
def test_error_inputs(name: str) -> None:
    info = DESCRIBED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = list(info.error_inputs("cpu"))
    compared = 0
    for error_input in inputs:
        sample = error_input.sample_input
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = call(info.op, sample)
        if theirs is None:
            continue
        known: dict[int, Any] = {}
        mine = call(find(info.name), sample, lambda value, known=known: converted(value, known))
        assert mine is not None, f"{summary(sample)}: {theirs!r}"
        assert isinstance(mine, type(theirs)), f"{summary(sample)}: {mine!r}, not {theirs!r}"
        compared += 1
    assert compared > 0 or not inputs
