"""Modules for the runtime, their stubs, and the tests of examples."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from mtcodegen.entries.model import File
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.targets.job import Job
from mtcodegen.targets.modules import module_of, tests_of
from mtcodegen.targets.render import MINDTORCH, render_package

__all__ = ["narrowed", "of_file", "of_job"]


def narrowed(file: File) -> tuple[File, list[Diagnostic]]:
    """The file as it is: the runtime takes every operator."""
    return file, []


def of_file(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A module, its stub, and the tests of its examples."""
    return {**module_of(file, path, folder, MINDTORCH), **tests_of(file, path, MINDTORCH)}


def of_job(job: Job, files: Mapping[pathlib.Path, File]) -> dict[str, str]:
    """A package, where the files are those of a folder."""
    if not job.package:
        return {}
    found = {item.path.stem: files[item.path.resolve()] for item in job.inputs}
    pending = {name: _names(file) for name, file in found.items() if file.is_pending}
    return {"__init__.py": render_package(job.package, list(found), pending)}


def _names(file: File) -> list[str]:
    """The names that a module defines, each with where it appears: `f` at the top level, `m` on tensors."""
    places: dict[str, set[str]] = {}
    for spec in file.ops:
        name = f"{spec.schema.namespace}::{spec.schema.name}"
        places.setdefault(name, set()).update(variant[0] for variant in spec.variants)
    return [f"{name}:{''.join(sorted(places[name]))}" for name in sorted(places)]
