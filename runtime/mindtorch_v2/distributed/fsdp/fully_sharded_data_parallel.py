"""The names of ``FullyShardedDataParallel``, which is not here."""

from __future__ import annotations

import enum

from .._absent import absent

__all__ = ["CPUOffloadPolicy", "FullyShardedDataParallel", "MixedPrecisionPolicy", "StateDictType"]

FullyShardedDataParallel = absent("FullyShardedDataParallel")
CPUOffloadPolicy, MixedPrecisionPolicy = absent("fsdp.CPUOffloadPolicy"), absent("fsdp.MixedPrecisionPolicy")


class StateDictType(enum.Enum):
    """What a sharded module's state dict would hold."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3
