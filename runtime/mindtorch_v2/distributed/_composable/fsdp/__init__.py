"""The name of what would shard a module, which is not here."""

from __future__ import annotations

from ..._absent import absent

__all__ = ["fully_shard"]

fully_shard = absent("fsdp.fully_shard")
