"""`torch.tensor`, `arange`, `cat` and `expand`: what they make of the values and sizes that they are given."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from tests.runtime.both import Case, agree


class Level(enum.IntEnum):
    """Numbers whose class has items."""

    LOW = 3


VALUES: list[Any] = [
    [1.0, 2], [1, 2], [True, False], [True, 2], [1j, 2.0], [], [[1.0, 2], [3, True]], [[], []], 2.5, Level.LOW,
    [Level.LOW], [Level.LOW, 1.5], [[Level.LOW], [1]],
]  # fmt: skip


@pytest.mark.parametrize("values", VALUES, ids=repr)
def test_the_dtype_of_values(values: Any) -> None:
    agree(lambda t: (str(t.tensor(values).dtype), t.tensor(values).tolist()))


BOUNDS: list[tuple[Any, ...]] = [
    (5,), (0,), (2, 7, 2), (7, 2, -2), (2, 2, 3), (-3, 4), (True,), (2**62, 2**62 + 5, 2),
]  # fmt: skip


@pytest.mark.parametrize("bounds", BOUNDS, ids=repr)
@pytest.mark.parametrize("dtype", ["none", "int64", "int32", "float64"])
def test_ranges(bounds: tuple[Any, ...], dtype: str) -> None:
    agree(lambda t: [*(r := t.arange(*bounds, dtype=getattr(t, dtype, None))).tolist(), str(r.dtype)])


SHAPES: dict[str, Case] = {
    "cat": lambda t: t.cat([t.ones(2, 2), t.zeros(1, 2)]),
    "cat with an empty one": lambda t: t.cat([t.ones(0), t.ones(2, 2), t.zeros(1, 2)]),
    "cat of empty ones": lambda t: t.cat([t.ones(0), t.ones(0)]).shape,
    "expand": lambda t: t.ones(2, 1).expand(3, 2, 4).stride(),
    "expand by -1": lambda t: t.ones(2, 1).expand(3, -1, 4).shape,
    "expand in front of one": lambda t: t.ones(2, 3).expand(1, 2, 3).stride(),
    "expand to nothing": lambda t: t.ones(1, 3).expand(0, 3).stride(),
    "expand of nothing": lambda t: t.ones(0, 3).expand(2, 0, 3).shape,
    "expand of a number": lambda t: t.tensor(2.0).expand(2, 3).stride(),
    "expand of columns": lambda t: t.ones(2, 3).t().expand(4, 3, 2).stride(),
    "where of three shapes": lambda t: t.where(t.ones(3, 1) > 0, t.ones(2), t.zeros(1)),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case: str) -> None:
    agree(SHAPES[case])


REFUSED: dict[str, tuple[Case, str]] = {
    "cat of a number": (lambda t: t.cat([t.ones(2), t.tensor(1.0)]), "zero-dimensional tensor (at position 1)"),
    "expand to fewer": (lambda t: t.ones(2, 1).expand(2), "must be greater or equal to the number of dimensions"),
    "expand of 2 to 3": (lambda t: t.ones(2).expand(3), "must match the existing size (2)"),
    "expand below 0": (lambda t: t.ones(1).expand(-2), ""),
    "expand in front by -1": (
        lambda t: t.ones(2).expand(-1, 2),
        "isn't allowed in a leading, non-existing dimension 0",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    agree(*REFUSED[case])
