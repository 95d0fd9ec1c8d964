"""Batches in pinned memory."""

from __future__ import annotations

from typing import Any

from .collate import converted

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """The same with tensors, and what has ``pin_memory()``, in pinned memory; ``device`` is not looked at."""

    def leaf(value: Any) -> Any:
        return value.pin_memory() if hasattr(value, "pin_memory") else value

    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    return converted(data, leaf, tuples_as_lists=False)
