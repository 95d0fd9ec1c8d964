"""Options of modules that are one number for all dimensions, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["each_of"]


def each_of(value: Any, count: int) -> tuple[Any, ...]:
    """A number for each of ``count`` dimensions."""
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,) * count
