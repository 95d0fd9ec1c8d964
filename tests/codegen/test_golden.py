"""What is made of the files in ``golden/``, a folder a case, for every target: exactly what lies beside them.

``python -m tests.codegen.test_golden`` writes it anew.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from mtcodegen.targets.target import TARGETS
from tests.codegen.support import run

GOLDEN = Path(__file__).parent / "golden"
DOUBLE = (GOLDEN / "launch" / "input.yaml").read_text("utf-8")  # a file for whoever needs one
CASES = sorted(path.parent.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("input.yaml"))


def made(case: str, target: str, folder: Path) -> dict[str, str]:
    """A case's files for a target, without what is the same for all; and what was found."""
    files, shown = run(folder, (GOLDEN / case / "input.yaml").read_text("utf-8"), target=target)
    own = {name: text for name, text in files.items() if not name.startswith("_") and name != "index.html"}
    return own | ({"findings": shown} if shown else {})


def expected(case: str, target: str) -> dict[str, str]:
    """What lies there; `.txt`, so that no tool takes it for a part of the project."""
    paths = sorted((GOLDEN / case / target).glob("*.txt"))
    return {path.name.removesuffix(".txt"): path.read_text("utf-8") for path in paths}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_what_is_made(case: str, target: str, tmp_path: Path) -> None:
    assert made(case, target, tmp_path) == expected(case, target)


def test_every_folder_is_a_case() -> None:
    """A folder that nobody reads would say nothing; nor does a case that nothing is made of."""
    assert {path.name for path in GOLDEN.iterdir() if path.is_dir()} == {case.partition("/")[0] for case in CASES}
    for case in CASES:
        assert {path.name for path in (GOLDEN / case).iterdir()} == {"input.yaml", *TARGETS}
        assert any(name.endswith(".py") for name in expected(case, "mindtorch"))


def rewrite() -> None:
    """Writes what is made now."""
    for case in CASES:
        for target in TARGETS:
            folder = GOLDEN / case / target
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            with tempfile.TemporaryDirectory() as scratch:
                for name, text in made(case, target, Path(scratch)).items():
                    (folder / f"{name}.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    rewrite()
