"""Autocast by a function a device type, as programs from before `torch.autocast` set it and ask for it."""

from __future__ import annotations

from typing import Any

from ._state import get_autocast_dtype, is_autocast_enabled, set_autocast_dtype, set_autocast_enabled

__all__ = [
    "get_autocast_cpu_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cpu_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_gpu_dtype",
]


def get_autocast_cpu_dtype() -> Any:
    """``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_dtype(dtype: Any, /) -> None:
    """``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_cpu_enabled(enabled: bool, /) -> None:
    """``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_gpu_dtype(dtype: Any, /) -> None:
    """``set_autocast_dtype("cuda", dtype)``."""
    set_autocast_dtype("cuda", dtype)
