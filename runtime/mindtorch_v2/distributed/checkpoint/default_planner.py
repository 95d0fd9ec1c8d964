"""The names of planners of sharded checkpoints, which are not here."""

from __future__ import annotations

from .._absent import absent

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]

DefaultLoadPlanner, DefaultSavePlanner = absent("DefaultLoadPlanner"), absent("DefaultSavePlanner")
