"""This thread's autocast: on or off by device type, the dtypes it lowers to, and the cache of lowered weights."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .. import _core
from .._argument_types import check_flag, checks_types
from .._core import Tensor, device, dtypes
from .._core import dtype as DType
from .._inheritance import inherited
from .._numbers import PYTHON_TYPES
from ..backends import backend_of
from ._casting import autocast_key, eligible
from ._policies import install

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "cached_cast",
    "clear_autocast_cache",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]


class _State(threading.local):
    def __init__(self) -> None:
        self.dtypes: dict[str, DType] = {}  # by device type, where it is not the first that the backend names
        self.cache_enabled = True
        self.nesting = 0
        # id of a weight -> the weight, weakly, and what it was lowered to; an id is another tensor's once it is dead
        self.cache: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}


_state = inherited(_State())
_LEFT_OUT: Any = object()


@checks_types
def is_autocast_available(device_type: str | bytes) -> bool:
    """Whether a device type has autocast. Raises RuntimeError for an unknown type."""
    return backend_of(device(device_type)).autocast_key is not None


@checks_types
def is_autocast_enabled(device_type: str | bytes = "npu") -> bool:
    """Whether autocast is on for a device type on this thread."""
    _, excluded = _core.thread_keys()
    return not excluded & _core.key_mask(autocast_key(device_type))


def set_autocast_enabled(device_type: Any = _LEFT_OUT, enabled: Any = _LEFT_OUT) -> None:
    """Turns autocast on or off for a device type on this thread; called with a flag alone, for the NPU."""
    if enabled is _LEFT_OUT:
        device_type, enabled = "npu", device_type
    elif device_type is _LEFT_OUT:
        device_type = "npu"
    if enabled is _LEFT_OUT:
        raise TypeError("set_autocast_enabled() missing 1 required positional argument: 'enabled'")
    check_flag("set_autocast_enabled", "enabled", enabled)
    if not isinstance(device_type, (str, bytes)):
        got = type(device_type).__name__
        raise TypeError(f"set_autocast_enabled(): argument 'device_type' must be str, not {got}")
    mask = _core.key_mask(autocast_key(device_type))
    install(device(device_type).type, cached_cast)
    included, excluded = _core.thread_keys()
    _core.set_thread_keys_(included, excluded & ~mask if enabled else excluded | mask)


@checks_types
def get_autocast_dtype(device_type: str | bytes) -> Any:
    """The dtype that autocast lowers to on a device type."""
    autocast_key(device_type)
    backend = backend_of(device(device_type))
    return _state.dtypes.get(backend.name) or dtypes[backend.autocast[0]]


@checks_types
def set_autocast_dtype(device_type: str | bytes, dtype: Any) -> None:
    """Sets the dtype that autocast lowers to on a device type, for this thread."""
    found = PYTHON_TYPES.get(dtype, dtype) if isinstance(dtype, type) else dtype
    if not isinstance(found, DType):
        got = type(dtype).__name__
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {got}")
    autocast_key(device_type)
    _state.dtypes[device(device_type).type] = found


def is_autocast_cache_enabled() -> bool:
    """Whether autocast keeps lowered weights for the rest of the outermost ``with autocast(...)``, on this thread."""
    return _state.cache_enabled


@checks_types
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets `is_autocast_cache_enabled`."""
    _state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forgets this thread's lowered weights."""
    _state.cache.clear()


def autocast_increment_nesting() -> int:
    """Counts one more ``with autocast(...)`` around this thread's code; returns how many there are."""
    _state.nesting += 1
    return _state.nesting


def autocast_decrement_nesting() -> int:
    """Counts one less; returns how many are left."""
    _state.nesting -= 1
    return _state.nesting


def cached_cast(value: Any, device_type: str) -> Any:
    """``value``, which may be nested, with its eligible tensors lowered; a weight is lowered once.

    A weight is a float32 leaf that requires grad and is no view. What is lowered without recording has no history, so
    it is not kept: a later call that records would lose the gradient.
    """
    if isinstance(value, (tuple, list)):
        return type(value)(cached_cast(item, device_type) for item in value)
    if isinstance(value, dict):
        return {name: cached_cast(item, device_type) for name, item in value.items()}
    dtype = get_autocast_dtype(device_type)
    if not eligible(value, device_type) or value.dtype is dtype:
        return value
    weight = value.dtype is dtypes["float32"] and value.requires_grad and value.is_leaf and value._base is None
    if not (weight and _state.cache_enabled and _core.is_grad_enabled()):
        return value.to(dtype)
    kept = _state.cache.get(id(value))
    if kept is None or kept[0]() is not value or kept[1].dtype is not dtype:
        kept = _state.cache[id(value)] = weakref.ref(value), value.to(dtype)
    return kept[1]
