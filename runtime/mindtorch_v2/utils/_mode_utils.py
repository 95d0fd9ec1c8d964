"""What modes are compared by, and are kept out with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..overrides import DisableTorchDispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether they are all one mode."""
    return all(mode is modes[0] for mode in modes)


def no_dispatch() -> AbstractContextManager[None]:
    """Inside, operators go past modes and subclasses' ``__torch_dispatch__``."""
    return DisableTorchDispatch()
