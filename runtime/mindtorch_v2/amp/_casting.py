"""Which tensors autocast changes, and the dispatch key of a device type's autocast."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, device, dtypes
from ..backends import backend_of

__all__ = ["autocast_key", "cast", "eligible"]


def autocast_key(device_type: str | bytes) -> str:
    """A device type's Autocast key. Raises RuntimeError for an unknown type, and for one without autocast."""
    backend = backend_of(device(device_type))
    if backend.autocast_key is None:
        raise RuntimeError(f"Device type '{backend.name}' does not support autocast.")
    return backend.autocast_key


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
