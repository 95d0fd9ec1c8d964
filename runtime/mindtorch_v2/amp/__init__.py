"""``torch.autocast``: operators run in a lower precision where that is safe, by a policy per operator."""

from __future__ import annotations

from ._casting import autocast_key, cast
from .autocast_mode import autocast, custom_bwd, custom_fwd, get_autocast_dtype, is_autocast_enabled, set_autocast_dtype

__all__ = [
    "autocast",
    "autocast_key",
    "cast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_enabled",
    "set_autocast_dtype",
]
