"""Inverses of views: a copy of a tensor in which a view of it shows other elements."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Tensor
from .._ops import ops

__all__ = ["as_strided_scatter", "select_scatter", "slice_scatter"]


def _written(copy: Tensor, view: Tensor, src: Tensor, name: str) -> Tensor:
    if src.shape != view.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(view.shape)} ({name})"
        )
    ops.aten.copy_(view, src)
    return copy


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with ``src`` at one index of a dimension."""
    copy = ops.aten.clone(self)
    return _written(copy, ops.aten.select(copy, dim, index), src, "select_scatter")


def slice_scatter(self: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """A copy with ``src`` in a range of a dimension."""
    copy = ops.aten.clone(self)
    return _written(copy, ops.aten.slice(copy, dim, start, end, step), src, "slice_scatter")


def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    """A copy with ``src`` where ``as_strided`` would show it."""
    copy = ops.aten.clone(self)
    return _written(copy, ops.aten.as_strided(copy, size, stride, storage_offset), src, "as_strided_scatter")
