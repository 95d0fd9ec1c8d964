"""Calls of several processes that have gradients, as ``torch.distributed.nn`` has them: those of `functional`."""

from __future__ import annotations

from . import functional
from .functional import *  # noqa: F403

__all__ = [*functional.__all__]
