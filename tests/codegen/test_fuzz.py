"""Whatever a file says: no traceback, no hang, no code that does not compile, nothing written outside the folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks.mutants import check
from benchmarks.soundness import UnsoundError, check_ours, guarded, undefined_names
from tests.codegen.support import run

SEEDS = 4
MUTANTS = 60


@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutants(seed: int) -> None:
    """As ``python -m benchmarks.mutants``, which runs a hundred thousand."""
    for number in range(MUTANTS):
        _, outcome = check(seed, number)
        assert outcome.accepted or outcome.codes


def test_a_rule_that_is_broken_is_seen(tmp_path: Path) -> None:
    """The checks check something: each of these does what nothing may do."""
    inside = tmp_path / "inside"
    inside.mkdir()
    runs: dict[str, Callable[[], object]] = {
        "still not done": lambda: time.sleep(5),
        "executed code": lambda: exec("1 + 1"),
        "os.system": lambda: os.system("true"),
        "to write": lambda: (tmp_path / "outside").write_text(""),
    }
    for what, run_ in runs.items():
        with pytest.raises(UnsoundError, match=what), guarded(inside, 0.05):
            run_()
    assert undefined_names("import a\ndef f(x):\n    return a.b(x, y)\n") == {"y"}


def assert_sound(folder: Path, text: str) -> None:
    with guarded(folder):
        check_ours(text.encode("utf-8", "surrogatepass"), folder)


@given(st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_text(tmp_path, text):
    assert_sound(tmp_path, text)


@example("\x00", "doc")  # Python refuses it in a source
@given(st.text(st.characters(codec="utf-8"), max_size=60), st.sampled_from(["doc", "func", "check", "tags", "since"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_value(tmp_path, text, key):
    import json

    good = {"func": "f(Tensor x) -> Tensor", "fake": {"like": "x"}, "kernels": [{"device": "cpu", "python": "m:f"}]}
    entry = {**good, "backward": "not_differentiable", key: text}
    assert_sound(tmp_path, json.dumps({"namespace": "n", "ops": [entry]}))


_LONG = "x" * 300_000
_HEAD = "namespace: n\nops:\n- func: f(Tensor x) -> Tensor\n"


@pytest.mark.parametrize(
    "text",
    [
        f"doc: {_LONG}",
        f"[{_LONG}]",
        f"- func: {_LONG}(Tensor x) -> Tensor",
        "[" + "a," * 20_000 + "]",
        f"{_HEAD}  check: '{'x+' * 100_000}x'\n",
        f"{_HEAD}  check: '{'-' * 9_000}x'\n",
        f"{_HEAD}  ? {_LONG}\n  : 1\n",
    ],
    ids=["key", "item", "name", "many items", "expression", "signs", "unknown key"],
)
def test_a_huge_file_gets_a_finding_too(tmp_path, text):
    shown = run(tmp_path, text)[1]
    assert "error[" in shown
    assert len(shown) < 3 * len(text) + 100_000
