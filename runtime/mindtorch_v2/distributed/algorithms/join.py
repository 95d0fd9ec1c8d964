"""The names of ``Join``, which lets processes have different numbers of batches, and is not here."""

from __future__ import annotations

from .._absent import absent

__all__ = ["Join", "JoinHook", "Joinable"]

Join, Joinable, JoinHook = absent("Join"), absent("Joinable"), absent("JoinHook")
