"""Copies within an NPU from one layout to another, by an AscendC kernel that is compiled at the first of them."""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from .built_in import blocks, kernel

__all__ = ["copy_strided"]

_OUTER = 4  # dimensions besides the innermost
_TYPES = ("ptr",) * 2 + ("u32",) * 4 + ("i64",) * 8 + ("u32", "i64")
Dim = tuple[int, int, int]  # its size, and its strides in the source and in the destination


def _folded(destination: Tensor, source: Tensor) -> list[Dim]:
    """The fewest dimensions that lie as these do: neighbours become one where both sides have them in a run."""
    dims: list[Dim] = []
    given = zip(source.shape, source.stride(), destination.stride(), strict=True)
    for size, of_source, of_destination in sorted(given, key=lambda dim: -dim[2]):  # from the destination's outermost
        if size == 1:
            continue
        if dims and dims[-1][1:] == (size * of_source, size * of_destination):
            size *= dims.pop()[0]
        dims.append((size, of_source, of_destination))
    return dims


def copy_strided(destination: Tensor, source: Tensor) -> bool:
    """Queues a copy of elements between tensors of one shape, dtype and NPU; False where the kernel does not take them.

    It takes a destination whose innermost elements are neighbours, and memory that is not the source's.
    """
    n = source.numel()
    apart = destination.untyped_storage().data_ptr() != source.untyped_storage().data_ptr()
    if source.itemsize > 8 or not 0 < n < 2**32 or not apart or source.is_conj() or source.is_neg():
        return False
    *outer, (inner, step, last) = _folded(destination, source) or [(1, 1, 1)]
    if len(outer) > _OUTER or last != 1:
        return False
    padded = [(1, 0, 0)] * (_OUTER - len(outer)) + outer
    sizes, of_source, of_destination = zip(*padded, strict=True)
    copy = kernel("copies", f"copy_b{source.itemsize}", *_TYPES)
    pointers = _core.tensor_ptr(source), _core.tensor_ptr(destination)
    copy(blocks(n), *pointers, *sizes, *of_source, *of_destination, inner, step)
    return True
