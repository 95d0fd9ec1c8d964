"""Writing files so that a reader, or a kill at any moment, finds the old text or the new one and nothing between."""

from __future__ import annotations

import os
import pathlib

__all__ = ["umask", "write_whole"]


def umask() -> int:
    """What a new file or folder is not allowed."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_whole(path: pathlib.Path, text: str, mode: int) -> None:
    """Give ``path`` the text and the mode at once. Raises OSError."""
    temporary = _unnamed(path, text, mode)
    if temporary is None:
        temporary = _named(path, text, mode)
    try:
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _unnamed(path: pathlib.Path, text: str, mode: int) -> pathlib.Path | None:
    """A file beside ``path`` that got its name when all of its text was there; None where the system has no such."""
    try:
        handle = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, mode)
    except (AttributeError, OSError):  # another system than Linux, or a file system without O_TMPFILE
        return None
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fchmod(file.fileno(), mode)
        try:
            # Python follows the link in /proc, which is what gives the file a name, only where a folder is given.
            os.link(f"/proc/self/fd/{file.fileno()}", temporary, src_dir_fd=file.fileno())
        except OSError:  # no /proc
            return None
    return temporary


def _named(path: pathlib.Path, text: str, mode: int) -> pathlib.Path:
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = pathlib.Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
