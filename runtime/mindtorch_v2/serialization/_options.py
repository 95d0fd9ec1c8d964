"""What may be called by checkpoints beside weights, and how they are read: PyTorch's options."""

from __future__ import annotations

import enum
import mmap
from collections.abc import Iterable
from types import TracebackType
from typing import Any

__all__ = [
    "LoadEndianness",
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "safe_globals",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "users_globals",
]

_safe: list[Any] = []


class LoadEndianness(enum.Enum):
    """In which order of bytes a checkpoint is taken that does not say."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness: LoadEndianness | None = None
_computes_crc32 = True


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allows checkpoints to call functions and classes, given alone or with the full name that files have for them."""
    for item in safe_globals:
        _check(item)
        if item not in _safe:
            _safe.append(item)


def _check(item: Any) -> None:
    if isinstance(item, tuple):
        if len(item) != 2 or not callable(item[0]) or not isinstance(item[1], str):
            raise ValueError(f"Expected tuple of (global, str of callable full path), but got {item!r}")
    elif not callable(item):
        raise ValueError(f"add_safe_globals(): expected functions and classes, got {item!r}")


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` was given."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Takes back what `add_safe_globals` was given."""
    _safe.clear()


def users_globals() -> dict[str, Any]:
    """The same by full names."""
    found: dict[str, Any] = {}
    for item in _safe:
        what, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        found[name] = what
    return found


class safe_globals:  # noqa: N801 - PyTorch's name
    """``with safe_globals([f]):`` as `add_safe_globals`, inside alone."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._given = list(safe_globals)
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._given)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _safe[:] = self._before


def get_default_load_endianness() -> LoadEndianness | None:
    """In which order of bytes a checkpoint is taken that does not say; None is this machine's."""
    return _endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets in which order of bytes a checkpoint is taken that does not say."""
    global _endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes checksums, which zip files have always: True."""
    return _computes_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Kept for programs that set it: checksums are always written."""
    global _computes_crc32
    _computes_crc32 = bool(compute_crc32)


_mmap_flags = mmap.MAP_PRIVATE


def get_default_mmap_options() -> int:
    """How ``load(mmap=True)`` maps files: MAP_PRIVATE, or MAP_SHARED."""
    return _mmap_flags


class set_default_mmap_options:  # noqa: N801 - PyTorch's name
    """Sets how ``load(mmap=True)`` maps files; with ``with``, inside alone."""

    def __init__(self, flags: int) -> None:
        global _mmap_flags
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self._before, _mmap_flags = _mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _mmap_flags
        _mmap_flags = self._before
