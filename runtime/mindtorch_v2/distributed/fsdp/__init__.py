"""``torch.distributed.fsdp``, as far as libraries ask whether a module is sharded: none is, there are no such
modules here.
"""

from __future__ import annotations

from . import fully_sharded_data_parallel
from .fully_sharded_data_parallel import *  # noqa: F403

__all__ = [*fully_sharded_data_parallel.__all__]
