"""``torch.utils.hooks``: what takes a hook back, and the marks of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import RemovableHandle
from ..nn.backward_hooks import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a hook as one that is not saved with its tensor: hooks never are."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
