"""The targets: for what code, stubs or pages can be made of the declarations."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from mtcodegen.entries.model import File
    from mtcodegen.findings.diagnostics import Diagnostic
    from mtcodegen.targets.job import Job

__all__ = ["DEFAULT", "TARGETS", "Target", "target_named"]

# The one list: each is a module of this folder, and its output goes, where nothing says otherwise, beside the YAML
# files into the folder here. A stub lies beside its module.
TARGETS = {
    "mindtorch": "generated",
    "torch": "generated_torch",
    "mindspore": "generated_mindspore",
    "pyi": "generated",
    "docs": "generated_docs",
}
DEFAULT = "mindtorch"


class Target(Protocol):
    """What a module of a target has."""

    def narrowed(self, file: File) -> tuple[File, list[Diagnostic]]:
        """The operators as far as the target supports them, and warnings or errors on what it does not."""

    def of_file(self, file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
        """The texts that are made of one narrowed file, which lies at ``path``, by their names in ``folder``."""

    def of_job(self, job: Job, files: Mapping[pathlib.Path, File]) -> dict[str, str]:
        """The texts that are made of all narrowed files together, which stand under their resolved paths."""


def target_named(name: str) -> Target:
    """The target of a name in ``TARGETS``, imported when it is first asked for."""
    return cast(Target, importlib.import_module(f"mtcodegen.targets.{name}"))
