"""What is to be made: of which files, for which target, and where it goes."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

__all__ = ["Generated", "Input", "Job"]


@dataclass(frozen=True)
class Input:
    """A YAML file, and how the user named it."""

    path: pathlib.Path
    name: str


@dataclass(frozen=True)
class Job:
    """Files whose output for a ``target`` goes to one folder.

    ``package`` names the folder of YAML files that the output is the package of.
    """

    inputs: tuple[Input, ...]
    folder: pathlib.Path
    package: str = ""
    target: str = "mindtorch"


@dataclass(frozen=True)
class Generated:
    """A job's files by their path in its folder."""

    job: Job
    files: dict[str, str]
