"""What runs PyTorch's test files: absent names, processes, what applies, the page. Nothing of PyTorch is fetched."""

from __future__ import annotations

import faulthandler
import types
import unittest
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from benchmarks.pytorch_tests import absent, page, results
from benchmarks.pytorch_tests.child import Runner
from benchmarks.pytorch_tests.results import Excluded, Record

SOURCE = """
import unittest
import torchvision.nowhere as gone
from torchvision.nowhere import deeper

@gone.decorator(deeper.value | None)
def decorated():
    return 1

class Case(gone.Base[int]):
    kept = [one for one in deeper]
    flag = bool(gone)
    number = gone.f(3).g

def outside(default=deeper.number):
    return isinstance(1, deeper), default
"""


@pytest.fixture
def collecting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent, "_collecting", True)


def imported(text: str, tool: bool = False) -> types.ModuleType:
    module = types.ModuleType("made")
    absent.run(absent.forgiving(text, "made.py", tool), module)
    return module


def test_absent_names_do_not_end_an_import_and_fail_what_uses_them(collecting: None) -> None:
    module = imported(SOURCE)
    assert (module.Case.kept, module.Case.flag) == ([], False)
    assert module.outside()[0] is False
    absent.collected()
    for use in (module.decorated, module.Case, module.Case.number, lambda: module.gone.f, lambda: list(module.gone)):
        with pytest.raises(absent.AbsentName, match=r"torchvision\.nowhere"):
            use()


def test_code_of_functions_is_forgiven_in_tools_alone(collecting: None) -> None:
    text = "import math\ndef f():\n    return math.nowhere"
    with pytest.raises(AttributeError):
        imported(text).f()
    tool = imported(text, tool=True)
    assert repr(tool.f()) == "math.nowhere"
    absent.collected()
    with pytest.raises(AttributeError):
        tool.f()


class Sample(unittest.TestCase):
    """Tests of every ending; they run in processes of their own, by `Runner`."""

    def passes(self) -> None:
        pass

    def fails(self) -> None:
        raise AssertionError("1 is not 2")

    def skips(self) -> None:
        self.skipTest("not here")

    def crashes(self) -> None:
        import os

        os.abort()

    def hangs(self) -> None:
        import time

        time.sleep(60)

    def lacks(self) -> None:
        raise absent.AbsentName("absent: torch.nothing")


NAMES = ("passes", "fails", "skips", "crashes", "hangs", "lacks")


@pytest.mark.parametrize("together", [1, 6])
def test_every_ending_is_told_apart_and_the_rest_goes_on(together: int) -> None:
    faulthandler.cancel_dump_traceback_later()  # pytest's, whose thread a forked process waits for without end
    runner = Runner({name: (Sample, name) for name in NAMES}, __file__, limit=1.5)
    found = {record["test"]: record for record in runner.run(together, jobs=2)}
    status = {name: found[name]["status"] for name in NAMES}
    assert status == dict(zip(NAMES, ("pass", "fail", "skip", "crash", "hang", "fail"), strict=True))
    assert found["crashes"]["kind"] == "signal 6"
    assert found["fails"]["message"] == "1 is not 2"
    assert "raise AssertionError" in found["fails"]["at"]
    assert results.reason(Record(**found["lacks"])) == "missing torch.nothing"


def records(**status: str) -> Mapping[str, Record]:
    return {test: Record(test, found) for test, found in status.items()}


def test_what_applies() -> None:
    table = [Excluded("compiles", {"a.py": ("T.compile*",)}), Excluded("elsewhere", {"b.py": ("*",)})]
    peer = records(**{"T.compile1": "pass", "T.x": "pass", "T.y": "pass", "T.old": "fail", "T.gone": "pass"})
    ours = records(**{"T.compile1": "pass", "T.x": "pass", "T.y": "crash", "T.old": "pass"})
    found = results.outcome("a.py", ours, peer, table)
    assert found.passing == ("T.x",)
    assert {test: record.status for test, record in found.failing.items()} == {"T.y": "crash", "T.gone": "never made"}
    assert found.excluded == {"T.compile1": "compiles"}
    assert (found.peer_fails, found.applicable, found.share) == (1, 3, 1 / 3)
    text = page.text([found], "1.0", "2020-01-01", "2.0")
    assert "| `a.py` | 1 | 3 | 33.3% | 1 | 1 |" in text
    assert "| 1 | compiles |" in text
    assert "| 1 | the test is not made | `a.py: T.gone` |" in text


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("absent: torch.a.b()", "missing torch.a.b"),
        ("module 'mindtorch_v2.x' has no attribute 'y'", "missing torch.x.y"),
        ("RuntimeError not raised", "RuntimeError not raised"),
        ("Tensor-likes are not close!", "another value"),
        ("at 0x7f12 there are 31 of them\nand more", "E: at # there are # of them"),
    ],
)
def test_reasons_are_counted_by_what_is_alike(message: str, reason: str) -> None:
    assert results.reason(Record("t", "fail", kind="E", message=message)) == reason


def test_the_table_of_exclusions_is_well_formed() -> None:
    entries: list[dict[str, Any]] = yaml.safe_load(results.TABLE.read_text())
    reasons = [entry["reason"] for entry in entries]
    assert len(set(reasons)) == len(reasons)
    for one in results.exclusions():
        assert all(
            file.endswith(".py") and names and len(set(names)) == len(names) for file, names in one.tests.items()
        )
        assert not any(pattern in ("*", "*.*") for names in one.tests.values() for pattern in names)
