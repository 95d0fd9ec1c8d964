"""A share of what `python -m benchmarks.conformance` compares: every entry of OpInfo that is present, a few samples."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.needs import needed
from tests.ops.node_names import COMPOSED, COMPOSED_OPERATORS, name_of

needed("torch")
pytest.importorskip("expecttest")

from benchmarks import opinfo  # noqa: E402

PRESENT = {opinfo.title(info): info for info in opinfo.entries() if opinfo.find(info.name) is not None}
SAMPLES = 3


def names_differ(mine: Any, theirs: Any) -> str:
    names = name_of(theirs), name_of(mine)
    return "" if names[0] == names[1] or names in COMPOSED else f"the node is {names[1]}, not {names[0]}"


def no_names(mine: Any, theirs: Any) -> str:
    return ""


def faults(outcomes: Any) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [f"{one.kind}: {one.fault}" for one in outcomes if one.fault]


@pytest.mark.parametrize("name", PRESENT)
def test_samples(name: str) -> None:
    info = PRESENT[name]
    if opinfo.pytorch.float32 not in info.supported_dtypes("cpu"):
        pytest.skip("not of float32")
    composed = info.name.removeprefix("nn.functional.") in COMPOSED_OPERATORS
    assert not faults(opinfo.run(info, "float32", SAMPLES, no_names if composed else names_differ))


@pytest.mark.parametrize("name", [name for name, info in PRESENT.items() if info.error_inputs_func is not None])
def test_error_inputs(name: str) -> None:
    assert not faults(opinfo.error_inputs(PRESENT[name]))


def test_rows_of_the_table_are_of_entries_that_there_are() -> None:
    names = {word for info in opinfo.entries() for word in (info.name, opinfo.title(info))}
    assert {row.name for row in opinfo.skips()} <= names
