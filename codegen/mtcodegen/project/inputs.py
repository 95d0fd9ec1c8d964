"""Which files to read and where their modules go: from the command line and from pyproject.toml."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mtcodegen.project.pyproject import UsageError, check_keys, find_section
from mtcodegen.targets.target import FORMS, Input, Target

__all__ = ["find_targets", "is_listed", "package_name", "whole_folders"]


@dataclass(frozen=True)
class _Configured:
    """A target of pyproject.toml, with absolute paths."""

    inputs: tuple[pathlib.Path, ...]
    output: pathlib.Path
    form: str


def find_targets(files: Sequence[str], output: str | None, form: str | None = None) -> list[Target]:
    """What to generate. ``form`` is one of ``FORMS``; None is what pyproject.toml says, or modules for mindtorch.

    Raises UsageError for a file that is not there.
    """
    if not files:
        return _all_configured(output, form)
    found: dict[pathlib.Path, list[Input]] = {}
    packages: dict[pathlib.Path, str] = {}
    for name in files:
        path = pathlib.Path(name)
        inputs = _expand(path, name)
        configured = _configured_output(path, form or _DEFAULT)
        folder = pathlib.Path(output) if output is not None else configured or _beside(path, form or _DEFAULT)
        _check_folder(folder)
        if path.is_dir():
            packages[folder] = package_name(path.resolve())
        listed = found.setdefault(folder, [])
        known = {item.path.resolve() for item in listed}
        listed += [item for item in inputs if item.path.resolve() not in known]
    return [
        Target(tuple(inputs), folder, packages.get(folder, ""), form or _DEFAULT) for folder, inputs in found.items()
    ]


def whole_folders(files: Sequence[str]) -> list[pathlib.Path]:
    """The folders all of whose files are meant, so that one that is gone is missed."""
    if files:
        return [pathlib.Path(name).resolve() for name in files if pathlib.Path(name).is_dir()]
    return [path for target in _configured(pathlib.Path.cwd()) for path in target.inputs if path.is_dir()]


def is_listed(name: str) -> bool:
    """Whether a folder stands for this file in it: a hidden one is a tool's, and could name no module."""
    return name.endswith(".yaml") and not name.startswith(".")


def _expand(path: pathlib.Path, name: str) -> list[Input]:
    """A file, or the YAML files of a folder."""
    if not path.is_dir():
        try:
            path.stat()
        except FileNotFoundError:
            raise UsageError(f"{name}: no such file") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"{name}: {error.strerror if isinstance(error, OSError) else error}") from None
        return [Input(path, name)]
    found = sorted(item for item in path.iterdir() if is_listed(item.name) and item.is_file())
    if not found:
        raise UsageError(f"{name}: no *.yaml files in this folder")
    return [Input(item, os.path.join(name, item.name)) for item in found]  # noqa: PTH118  (as the user wrote it)


def package_name(folder: pathlib.Path) -> str:
    """A folder's name as generated files say it, where a line end or a quote would be more than a name."""
    return re.sub(r"[^\w .,'()+-]", "_", folder.name)


def _check_folder(folder: pathlib.Path) -> None:
    try:
        folder.resolve()
    except (OSError, RuntimeError):  # what Python 3.10 to 3.12 say of a loop
        raise UsageError(f"{folder}: a loop of symbolic links") from None


def _beside(path: pathlib.Path, form: str) -> pathlib.Path:
    return (path if path.is_dir() else path.parent) / _FOLDERS.get(form, f"generated_{form}")


_DEFAULT = "mindtorch"
_FOLDERS = {"mindtorch": "generated", "pyi": "generated"}  # a stub lies beside its module


# ---------------------------------------------------------------- pyproject.toml


def _configured_output(path: pathlib.Path, form: str) -> pathlib.Path | None:
    """The output folder of the target of this form that lists ``path``, or the folder that ``path`` is in."""
    absolute = path.resolve()
    for target in _configured(absolute if absolute.is_dir() else absolute.parent):
        if target.form == form and (absolute in target.inputs or absolute.parent in target.inputs):
            return _relative(target.output)
    return None


def _all_configured(output: str | None, form: str | None) -> list[Target]:
    targets = [target for target in _configured(pathlib.Path.cwd()) if form in (None, target.form)]
    if not targets and form is not None and any(_configured(pathlib.Path.cwd())):
        raise UsageError(f'no files given, and no [[tool.mtcodegen.target]] has `form = "{form}"`')
    if not targets:
        raise UsageError(
            "no files given, and no [[tool.mtcodegen.target]] in a pyproject.toml here; see mtcodegen --help"
        )
    if output is not None:
        raise UsageError("-o needs files")
    result = []
    for target in targets:
        inputs = [item for path in target.inputs for item in _expand(_relative(path), str(_relative(path)))]
        folders = [package_name(path) for path in target.inputs if path.is_dir()]
        result.append(Target(tuple(inputs), _relative(target.output), folders[0] if folders else "", target.form))
    return result


def _relative(path: pathlib.Path) -> pathlib.Path:
    """As seen from the current folder, where that is below or beside it."""
    return pathlib.Path(os.path.relpath(path))


def _configured(folder: pathlib.Path) -> Iterator[_Configured]:
    """The targets of the nearest pyproject.toml that has a section for this tool."""
    found = find_section(folder)
    if found is not None:
        entries = found[1].get("target", [])
        for entry in entries if isinstance(entries, list) else [None]:
            yield _target(found[0], entry)


def _target(path: pathlib.Path, entry: Any) -> _Configured:
    table: dict[str, Any] = entry if isinstance(entry, dict) else {}
    inputs, output = table.get("inputs", []), table.get("output", "")
    names = [*inputs, output] if isinstance(inputs, list) and inputs else [""]
    if not all(isinstance(name, str) and name and "\0" not in name for name in names):
        raise UsageError(f'{path}: a [[tool.mtcodegen.target]] needs `inputs = ["..."]` and `output = "..."`')
    check_keys(path, "a [[tool.mtcodegen.target]]", table, ("inputs", "output", "form"))
    form = table.get("form", _DEFAULT)
    if form not in FORMS:
        raise UsageError(f"{path}: `form` of a [[tool.mtcodegen.target]] must be one of {', '.join(FORMS)}")
    folders = tuple((path.parent / item).resolve() for item in inputs)
    return _Configured(folders, (path.parent / output).resolve(), form)
