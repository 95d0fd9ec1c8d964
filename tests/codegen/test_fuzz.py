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
from benchmarks.soundness import FORMS, Outcome, UnsoundError, check_ours, guarded, undefined_names
from tests.codegen.support import run
from tests.needs import require

SEEDS = 4
MUTANTS = 60


@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutants(seed: int) -> None:
    """As ``python -m benchmarks.mutants``, which runs a hundred thousand."""
    require("torchgen")  # beside which PyTorch's own YAML files lie, which are among those changed
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


def assert_sound(folder: Path, text: str, more: int = 0) -> Outcome:
    with guarded(folder):
        return check_ours(text.encode("utf-8", "surrogatepass"), folder, more)


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


NAMED = """\
namespace: n
library: l.so
ops:
- func: first(Tensor @, int k=0, *, float x=1.0) -> (Tensor a, Tensor b)
  check: '@.dim() == 2'
  fake: [{like: '@'}, {like: '@'}]
  kernels: [{device: cpu, symbol: s, args: ['@', a, b]}]
  backward: {'@': 'grads[0] * @ + a'}
- func: last(Tensor x, *, int @=0) -> (Tensor @2, Tensor y)
  autogen: last.out
  fake: [{like: x}, {like: x}]
  kernels: [{device: cpu, symbol: s, args: [x, '@2', y, 'i32(@)']}]
  backward: {x: 'grads[0] * @ * @2'}
- func: '@(Tensor x, int @) -> (Tensor c, Tensor b)'
  fake: [{like: x}, {like: x}]
  kernels:
  - {device: cpu, symbol: '@', args: [x, c, b, tiling], tiling: {'@': u32(@)}}
  - {device: npu, mindspore: {primitive: Add, args: [x], attrs: {'@': 1}}}
  - {device: cuda, python: '@.@:@'}
  backward: {x: {default: 'n.last(n.first(grads[0])[1], @=3)[0]', npu: 'grads[0]'}}
  examples: [{args: {x: [[1.0]], '@': 2}}]
"""


ODD = ["lambda", "from", "class", "__debug__", "__x", "_", "torch", "grad", "npu", "w" * 99, "w" * 130]


@pytest.mark.parametrize("name", ODD)
def test_any_name(tmp_path, name):
    """What is called like a word of Python, or like something that generated code has, or is long."""
    for more in range(len(FORMS)):
        assert assert_sound(tmp_path, NAMED.replace("@", name), more).accepted


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
