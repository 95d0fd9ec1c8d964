"""The section ``[tool.mtcodegen]`` of a project's pyproject.toml."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Collection, Mapping
from typing import Any

from mtcodegen.findings.diagnostics import suggest
from mtcodegen.system.values import dataclass

__all__ = ["LintSettings", "UsageError", "check_keys", "find_section", "lint_settings"]

_KEYS = ("generate", "lint")


class UsageError(Exception):
    """The command line or pyproject.toml asks for something that cannot be done."""


@dataclass(frozen=True)
class LintSettings:
    """Which rules `lint` follows where the command line does not say: ``select``, or all, but for ``ignore``."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()


def find_section(folder: pathlib.Path) -> tuple[pathlib.Path, Mapping[str, Any]] | None:
    """The nearest pyproject.toml, at or above ``folder``, that has the section, and the section.

    Raises UsageError where it is not TOML, or says something that this tool does not know.
    """
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        section = _read(path) if path.is_file() else None
        if section is not None:
            check_keys(path, "[tool.mtcodegen]", section, _KEYS)
            return path, section
    return None


def lint_settings(folder: pathlib.Path) -> LintSettings:
    """What the nearest pyproject.toml says of `lint` for the files of ``folder``."""
    found = find_section(folder)
    lint = found[1].get("lint", {}) if found is not None else {}
    if found is None or not lint:
        return LintSettings()
    if not isinstance(lint, dict):
        raise UsageError(f"{found[0]}: [tool.mtcodegen.lint] must be a table")
    check_keys(found[0], "[tool.mtcodegen.lint]", lint, ("select", "ignore"))
    for key, value in lint.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{found[0]}: `{key}` of [tool.mtcodegen.lint] must be a list of codes, each in quotes")
    return LintSettings(tuple(lint["select"]) if "select" in lint else None, tuple(lint.get("ignore", ())))


def check_keys(path: pathlib.Path, title: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise UsageError for a key that is not known: a misspelt one would be ignored."""
    for key in table:
        if key not in known:
            hint = suggest(key, known) or f"known are {', '.join(known)}"
            raise UsageError(f"{path}: {title} has no key `{key}`; {hint}")


def _read(path: pathlib.Path) -> dict[str, Any] | None:
    text = path.read_text("utf-8", "replace")
    if "mtcodegen" not in text:  # saves the import of a TOML reader for most projects' files
        return None
    toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        tools = toml.loads(text).get("tool")
    except toml.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    section: dict[str, Any] | None = tools.get("mtcodegen") if isinstance(tools, dict) else None
    if section is not None and not isinstance(section, dict):
        raise UsageError(f"{path}: [tool.mtcodegen] must be a table; what to generate is a [[tool.mtcodegen.generate]]")
    return section
