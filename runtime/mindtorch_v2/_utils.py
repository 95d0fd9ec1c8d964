"""Small functions that programs find in ``torch._utils``: sizes of dtypes, and lists of tensors as one."""

from __future__ import annotations

from collections.abc import Sequence

from ._core import Tensor
from ._core import dtype as DType
from ._ops import ops

__all__ = ["_element_size", "_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _element_size(dtype: DType) -> int:
    """Bytes of an element."""
    if not isinstance(dtype, DType):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of tensors of one dtype in a row, (sum of numel,); a copy, of a single tensor too."""
    flat: Tensor = ops.aten.cat([t.contiguous().view(-1) for t in tensors])
    return flat


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a row of elements in the shapes of tensors, one after the other."""
    sizes = [t.numel() for t in tensors]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    parts = [flat.narrow(0, start, size) for start, size in zip(starts, sizes, strict=True)]
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors, strict=True))
