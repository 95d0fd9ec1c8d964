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
        (Result("m", 80.2, 188.0, "p", 1.0, report.mebibytes), ("m", "80 MiB", "188 MiB", "p", "1/2.34", "≤ 1", "yes")),
        (Result("n", 1.012, None, "", 1.04, report.number), ("n", "1.01", "", "", "", "≤ 1.04", "yes")),
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


def test_a_pair_is_of_one_round() -> None:
    ours, peer = iter([1.0, 4.0, 3.0]), iter([20.0, 40.0, 36.0])
    assert timing.paired(3, lambda: next(ours), lambda: next(peer)) == (3.0, 36.0)
    ours, peer = iter([1.0, 2.0, 9.0]), iter([10.0, 40.0, 60.0])  # a spell that slows one side of the last round
    assert timing.paired(3, lambda: next(ours), lambda: next(peer)) == (1.0, 10.0)


def test_the_written_table_is_the_shown_one(tmp_path: Path) -> None:
    result = Result("a", 1e-6, 2e-5, "p", 1 / 10)
    report.write([result], tmp_path / "benchmarks.md")
    text = (tmp_path / "benchmarks.md").read_text()
    assert f"| {' | '.join(result.cells())} |" in text
    assert "python -m benchmarks" in text


def test_sections_of_other_commands_stay(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    report.write([], path)
    report.write_section("One", "old\n", path)
    report.write_section("Two", "2\n", path)
    report.write_section("One", "new\n", path)
    report.write([], path)
    assert path.read_text().endswith("\n## One\n\nnew\n\n## Two\n\n2\n")
    assert path.read_text().count("# Benchmarks") == 1
