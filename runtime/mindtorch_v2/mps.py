"""``torch.mps``: programs may ask for MPS devices, and there are none: nothing allocates memory there."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is such a device."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def synchronize() -> NoReturn:
    """Raises RuntimeError: there is nothing to wait for."""
    raise RuntimeError("Cannot execute deviceSynchronize() without MPS backend.")
