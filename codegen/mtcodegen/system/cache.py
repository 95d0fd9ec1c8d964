"""Files in the user's cache folder: text that can be made again, with its checksum, so that a damaged file is none."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
from collections.abc import Iterable

from mtcodegen.system.wholefile import write_whole

__all__ = ["add_files", "keep", "kept"]


def add_files(found: hashlib._Hash, paths: Iterable[pathlib.Path]) -> None:
    """Adds files to a hash, by name and content. Raises OSError where one cannot be read."""
    for path in paths:
        data = path.read_bytes()
        found.update(f"{path}\0{len(data)}\0".encode())
        found.update(data)


def kept(folder: str, name: str) -> str | None:
    """The text of that name; None where there is none."""
    try:
        checksum, _, text = (_folder(folder) / name).read_bytes().decode().partition("\n")
    except (OSError, UnicodeError, RuntimeError):
        return None
    return text if checksum == _checksum(text) else None


def keep(folder: str, name: str, text: str, most: int) -> None:
    """Keep a text, and of the folder's files the newest ``most``; a folder that cannot be written is no fault."""
    with contextlib.suppress(OSError, RuntimeError):
        place = _folder(folder)
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / name, f"{_checksum(text)}\n{text}", 0o600)
        files = sorted(place.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in files[:-most]:
            path.unlink()


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _folder(name: str) -> pathlib.Path:
    """By the XDG base directory specification; RuntimeError where the user has no home."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else pathlib.Path.home() / ".cache") / "mtcodegen" / name
