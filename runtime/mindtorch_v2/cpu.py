"""``torch.cpu``: the CPU under the names that every device's module has."""

from __future__ import annotations

from typing import Any

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether it is ready for use."""
    return True


def device_count() -> int:
    """How many there are: one, which has no index."""
    return 1


def current_device() -> str:
    """The one that ``device="cpu"`` means."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Waits for what runs there: nothing, as every call returns when it is done."""
