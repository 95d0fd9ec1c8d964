"""What is taken for a sequence where values or indices are wanted: whatever has items by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._core import Tensor

__all__ = ["is_sequence", "listed"]


def is_sequence(value: Any) -> bool:
    """Whether Python takes it for a sequence: a range, text and a NumPy array too, but no dict, and here no tensor."""
    return isinstance(value, (list, tuple)) or (
        hasattr(type(value), "__getitem__")
        and not isinstance(value, (dict, Tensor, type))
        and getattr(value, "ndim", 1) > 0
    )


def listed(value: Any) -> Sequence[Any] | None:
    """The items of a sequence of values, None for what is none: text is not."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (int, float, complex)):  # also one of an enumeration, whose class has items
        return None
    return list(value) if is_sequence(value) and not isinstance(value, (str, bytes)) else None
