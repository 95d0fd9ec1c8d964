"""The benchmarks' own arithmetic: what is a ratio, what meets a target. Nothing here is timed."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import mindtorch_v2
from benchmarks import against, calls, operator_call, report, timing
from benchmarks.against import Comparison
from benchmarks.report import Result

ROOT = Path(__file__).resolve().parents[1]


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


def test_of_two_revisions_the_least_figures_are_compared() -> None:
    turns = [{"a": (2.0, 1.0), "b": (1.0, 9.0)}, {"a": (1.5, 1.2), "b": (4.0, 2.0)}, {"m": (8.0, 8.0)}]
    found = against.least(turns)
    assert found == [Comparison("a", 1.5, 1.0), Comparison("b", 1.0, 2.0), Comparison("m", 8.0, 8.0)]
    assert [item.is_worse(3) for item in found] == [False, True, False]
    assert not Comparison("c", 100, 103).is_worse(3)
    assert Comparison("c", 100, 104).is_worse(3)


def test_a_comparison_is_shown_in_its_unit() -> None:
    out = io.StringIO()
    found = [Comparison("torch.cat([a, b])", 1e-6, 2e-6), Comparison(next(iter(calls.MEMORY)), 400.0, 300.0)]
    against.show(found, "main", False, 3, Console(file=out, width=100))
    lines = out.getvalue().splitlines()
    assert any("torch.cat([a, b])" in line and "1 µs" in line and "2 µs" in line and "2.000" in line for line in lines)
    assert any("400 bytes" in line and "0.750" in line for line in lines)
    assert lines[-1] == "1 of 2 are worse by more than 3 %"
    assert "\n| torch.cat([a, b]) | 1 µs | 2 µs | 2.000 |\n" in against.text(found, "main", False)
    assert Comparison("a", 4619.0, 4700.0).cells(True)[1:] == ("4,619", "4,700", "1.018")


def test_a_revision_is_exported_once(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()

    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", *identity, *words]
        return subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    for text in ("old", "new"):
        (repository / "file").write_text(text)
        git("add", "file")
        git("commit", "--quiet", "--message", text)
    tree = against.export("HEAD~1", tmp_path / "trees", repository)
    assert (tree / "file").read_text() == "old"
    assert tree.name == git("rev-parse", "HEAD~1")[:12]
    (tree / "built").touch()
    assert against.export(git("rev-parse", "HEAD~1"), tmp_path / "trees", repository) == tree
    assert (tree / "built").exists()
    assert [path.name for path in (tmp_path / "trees").iterdir()] == [tree.name]
    with pytest.raises(SystemExit, match="'nothing' is no revision"):
        against.export("nothing", tmp_path / "trees", repository)


def test_every_case_is_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples/scaled_add"))
    runs = calls.calls(mindtorch_v2, mindtorch_v2.add)
    assert {*runs} == {*calls.CASES}
    for case, run in runs.items():
        if case not in operator_call.CASES:  # which are of the example's operator
            run()


@pytest.mark.skipif(not [*ROOT.glob("runtime/mindtorch_v2/_core.*.so")], reason="`make core` was not run in this tree")
def test_a_process_measures_the_runtime_of_its_tree(tmp_path: Path) -> None:
    side = against.Side(ROOT, str(tmp_path), counted=False)
    with side.process(10) as process:
        assert 0 < process.measure("a.view(16)") < 1
        with pytest.raises(RuntimeError, match="'nothing' ended"):
            process.measure("nothing")
    refused = subprocess.run(
        [sys.executable, "-m", "benchmarks.calls", str(tmp_path), "time"], cwd=ROOT, capture_output=True, text=True
    )
    assert "ImportError" in refused.stderr
    assert "a.view" not in refused.stdout
