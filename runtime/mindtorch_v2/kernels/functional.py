"""Views as copies, and inverses of views: a copy of a tensor in which a view of it shows other elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from .._ops import ops
from .._type_info import contiguous_format

__all__ = [
    "as_strided_scatter", "clone_in_rows", "copied", "detach_copy", "resized", "select_scatter", "slice_scatter",
]  # fmt: skip


def clone_in_rows(self: Tensor) -> Tensor:
    """A copy whose elements lie in the order of the dimensions."""
    copy: Tensor = ops.aten.clone(self, memory_format=contiguous_format)
    return copy


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


def detach_copy(self: Tensor) -> Tensor:
    """A copy that has no history."""
    return clone_in_rows(self.detach())


def _with_storage_copied(self: Tensor) -> Tensor:
    """A copy with self's strides and offset; a contiguous one where elements of self share memory."""
    if any(step == 0 and size > 1 for size, step in zip(self.shape, self.stride(), strict=True)):
        return ops.aten.clone(self)  # type: ignore[no-any-return]
    count = self.untyped_storage().nbytes() // self.element_size()
    whole = ops.aten.as_strided(self, (count,), (1,), 0).clone()
    return ops.aten.as_strided(whole, self.shape, self.stride(), self.storage_offset())  # type: ignore[no-any-return]


def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    """A copy with ``src`` where ``as_strided`` would show it: in the copy's storage, which is as self's."""
    copy = _with_storage_copied(self)
    return _written(copy, ops.aten.as_strided(copy, size, stride, storage_offset), src, "as_strided_scatter")


def copied(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """``src`` where `copy_` would write it: in a tensor that lies in memory as self does."""
    if any(step == 0 and size > 1 for size, step in zip(self.shape, self.stride(), strict=True)):
        target = ops.aten.empty_like(self)
    else:
        target = ops.aten.new_empty_strided(self, self.shape, self.stride())
    ops.aten.copy_(target, src, non_blocking)
    return target  # type: ignore[no-any-return]


def resized(self: Tensor, size: Sequence[int], memory_format: Any) -> Tensor:
    """A copy to which `resize_` gave a new shape."""
    copy: Tensor = ops.aten.clone(self, memory_format=contiguous_format)
    ops.aten.resize_(copy, size, memory_format=memory_format)
    return copy
