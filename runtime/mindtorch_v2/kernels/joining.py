"""Tensors joined to one and one cut into many: stacks, products, combinations and splits, of operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._native import native
from .arranging import all_at_least_1d, all_at_least_2d, all_at_least_3d
from .reduction import wrap_dim

_I64, _I32, _BOOL = (_core.dtypes[name] for name in ("int64", "int32", "bool"))


# ---------------------------------------------------------------- joining
def _given(name: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along columns; vectors along their one dimension."""
    parts = all_at_least_1d(_given("hstack", tensors))
    result: Tensor = ops.aten.cat(parts, 0 if parts[0].dim() == 1 else 1)
    return result


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along rows."""
    result: Tensor = ops.aten.cat(all_at_least_2d(_given("vstack", tensors)), 0)
    return result


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along a third dimension."""
    result: Tensor = ops.aten.cat(all_at_least_3d(_given("dstack", tensors)), 2)
    return result


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along columns; what has fewer than two dimensions is a column."""
    parts = [t.reshape((-1, 1)) if t.dim() < 2 else t for t in _given("column_stack", tensors)]
    result: Tensor = ops.aten.cat(parts, 1)
    return result


def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """The matrices along the diagonal of one; vectors are rows."""
    aten = ops.aten
    if not tensors:
        return aten.empty((1, 0))  # type: ignore[no-any-return]
    for at, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have two or fewer dimensions. Input {at} has "
                f"{tensor.dim()} dimensions"
            )
    matrices = all_at_least_2d(tensors)
    dtype = _core.common_dtype(*tensors)
    height, width = matrices[0].shape
    if all(matrix.shape == (height, width) for matrix in matrices):
        stacked = aten.stack([matrix.to(dtype) for matrix in matrices])
        spread = aten.diag_embed(stacked.permute(1, 2, 0), 0, 0, 2)  # (matrix, row, matrix, column)
        found: Tensor = spread.reshape((len(matrices) * height, len(matrices) * width))
        return found
    right, left, rows = sum(matrix.shape[1] for matrix in matrices), 0, []
    for matrix in matrices:
        own = matrix.shape[1]
        right -= own
        rows.append(aten.constant_pad_nd(matrix.to(dtype), [left, right]))
        left += own
    result: Tensor = aten.cat(rows, 0)
    return result


def meshgrid(tensors: Sequence[Tensor], *, indexing: str = "ij") -> list[Tensor]:
    """For each vector its values at all places of the grid of all; by ``"xy"`` the first two dimensions exchanged."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in tensors:
        if tensor.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor!r}")
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
        if tensor.device != tensors[0].device:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same device")
    vectors = [tensor.reshape((-1,)) for tensor in tensors]
    swapped = indexing == "xy" and len(vectors) > 1
    if swapped:
        vectors[:2] = vectors[1::-1]
    shape = [vector.shape[0] for vector in vectors]
    grids = []
    for d, vector in enumerate(vectors):
        grids.append(vector.reshape([-1 if k == d else 1 for k in range(len(shape))]).expand(shape))
    if swapped:
        grids[:2] = grids[1::-1]
    return grids


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All tuples of elements of vectors, a row each; of one vector it itself."""
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        alone: Tensor = ops.aten.alias(tensors[0])
        return alone
    grids = meshgrid(tensors)
    result: Tensor = ops.aten.stack([grid.reshape((-1,)) for grid in grids], 1)
    return result


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of ``r`` elements of a vector in their order, a row each."""
    if self.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        empty: Tensor = ops.aten.new_empty(self, [0])
        return empty
    size = self.shape[0]
    count = math.comb(size + r - 1, r) if with_replacement and size else math.comb(size, r)
    index = _core.alloc((count, r), _I64, _core.device("cpu"))
    if count:
        native("mt_combinations", "desc", "i64", "bool_")(index, size, with_replacement)
    index = index.to(self.device)
    result: Tensor = self.index_select(0, index.reshape((-1,))).reshape((-1, r))
    return result


# ---------------------------------------------------------------- splitting
def tensor_split(self: Tensor, sections: int, dim: int = 0) -> list[Tensor]:
    """Parts of nearly equal size along a dimension; the first ones are larger by one."""
    if not self.dim():
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(dim, self.dim())
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    size, larger = divmod(self.shape[d], sections)
    sizes = [size + (part < larger) for part in range(sections)]
    return list(ops.aten.split_with_sizes(self, sizes, d))


def tensor_split_at(self: Tensor, indices: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Parts of a dimension between indices."""
    if not self.dim():
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(dim, self.dim())
    parts, start = [], 0
    for end in (*indices, self.shape[d]):
        parts.append(self.slice(d, start, end, 1))
        start = end
    return parts


def tensor_split_by(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> list[Tensor]:
    """As `tensor_split`, by a tensor without dimensions, or at the indices of a vector."""
    given = tensor_indices_or_sections
    if not self.dim():
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if given.device.type != "cpu":
        raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {given.device}")
    if given.dtype is not _I64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{_core.scalar_types[given.dtype.name]}"
        )
    if given.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
            "tensor, but got "
            f"a tensor with {given.dim()} dims"
        )
    found = given.tolist()
    return tensor_split(self, found, dim) if given.dim() == 0 else tensor_split_at(self, found, dim)


def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    """As `chunk`."""
    return [_core.as_own_(part) for part in ops.aten.chunk(self, chunks, dim)]


def unsafe_split(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    """As `split`."""
    return [_core.as_own_(part) for part in ops.aten.split.Tensor(self, split_size, dim)]


def unsafe_split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """As `split_with_sizes`."""
    return [_core.as_own_(part) for part in ops.aten.split_with_sizes(self, split_sizes, dim)]


def _split_along(name: str, self: Tensor, least: int, dim: int, how: Any) -> list[Tensor]:
    if self.dim() < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor with "
            f"{self.dim()} dimensions!"
        )
    if not isinstance(how, int):
        return tensor_split_at(self, how, dim)
    if how <= 0 or self.shape[dim] % how:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{self.shape[dim]} is not "
            f"divisible by the split_size {how}!"
        )
    return tensor_split(self, how, dim)


def hsplit(self: Tensor, how: Any) -> list[Tensor]:
    """Parts along columns; of a vector along its one dimension."""
    return _split_along("hsplit", self, 1, 0 if self.dim() == 1 else 1, how)


def vsplit(self: Tensor, how: Any) -> list[Tensor]:
    """Parts along rows."""
    return _split_along("vsplit", self, 2, 0, how)


def dsplit(self: Tensor, how: Any) -> list[Tensor]:
    """Parts along the third dimension."""
    return _split_along("dsplit", self, 3, 2, how)
