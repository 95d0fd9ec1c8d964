"""``torch.xpu``: programs may ask for XPU devices, and there are none: nothing allocates memory there."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled: there are no XPU devices here")


def is_available() -> bool:
    """Whether there is such a device."""
    return False


def is_initialized() -> bool:
    """Whether one is in use."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current one computes in bfloat16."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def empty_cache() -> None:
    """Nothing: no memory is kept."""


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator."""


def current_device() -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def set_device(device: Any) -> NoReturn:
    """Raises AssertionError."""
    _refuse()


def synchronize(device: Any = None) -> NoReturn:
    """Raises AssertionError."""
    _refuse()
