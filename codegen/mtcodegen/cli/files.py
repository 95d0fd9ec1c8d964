"""Changing a user's file."""

from __future__ import annotations

import pathlib

from mtcodegen.project.pyproject import UsageError
from mtcodegen.system.wholefile import umask, write_whole

__all__ = ["replace_file"]


def replace_file(path: pathlib.Path, text: str) -> None:
    """Give a file a new text at once; it keeps its mode. Raises UsageError where it cannot be written."""
    target = path.resolve()  # a link stays one
    try:
        write_whole(target, text, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~umask())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
