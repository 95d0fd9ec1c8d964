"""``torch.autocast``: operators run in a lower precision where that is safe, by a policy per operator."""

from __future__ import annotations

from ._casting import autocast_key, cast
from ._state import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from .autocast_mode import autocast, autocast_decorator, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_decorator",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "autocast_key",
    "cast",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]
