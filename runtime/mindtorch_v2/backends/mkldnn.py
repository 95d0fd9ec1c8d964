"""``torch.backends.mkldnn``: there is no oneDNN, and what programs set for it is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ._flags import exchange

__all__ = ["flags", "is_available", "set_flags"]

enabled, deterministic, allow_tf32 = True, False, False


def is_available() -> bool:
    """Whether oneDNN is here: no."""
    return False


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None
) -> tuple[Any, ...]:
    """Sets what is not None, and returns what all were."""
    wanted = {"enabled": _enabled, "deterministic": _deterministic, "allow_tf32": _allow_tf32}
    return exchange(globals(), wanted)


@contextlib.contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool | None = True) -> Iterator[None]:
    """Sets all of them within, and afterwards what they were."""
    before = set_flags(enabled, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)
