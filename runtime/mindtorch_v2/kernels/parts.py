"""Parts of tensors: copies, segments that are reduced, elements by indices that may be outside, histograms, hashes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtype
from .._numbers import as_element
from .._ops import ops
from ._arrays import as_array, as_tensor, moved
from .reduction import wrap_dim, wrap_dims

_DTYPES = _core.dtypes
_I64, _U64, _F32, _F64 = (_DTYPES[name] for name in ("int64", "uint64", "float32", "float64"))


def foobar(self: Tensor, arg1: bool = True, arg2: bool = True, *, arg3: bool = True) -> Tensor:
    """A copy, whatever the other arguments are."""
    made: Tensor = self.clone()
    return made


# ---------------------------------------------------------------- copies
def split_copy(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    """Copies of parts of one size; the last may be smaller."""
    return [part.clone() for part in self.split(split_size, dim)]


def split_with_sizes_copy(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Copies of parts of the given sizes."""
    return [part.clone() for part in ops.aten.split_with_sizes(self, list(split_sizes), dim)]


def unbind_copy(self: Tensor, dim: int = 0) -> list[Tensor]:
    """Copies of the slices along a dimension."""
    return [part.clone() for part in self.unbind(dim)]


def unsafe_view(self: Tensor, size: Sequence[int]) -> Tensor:
    """Another shape, in memory of its own."""
    result: Tensor = self.clone().view(list(size))
    return result


def chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Tensors cut into chunks along a dimension, with zeros where they lack elements; chunks side by side."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first = tensors[0]
    for tensor in tensors:
        if tensor.dtype is not first.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    d = wrap_dim(dim, max(tensor.dim() for tensor in tensors))
    if any(d >= tensor.dim() for tensor in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    before = tuple(first.shape[:d])
    rows = []
    for tensor in tensors:
        if not tensor.numel():
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if tensor.dim() <= d or tuple(tensor.shape[:d]) != before:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
        rest = -tensor.shape[d] % num_chunks
        if rest:
            zeros = tensor.new_zeros((*before, rest, *tensor.shape[d + 1 :]))
            tensor = ops.aten.cat([tensor, zeros], d)
        rows.append(tensor.reshape((*before, num_chunks, -1)))
    result: Tensor = ops.aten.cat(rows, d + 1)
    return result


# ---------------------------------------------------------------- segments
_REDUCTIONS = {  # by name that of `scatter_reduce`, and what nothing reduces to
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "prod": ("prod", 1.0),
    "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Segments along a dimension reduced, each of a length; ``initial`` is reduced with each."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"unsupported reduction given: {reduce}")
    d = wrap_dim(axis, data.dim())
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined, not both.")
    if not data.is_floating_point():
        raise NotImplementedError(f"segment_reduce() is not implemented for {data.dtype}")
    counts: Any = lengths if offsets is None else offsets.diff(dim=-1)
    if counts.dim() != d + 1:
        raise RuntimeError(
            f"segment_reduce(): Expected lengths.dim() to be axis + 1, but got {counts.dim()} and {axis}"
        )
    given = as_array(counts)
    if not unsafe:
        if given.size and given.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if not (given.sum(-1) == data.shape[d]).all():
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(axis)")
    return _reduced(data, reduce, given, d, initial)


def _segments(data: Tensor, given: Any, d: int) -> Tensor:
    """The number of each element's segment."""
    import numpy as np

    outer, inner = tuple(data.shape[:d]), tuple(data.shape[d + 1 :])
    size, segments = data.shape[d], given.shape[-1]
    rows = given.reshape((-1, segments))
    numbers = np.zeros((rows.shape[0], size), "int64")
    for at, row in enumerate(rows):
        numbers[at] = np.repeat(np.arange(segments), row)
    index = moved(numbers.reshape((*outer, size)), _I64).reshape((*outer, size, *(1,) * len(inner)))
    segment: Tensor = index.expand(data.shape)
    return segment


def segment_reduce_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Keeps the elements, what they were reduced to, and the segments' lengths."""
    data, ctx.reduce, lengths, _, offsets, axis, _, ctx.initial = inputs
    ctx.d = wrap_dim(axis, data.dim())
    ctx.lengths = as_array(lengths if offsets is None else offsets.diff(dim=-1))
    ctx.save_for_backward(data, output)


def segment_reduce_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Of a sum the gradient itself, of a mean a share; equal extremes share it; of a product times all others."""
    data, output = ctx.saved_tensors
    d, aten = ctx.d, ops.aten
    index = _segments(data, ctx.lengths, d)

    def total(values: Tensor) -> Tensor:
        """Sums over segments, at each of their elements."""
        return aten.zeros_like(output).scatter_add(d, index, values.to(data.dtype)).gather(d, index)  # type: ignore[no-any-return]

    found, reached = grad.gather(d, index), output.gather(d, index)
    if ctx.reduce == "mean":
        found = found / total(aten.ones_like(data))
    elif ctx.reduce in ("max", "min"):
        chosen = (data == reached) | data.isnan()
        found = aten.where(chosen, found / total(chosen), 0.0)
    elif ctx.reduce == "prod":
        zero, unknown = data == 0, data.isnan()
        start = aten.full_like(output, 1.0 if ctx.initial is None else ctx.initial)
        rest = start.scatter_reduce(d, index, aten.where(zero | unknown, 1.0, data), "prod").gather(d, index)
        rest = aten.where(total(zero) - zero.to(data.dtype) > 0, rest * 0, rest)
        rest = aten.where(total(unknown) - unknown.to(data.dtype) > 0, math.nan, rest)
        found = found * aten.where(zero | unknown, rest, reached / data)
    return (found, *(None,) * 7)


def _reduced(data: Tensor, reduce: str, given: Any, d: int, initial: Any) -> Tensor:
    aten = ops.aten
    word, nothing = _REDUCTIONS[reduce]
    outer, inner = tuple(data.shape[:d]), tuple(data.shape[d + 1 :])
    segments = given.shape[-1]
    start = aten.full([*outer, segments, *inner], nothing if initial is None else initial, dtype=data.dtype)
    found: Tensor = aten.scatter_reduce(start, d, _segments(data, given, d), data, word)
    if reduce == "mean":
        lengths = moved(given.astype("int64"), _I64).reshape((*outer, segments, *(1,) * len(inner)))
        # A mean of nothing is NaN, or the initial value.
        divisor = lengths.clamp_min(0 if initial is None else 1).to(data.dtype)
        found = found / divisor
    return found


# ---------------------------------------------------------------- indices that may be outside
def _check_indices(self: Tensor, mask: Tensor, indices: Sequence[Tensor | None]) -> None:
    if len(indices) > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})")
    for index in indices:
        if index is not None and (index.is_floating_point() or index.is_complex()):
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, got {index.dtype}")
    if mask.dtype is not _DTYPES["bool"]:
        raise RuntimeError(f"expected the mask to be a boolean tensor, but got {mask.dtype}")


def _inside(self: Tensor, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    return [
        None if index is None else index.clamp(-self.shape[d], self.shape[d] - 1) for d, index in enumerate(indices)
    ]


def masked_index(self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: Any) -> Tensor:
    """Elements by indices where a mask holds, and a number elsewhere, where indices may be outside."""
    _check_indices(self, mask, indices)
    if not self.numel():
        size = tuple(self.shape)
        if not mask.numel() or not bool(mask.any().item()):
            result: Tensor = ops.aten.full(list(mask.shape), fill, dtype=self.dtype, device=self.device)
            return result
        raise IndexError(f"index is out of bounds of a tensor of size {list(size)}")
    found = ops.aten.index(self, _inside(self, indices))
    chosen: Tensor = ops.aten.where(mask, found, fill).to(self.dtype)
    return chosen


def masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> Tensor:
    """Values added by indices where a mask holds."""
    _check_indices(self, mask, indices)
    if not self.numel():
        return self.clone()  # type: ignore[no-any-return]
    added = ops.aten.where(mask, values, 0).to(self.dtype)
    result: Tensor = ops.aten.index_put(self, _inside(self, indices), added, True)
    return result


def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first ``size`` elements that are not 0, with ``fill_value`` in rows that are left."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = ops.aten.nonzero(self)
    count = min(found.shape[0], size)
    rest = ops.aten.full([size - count, self.dim()], fill_value, dtype=_I64, device=self.device)
    result: Tensor = ops.aten.cat([found.narrow(0, 0, count), rest], 0)
    return result


def nonzero_static_fake(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """``size`` rows of a number for each dimension."""
    return _core.alloc((size, self.dim()), _I64, self.device)


# ---------------------------------------------------------------- histograms, and hashes
def histogramdd(
    self: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """How many points, rows of their coordinates, are in each of the parts of a space; and the parts' ends."""
    if not self.is_cpu:  # counted there, and brought back
        given = bins if isinstance(bins, int) else [each.cpu() if isinstance(each, Tensor) else each for each in bins]
        counts, ends = histogramdd(self.cpu(), given, range, None if weight is None else weight.cpu(), density)
        return counts.to(self.device), [end.to(self.device) for end in ends]
    if self.dim() < 2:
        raise RuntimeError(
            "torch.histogramdd: input tensor should have at least 2 dimensions, but got " + str(self.dim())
        )
    if self.dtype not in (_F32, _F64):
        raise NotImplementedError(f"histogramdd() is not implemented for {self.dtype}")
    points = as_array(self).reshape((math.prod(self.shape[:-1]) if self.numel() else 0, self.shape[-1]))
    ndim = points.shape[1]
    given = [bins] * ndim if isinstance(bins, int) else list(bins)
    if len(given) != ndim:
        raise RuntimeError(
            f"torch.histogramdd(): The size of bins must be equal to the innermost dimension of the input. Expected "
            f"{ndim}, but got {len(given)}"
        )
    if range is not None and len(range) != 2 * ndim:
        raise RuntimeError(f"torch.histogramdd(): range should have {2 * ndim} elements, but got {len(range)}")
    if weight is not None and tuple(weight.shape) != tuple(self.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd(): if weight tensor is provided it should have the same shape as the input tensor "
            "excluding its innermost dimension"
        )
    edges = []
    for d, count in enumerate(given):
        if isinstance(count, Tensor):
            if count.dim() != 1 or not count.numel() or count.dtype is not self.dtype:
                raise RuntimeError("torch.histogramdd(): bins tensors should have one dimension and input's dtype")
            edges.append(count.clone())
            continue
        if count <= 0:
            raise RuntimeError(f"torch.histogramdd(): bins must be > 0, but got {count} for dimension {d}")
        if range is not None:
            low, high = (as_element(end, _F64) for end in range[2 * d : 2 * d + 2])
        elif len(points):
            low, high = points[:, d].min().item(), points[:, d].max().item()
        else:
            low, high = 0.0, 1.0
        if not (math.isfinite(low) and math.isfinite(high)) or low > high:
            raise RuntimeError(f"torch.histogramdd(): dimension {d}'s range [{low}, {high}] is not finite, or falls")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(ops.aten.linspace(low, high, count + 1, dtype=self.dtype))
    return binned(points, weight if len(points) else None, edges, density, self.dtype), edges


def binned(points: Any, weight: Tensor | None, edges: Sequence[Tensor], density: bool, target: dtype) -> Tensor:
    """How many points, rows of an array, or which weights, are between the ends of each dimension."""
    import numpy as np

    weights = np.ones(len(points)) if weight is None else as_array(weight).reshape(-1).astype("float64")
    ends = [as_array(edge) for edge in edges]
    inside, flat = np.ones(len(points), "bool"), np.zeros(len(points), "int64")
    for column, end in zip(points.T, ends, strict=True):
        inside &= (column >= end[0]) & (column <= end[-1])
        flat = flat * (len(end) - 1) + np.minimum(_bins_above(end, column) - 1, len(end) - 2)
    shape = [len(end) - 1 for end in ends]
    found = np.bincount(flat[inside], weights[inside], math.prod(shape)).reshape(shape)
    if density:
        found = found / found.sum()
        for d, end in enumerate(ends):
            found = found / np.diff(end).reshape([-1 if k == d else 1 for k in range(len(ends))])
    return as_tensor(found, target)


def _bins_above(ends: Any, values: Any) -> Any:
    """For each value the number of ends that are not above it, by halving, as PyTorch also of ends that do not rise."""
    import numpy as np

    first, count = np.zeros(len(values), "int64"), np.full(len(values), len(ends))
    while (count > 0).any():
        step = count // 2
        at = np.minimum(first + step, len(ends) - 1)
        behind = (count > 0) & ~(values < ends[at])
        first = np.where(behind, at + 1, first)
        count = np.where(behind, count - step - 1, step)
    return first


def hash_tensor(self: Tensor, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The bits of elements, as numbers of 64 bits, exclusively or-ed over dimensions."""
    import numpy as np

    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown mode {mode}, expected 0")
    if self.is_complex():
        raise NotImplementedError(f"hash_tensor() is not implemented for {self.dtype}")
    if not self.numel() and not dim:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    array = as_array(self)
    wide = array.astype("float64" if array.dtype.kind == "f" else "uint64" if array.dtype.kind == "u" else "int64")
    dims = wrap_dims(list(dim) or None, self.dim())
    found = np.bitwise_xor.reduce(wide.view("uint64"), axis=dims, keepdims=keepdim)
    return moved(found, _U64)


def hash_tensor_fake(self: Tensor, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """A number for each slice."""
    dims = wrap_dims(list(dim) or None, self.dim())
    shape = [1 if d in dims else n for d, n in enumerate(self.shape) if keepdim or d not in dims]
    return _core.alloc(tuple(shape), _U64, self.device)
