"""Tests are left out for want of what they import, and for nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine where torch and torchgen are not installed, and all else is."""
    monkeypatch.setattr(needs, "is_there", lambda package: package not in ("torch", "torchgen"))
    needs._imported.cache_clear()
    yield
    needs._imported.cache_clear()


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("import torch.nn\nimport numpy", {"torch"}),
        ("from torchgen.model import FunctionSchema", {"torchgen"}),
        ("from tests.ops import both", {"torch"}),  # which imports it
        ("import numpy\ndef test_a():\n    import torch", set()),
        ("import torchvision", set()),
    ],
)
def test_a_file_is_left_out_for_what_it_imports(text: str, absent: set[str], tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(text)
    assert needs.missing(path) == absent


@pytest.mark.usefixtures("without_torch")
def test_what_stands_in_for_a_module_skips_whoever_reads_it() -> None:
    stand_in = needs.needed("torch")
    assert not hasattr(stand_in, "pytestmark")  # which is asked of everything that stands in a test's file
    with pytest.raises(pytest.skip.Exception, match="torch is not there"):
        stand_in.ones(2)


def test_nothing_is_left_out_in_the_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CI", "1")
    needs.is_there.cache_clear()
    assert needs.is_there("a_package_that_nobody_has")
    needs.is_there.cache_clear()
    monkeypatch.delenv("CI")
    assert not needs.is_there("a_package_that_nobody_has")
    needs.is_there.cache_clear()


@pytest.mark.parametrize(("python", "there"), [((3, 12, 1), True), ((3, 13, 0), False)])
def test_what_has_no_wheel_is_left_out_in_the_ci(
    python: tuple[int, ...], there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "1")
    monkeypatch.setattr(sys, "version_info", python)
    needs.is_there.cache_clear()
    assert needs.is_there("mindspore") is there
    assert needs.is_there("torch")
    needs.is_there.cache_clear()
