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
    return {"__init__.py": render_package(job.package, [item.path.stem for item in job.inputs])} if job.package else {}
