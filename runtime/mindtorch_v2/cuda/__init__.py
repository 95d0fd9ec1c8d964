"""``torch.cuda``: programs may ask for CUDA devices, and there are none: nothing allocates memory there."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "synchronize"]


def is_available() -> bool:
    """Whether there is such a device."""
    return False


def is_initialized() -> bool:
    """Whether one is in use."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def current_device() -> NoReturn:
    """Raises AssertionError, as PyTorch does where it was built without CUDA."""
    raise AssertionError("Torch not compiled with CUDA enabled: there are no CUDA devices here")


def synchronize(device: Any = None) -> NoReturn:
    """Raises AssertionError, as PyTorch does where it was built without CUDA."""
    current_device()
