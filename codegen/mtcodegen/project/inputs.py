"""Which files to read and where their modules go: from the command line and from pyproject.toml."""

from __future__ import annotations

import errno
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mtcodegen.project.pyproject import UsageError, check_keys, find_section
from mtcodegen.system.values import dataclass
from mtcodegen.targets.job import Input, Job
from mtcodegen.targets.target import DEFAULT, TARGETS

__all__ = ["find_jobs", "is_listed", "package_name", "whole_folders"]


@dataclass(frozen=True)
class _Configured:
    """A job of pyproject.toml, with absolute paths."""

    inputs: tuple[pathlib.Path, ...]
    output: pathlib.Path
    target: str


def find_jobs(files: Sequence[str], output: str | None, target: str | None = None) -> list[Job]:
    """What to generate. ``target`` is one of ``TARGETS``; None is what pyproject.toml says, or the default one.

    Raises UsageError for a file that is not there.
    """
    if not files:
        return _all_configured(output, target)
    found: dict[pathlib.Path, list[Input]] = {}
    packages: dict[pathlib.Path, str] = {}
    for name in files:
        path = pathlib.Path(name)
        inputs = _expand(path, name)
        configured = _configured_output(path, target or DEFAULT)
        folder = pathlib.Path(output) if output is not None else configured or _beside(path, target or DEFAULT)
        _check_folder(folder)
        if path.is_dir():
            packages[folder] = package_name(path.resolve())
        listed = found.setdefault(folder, [])
        known = {item.path.resolve() for item in listed}
        listed += [item for item in inputs if item.path.resolve() not in known]
    return [Job(tuple(inputs), folder, packages.get(folder, ""), target or DEFAULT) for folder, inputs in found.items()]


def whole_folders(files: Sequence[str]) -> list[pathlib.Path]:
    """The folders all of whose files are meant, so that one that is gone is missed."""
    if files:
        return [pathlib.Path(name).resolve() for name in files if pathlib.Path(name).is_dir()]
    return [path for job in _configured(pathlib.Path.cwd()) for path in job.inputs if path.is_dir()]


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
        folder.stat()  # not `resolve`, which from Python 3.13 on takes a loop as it is
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{folder}: a loop of symbolic links") from None


def _beside(path: pathlib.Path, target: str) -> pathlib.Path:
    return (path if path.is_dir() else path.parent) / TARGETS[target]


# ---------------------------------------------------------------- pyproject.toml


def _configured_output(path: pathlib.Path, target: str) -> pathlib.Path | None:
    """The output folder of the job for this target that lists ``path``, or the folder that ``path`` is in."""
    absolute = path.resolve()
    for job in _configured(absolute if absolute.is_dir() else absolute.parent):
        if job.target == target and (absolute in job.inputs or absolute.parent in job.inputs):
            return _relative(job.output)
    return None


def _all_configured(output: str | None, target: str | None) -> list[Job]:
    everything = [*_configured(pathlib.Path.cwd())]
    jobs = [job for job in everything if target in (None, job.target)]
    if not jobs and everything:
        raise UsageError(f'no files given, and no [[tool.mtcodegen.generate]] has `target = "{target}"`')
    if not jobs:
        raise UsageError(
            "no files given, and no [[tool.mtcodegen.generate]] in a pyproject.toml here; see mtcodegen --help"
        )
    if output is not None:
        raise UsageError("-o needs files")
    result = []
    for job in jobs:
        inputs = [item for path in job.inputs for item in _expand(_relative(path), str(_relative(path)))]
        folders = [package_name(path) for path in job.inputs if path.is_dir()]
        result.append(Job(tuple(inputs), _relative(job.output), folders[0] if folders else "", job.target))
    return result


def _relative(path: pathlib.Path) -> pathlib.Path:
    """As seen from the current folder, where that is below or beside it."""
    return pathlib.Path(os.path.relpath(path))


def _configured(folder: pathlib.Path) -> Iterator[_Configured]:
    """The jobs of the nearest pyproject.toml that has a section for this tool."""
    found = find_section(folder)
    if found is not None:
        entries = found[1].get("generate", [])
        for entry in entries if isinstance(entries, list) else [None]:
            yield _job(found[0], entry)


def _job(path: pathlib.Path, entry: Any) -> _Configured:
    table: dict[str, Any] = entry if isinstance(entry, dict) else {}
    inputs, output = table.get("inputs", []), table.get("output", "")
    names = [*inputs, output] if isinstance(inputs, list) and inputs else [""]
    if not all(isinstance(name, str) and name and "\0" not in name for name in names):
        raise UsageError(f'{path}: a [[tool.mtcodegen.generate]] needs `inputs = ["..."]` and `output = "..."`')
    check_keys(path, "a [[tool.mtcodegen.generate]]", table, ("inputs", "output", "target"))
    target = table.get("target", DEFAULT)
    if target not in TARGETS:
        raise UsageError(f"{path}: `target` of a [[tool.mtcodegen.generate]] must be one of {', '.join(TARGETS)}")
    folders = tuple((path.parent / item).resolve() for item in inputs)
    return _Configured(folders, (path.parent / output).resolve(), target)
