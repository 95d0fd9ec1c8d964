"""The generator's own ``dataclass``: frozen for the type checker, and a key where it compares equal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mtcodegen.system.values import dataclass
from tests.needs import require

SHIFT = """
from mtcodegen.findings.source import Text

def shift(text: Text) -> None:
    text.start += 1
"""


@dataclass(frozen=True)
class Point:
    """Compares by value."""

    x: int
    y: int = 0


@dataclass(frozen=True, eq=False)
class Node:
    """Compares by identity."""

    x: int


@dataclass
class Counter:
    """Changes."""

    count: int


def test_values_that_compare_equal_are_one_key_and_nodes_are_one_each() -> None:
    assert {Point(1), Point(1, 0), replace(Point(2), x=1)} == {Point(1)}
    assert len({Node(1), Node(1)}) == 2


def test_what_changes_is_no_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))


def test_the_type_checker_refuses_to_change_a_value(tmp_path: Path, repo_root: Path) -> None:
    require("mypy")
    path = tmp_path / "shift.py"
    path.write_text(SHIFT)
    command = [sys.executable, "-m", "mypy", "--strict", path]
    env = {**os.environ, "MYPYPATH": str(repo_root / "codegen")}
    done = subprocess.run(command, cwd=repo_root, env=env, capture_output=True, text=True, check=False)
    assert 'error: Property "start" defined in "Text" is read-only' in done.stdout
