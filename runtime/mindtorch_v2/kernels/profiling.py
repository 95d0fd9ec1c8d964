"""Labels in profiles, as operators."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from .._ops import ops

__all__ = ["enter", "leave"]


def enter(name: str, args: str | None = None) -> Tensor:
    """Begins a label, and returns its number; -1 where nothing is recorded."""
    number: Tensor = ops.aten.scalar_tensor(_core.open_span("user_annotation", name), dtype=_core.dtypes["int64"])
    return number


def leave(_0: Tensor) -> None:
    """Ends the label of that number."""
    _core.close_span(int(_0))
