"""Which tensors autocast changes, and the dispatch key of a device type's autocast."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, device, dtypes

__all__ = ["AUTOCAST_KEYS", "autocast_key", "cast", "eligible"]

AUTOCAST_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "npu": "AutocastNPU"}


def autocast_key(device_type: str | bytes) -> str:
    """A device type's Autocast key. Raises RuntimeError for an unknown type, and for one without autocast."""
    kind = device(device_type).type
    if kind not in AUTOCAST_KEYS:
        raise RuntimeError(f"Device type '{kind}' does not support autocast.")
    return AUTOCAST_KEYS[kind]


def eligible(value: Any, device_type: str) -> bool:
    """Whether autocast may change a value: floating point tensors on its device, but no double precision."""
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.device.type == device_type
        and value.dtype is not dtypes["float64"]
    )


def cast(value: Any, device_type: str, dtype: Any) -> Any:
    """``value``, which may be nested in tuples, lists and dicts, with its eligible tensors in ``dtype``."""
    if eligible(value, device_type):
        return value if value.dtype is dtype else value.to(dtype)
    if isinstance(value, (tuple, list)):
        return type(value)(cast(item, device_type, dtype) for item in value)
    if isinstance(value, dict):
        return {name: cast(item, device_type, dtype) for name, item in value.items()}
    return value
