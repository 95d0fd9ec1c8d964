"""The stubs of modules for the runtime, alone."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from mtcodegen.entries.model import File
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.targets.job import Job
from mtcodegen.targets.modules import stub_of
from mtcodegen.targets.render import MINDTORCH

__all__ = ["narrowed", "of_file", "of_job"]


def narrowed(file: File) -> tuple[File, list[Diagnostic]]:
    """The file as it is: a stub leaves nothing out."""
    return file, []


def of_file(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """One stub."""
    return stub_of(file, path, MINDTORCH)


def of_job(job: Job, files: Mapping[pathlib.Path, File]) -> dict[str, str]:
    """Nothing: packages need no stub."""
    return {}
