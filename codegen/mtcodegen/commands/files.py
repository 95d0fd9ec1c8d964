"""Writing a user's file: whole or not at all."""

from __future__ import annotations

import os
import pathlib
import tempfile

from mtcodegen.targets import UsageError

__all__ = ["replace_file"]


def replace_file(path: pathlib.Path, text: str) -> None:
    """Give an existing file a new text at once, with its mode; raises UsageError where it cannot be written."""
    target = path.resolve()  # a link stays one
    temporary = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        temporary = pathlib.Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
