"""What is to be made: files, what is made of them, and where it goes."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

__all__ = ["FORMS", "Generated", "Input", "Target"]

FORMS = ("mindtorch", "torch", "mindspore", "pyi", "docs")


@dataclass(frozen=True)
class Input:
    """A YAML file, and how the user named it."""

    path: pathlib.Path
    name: str


@dataclass(frozen=True)
class Target:
    """Files whose output goes to one folder. ``package`` names the folder of YAML files that it is the package of.

    ``form`` is what is made: one of ``FORMS``.
    """

    inputs: tuple[Input, ...]
    folder: pathlib.Path
    package: str = ""
    form: str = "mindtorch"


@dataclass(frozen=True)
class Generated:
    """A target's files by their path in its folder."""

    target: Target
    files: dict[str, str]
