"""Templates are compiled once on a machine, and again where what was kept is damaged or of another text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest

from mtcodegen.targets import render

HELD = "definitions/operator.py.j2"


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Notes the templates that are compiled, with a cache and templates of the test's own."""
    found: list[str] = []
    whole = jinja2.Environment.compile

    def compile_template(self: jinja2.Environment, *arguments: object) -> object:
        found.append(str(arguments[1]))
        return whole(self, *arguments)  # type: ignore[call-overload]

    shutil.copytree(Path(__file__).resolve().parents[2] / "templates", tmp_path / "templates")
    monkeypatch.setattr(render, "data_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(jinja2.Environment, "compile", compile_template)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield found
    render._environment.cache_clear()


def load(compiled: list[str]) -> list[str]:
    """The templates that a new process would compile."""
    render._environment.cache_clear()
    compiled.clear()
    render.load_templates()
    return [*compiled]


def test_a_template_is_compiled_once(compiled: list[str], tmp_path: Path) -> None:
    assert HELD in load(compiled)
    assert load(compiled) == []
    (tmp_path / "templates" / HELD).write_text("another text")
    assert load(compiled) == [HELD]
    assert render._render(HELD, {}) == "another text\n"


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-9], lambda data: data[:-9] + b"123456789"])
def test_a_damaged_file_is_made_again(compiled: list[str], tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    load(compiled)
    for path in (tmp_path / "cache/mtcodegen/templates").iterdir():
        path.write_bytes(damage(path.read_bytes()))
    assert HELD in load(compiled)
    assert load(compiled) == []


def test_no_place_to_keep_them_is_no_fault(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):
        assert HELD in load(compiled)
