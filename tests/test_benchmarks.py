"""The benchmarks' own arithmetic: what is a ratio, what meets a target. Nothing here is timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import report, timing
from benchmarks.report import Result


@pytest.mark.parametrize(
    ("result", "cells"),
    [
        (Result("a", 1e-6, 2e-5, "p", 1 / 10), ("a", "1 µs", "20 µs", "p", "1/20", "≤ 1/10", "yes")),
        (Result("b", 2.01e-7, 6e-7, "p", 1 / 3), ("b", "201 ns", "600 ns", "p", "1/2.99", "≤ 1/3", "no")),
        (Result("c", 0.25, None, "", 0.3), ("c", "250 ms", "", "", "", "≤ 300 ms", "yes")),
        (Result("d", 1.5, None, "", 0.5), ("d", "1.5 s", "", "", "", "≤ 500 ms", "no")),
    ],
)
def test_a_row(result: Result, cells: tuple[str, ...]) -> None:
    assert result.cells() == cells


def test_contestants_take_turns_and_medians_are_theirs() -> None:
    turns: list[str] = []
    figures = {"a": iter([3.0, 1.0, 2.0]), "b": iter([9.0, 7.0, 8.0])}

    def measure(name: str) -> float:
        turns.append(name)
        return next(figures[name])

    medians = timing.interleaved({"a": lambda: measure("a"), "b": lambda: measure("b")}, rounds=3)
    assert medians == {"a": 2.0, "b": 8.0}
    assert turns == ["a", "b"] * 3


def test_the_written_table_is_the_shown_one(tmp_path: Path) -> None:
    result = Result("a", 1e-6, 2e-5, "p", 1 / 10)
    report.write([result], tmp_path / "benchmarks.md")
    text = (tmp_path / "benchmarks.md").read_text()
    assert f"| {' | '.join(result.cells())} |" in text
    assert "python -m benchmarks" in text
