"""Elements in another order or shape: flips, rolls, diagonals, triangles, dimensions, mostly of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import bits, moved
from ._native import native
from .reduction import wrap_dim, wrap_dims, written

_I64, _I32, _BOOL = (_core.dtypes[name] for name in ("int64", "int32", "bool"))


# ---------------------------------------------------------------- order
def fill_into(self: Tensor, value: Tensor, *, out: Tensor) -> Tensor:
    """``self`` with every element set to ``value``, in ``out``."""
    return written((out,), (ops.aten.fill.Tensor(self, value),))[0]


def flip(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Elements in reverse along dimensions."""
    gone = flipped(self, dims)
    if not gone:
        copy: Tensor = self.clone()
        return copy
    result = _core.alloc(self.shape, self.dtype, self.device)
    native("mt_flip", "desc", "desc", "u64")(self.contiguous(), result, sum(1 << d for d in gone))
    return result


def flip_fake(self: Tensor, dims: Sequence[int]) -> Tensor:
    """A tensor of the same size; the dimensions are checked."""
    flipped(self, dims)
    return _core.alloc(self.shape, self.dtype, self.device)


def flipped(self: Tensor, dims: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that are reversed, each once."""
    return wrap_dims(dims, self.dim()) if dims else ()


def fliplr(self: Tensor) -> Tensor:
    """Columns in reverse."""
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    result: Tensor = ops.aten.flip(self, [1])
    return result


def flipud(self: Tensor) -> Tensor:
    """Rows in reverse."""
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    result: Tensor = ops.aten.flip(self, [0])
    return result


def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Elements moved along dimensions, what leaves at the end coming back at the front; without dimensions flat."""
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        flat: Tensor = roll(self.reshape((-1,)), shifts, (0,)).reshape(self.shape)
        return flat
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not self.dim():
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    result = self
    for shift, dim in zip(shifts, dims, strict=True):
        d = wrap_dim(dim, self.dim())
        size = self.shape[d] if self.dim() else 1
        cut = -shift % size if size else 0
        if cut:
            result = ops.aten.cat([result.narrow(d, cut, size - cut), result.narrow(d, 0, cut)], d)
    return self.clone() if result is self else result


def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by 90 degrees ``k`` times in the plane of two dimensions, from the first to the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    for dim in dims:
        wrap_dim(dim, self.dim())
    first, second = dims
    if first == second or abs(first - second) == self.dim():
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}")
    turns = k % 4
    if turns == 1:
        turned = ops.aten.flip(self, [second]).transpose(first, second)
    elif turns == 2:
        turned = ops.aten.flip(self, [first, second])
    elif turns == 3:
        turned = ops.aten.flip(self, [first]).transpose(first, second)
    else:
        turned = self
    result: Tensor = turned.clone()
    return result


def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Repeated along its last dimensions."""
    counts = (*(1,) * (self.dim() - len(dims)), *dims)
    result: Tensor = self.repeat(counts)
    return result


def repeats_of(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """Each number as often as ``repeats`` says: the indices for `repeat_interleave`."""
    import numpy as np

    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (_I64, _I32):
        raise NotImplementedError("repeats has to be Long or Int tensor")
    counts = bits(repeats)
    if not counts.size:
        return moved(counts, repeats.dtype)
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and output_size != counts.sum():
        raise RuntimeError("allocated size does not match required size")
    return moved(np.repeat(np.arange(counts.size), counts), repeats.dtype)


def repeats_of_fake(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """As many as ``output_size`` says."""
    if output_size is None:
        raise NotImplementedError("aten::repeat_interleave: its size is data-dependent: give output_size")
    return _core.alloc((output_size,), repeats.dtype, repeats.device)


def repeat_interleave(self: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Slices along a dimension repeated, each as often as ``repeats`` says; without a dimension of the flat tensor."""
    aten = ops.aten
    given = self.reshape((-1,)) if dim is None else self
    if isinstance(repeats, Tensor) and repeats.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    d = wrap_dim(dim or 0, given.dim())
    if not isinstance(repeats, Tensor) and repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if not given.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    size = given.shape[d]
    if not isinstance(repeats, Tensor):
        repeats = aten.full([size], repeats, dtype=_I64, device=self.device)
    elif repeats.dim() == 0 or (repeats.dim() == 1 and repeats.shape[0] == 1):
        repeats = repeats.reshape((1,)).expand((size,))
    elif repeats.shape[0] != size:
        raise RuntimeError("repeats must have the same size as input along dim")
    index = aten.repeat_interleave.Tensor(repeats.contiguous(), output_size=output_size)
    result: Tensor = given.index_select(d, index)
    return result


# ---------------------------------------------------------------- diagonals and triangles
def diagonal_backward(grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of a size, with ``grad_output`` in a diagonal."""
    result: Tensor = grad_output.new_zeros(input_sizes)
    result.diagonal(offset, dim1, dim2).copy_(grad_output)
    return result


def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Zeros, with the last dimension in the diagonal of two dimensions."""
    ndim = self.dim() + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, size)
    result: Tensor = ops.aten.diagonal_backward(self, shape, offset, first, second)
    return result


def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a diagonal matrix, or the diagonal of a matrix."""
    if self.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    found = self.diag_embed(diagonal) if self.dim() == 1 else self.diagonal(diagonal).clone()
    result: Tensor = found
    return result


def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """The elements as a diagonal matrix."""
    result: Tensor = self.reshape((-1,)).diag(offset)
    return result


def diagonal_scatter(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """``src`` in the diagonal of a copy."""
    result = self.clone()
    target = result.diagonal(offset, dim1, dim2)
    if target.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(target.shape)}"
        )
    target.copy_(src)
    return result  # type: ignore[no-any-return]


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """The diagonal set to a number; with ``wrap`` that of a tall matrix goes on after a row."""
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    count = min(self.shape)
    if self.dim() == 2 and wrap and self.shape[0] > self.shape[1]:
        columns = self.shape[1]
        for start in range(0, self.shape[0], columns + 1):
            rows = min(columns, self.shape[0] - start)
            self.narrow(0, start, rows).diagonal().fill_(fill_value)
        return self
    self.as_strided((count,), (step,), self.storage_offset()).fill_(fill_value)
    return self


def tril(self: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle; 0 elsewhere."""
    return _triangle("tril", self, diagonal)


def triu(self: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle; 0 elsewhere."""
    return _triangle("triu", self, diagonal)


def _triangle(name: str, self: Tensor, diagonal: int) -> Tensor:
    result = _core.alloc(self.shape, self.dtype, self.device)
    native("mt_triangle", "desc", "desc", "i64", "bool_")(self.contiguous(), result, diagonal, name == "tril")
    return result


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    """The places of the lower triangle of a matrix: rows above columns."""
    return _triangle_indices("tril", row, col, offset, dtype, device)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    """The places of the upper triangle of a matrix: rows above columns."""
    return _triangle_indices("triu", row, col, offset, dtype, device)


def _below(rows: int, columns: int, offset: int) -> int:
    """How many places of a matrix are on and below a diagonal."""
    first = min(max(-offset, 0), rows)  # rows before it have none, those from the last on all
    last = min(max(columns - offset, first), rows)
    return (last - first) * (first + last + 1 + 2 * offset) // 2 + (rows - last) * columns


def _triangle_indices(name: str, rows: int, columns: int, offset: int, dtype: Any, device: Any) -> Tensor:
    for word, size in (("row", rows), ("col", columns)):
        if size < 0:
            raise RuntimeError(f"{word} must be non-negative, got {size}")
    below = _below(rows, columns, offset if name == "tril" else offset - 1)
    result = _core.alloc((2, below if name == "tril" else rows * columns - below), _I64, _core.device("cpu"))
    if result.numel():
        fill = native("mt_triangle_indices", "desc", "i64", "i64", "i64", "bool_")
        fill(result, rows, columns, offset, name == "tril")
    changed: Tensor = result.to(device=_core.device("cpu") if device is None else device, dtype=dtype or _I64)
    return changed


def trace(self: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if self.dim() != 2:
        raise RuntimeError("trace: expected a matrix")
    result: Tensor = self.diagonal().sum()
    return result


# ---------------------------------------------------------------- dimensions
def movedims(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """Dimensions moved to other positions; the others keep their order."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the "
            "same number of "
            f"dims as destination ({list(destination)} dims)"
        )
    if not source:
        alone: Tensor = ops.aten.alias(self)
        return alone
    start, end = ([wrap_dim(d, self.dim()) for d in dims] for dims in (source, destination))
    for word, dims, given in (("source", start, source), ("destination", end, destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{word}` ({list(given)})")
    if not self.dim():
        return ops.aten.alias(self)  # type: ignore[no-any-return]
    order = [-1] * self.dim()
    for a, b in zip(start, end, strict=True):
        order[b] = a
    rest = iter(d for d in range(self.dim()) if d not in start)
    result: Tensor = self.permute([next(rest) if d < 0 else d for d in order])
    return result


def narrowed(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    """Elements of a dimension from the value of a tensor on."""
    result: Tensor = self.narrow(dim, start.item(), length)
    return result


def matrix_h(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated; a tensor without dimensions as it is."""
    if self.dim() not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.")
    turned = self.transpose(0, 1) if self.dim() else self
    result: Tensor = ops.aten.conj(turned) if self.is_complex() else turned
    return result


def adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated."""
    if self.dim() == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    turned = self.transpose(-2, -1) if self.dim() else self
    result: Tensor = ops.aten.conj(turned) if self.is_complex() else turned
    return result


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all slices of a size along a dimension, ``step`` apart; a slice's elements are a last dimension."""
    d = wrap_dim(dimension, self.dim())
    length = self.shape[d] if self.dim() else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.dim():
        return _core.as_strided(self, (size,), (1,), self.storage_offset())
    stride = self.stride()
    shape, steps = [*self.shape, size], [*stride, stride[d]]
    shape[d], steps[d] = (length - size) // step + 1, stride[d] * step
    return _core.as_strided(self, tuple(shape), tuple(steps), self.storage_offset())


def unfold_backward(grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Tensor:
    """The gradients of all slices added up where they overlap."""
    aten = ops.aten
    d = wrap_dim(dim, len(input_sizes))
    if not input_sizes:
        single: Tensor = grad_in.sum()
        return single
    if grad_in.dim() != len(input_sizes) + 1:
        raise RuntimeError(
            f"unfold_backward: expected a gradient of {len(input_sizes) + 1} dimensions, got {grad_in.dim()}"
        )
    count = grad_in.shape[d]
    starts = aten.arange(0, count * step, step, device=grad_in.device) if count else aten.zeros([0], dtype=_I64)
    index = (starts.unsqueeze(1) + aten.arange(size, device=grad_in.device)).reshape((-1,))
    slices = grad_in.movedim(-1, d + 1).reshape((*input_sizes[:d], count * size, *input_sizes[d + 1 :]))
    zeros = grad_in.new_zeros(input_sizes)
    result: Tensor = zeros.index_put([*[None] * d, index], slices, True)
    return result


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """A dimension made several, of which one size may be -1."""
    d = wrap_dim(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    length = self.shape[d] if self.dim() else 1
    known = [size for size in sizes if size != -1]
    product = 1
    for size in known:
        product *= size
    whole = list(sizes)
    if len(known) + 1 == len(whole) and product and length % product == 0:
        whole[whole.index(-1)] = length // product
        product = length
    if product != length or -1 in whole:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({length}) in "
            "the input tensor"
        )
    result: Tensor = self.reshape((*self.shape[:d], *whole, *self.shape[d + 1 :]))
    return result


def at_least_1d(self: Tensor) -> Tensor:
    """A tensor of one dimension at least."""
    result: Tensor = self.reshape((1,)) if self.dim() == 0 else self
    return result


def at_least_2d(self: Tensor) -> Tensor:
    """A tensor of two dimensions at least; a vector is a row."""
    result: Tensor = self.reshape((1, 1)) if self.dim() == 0 else self.unsqueeze(0) if self.dim() == 1 else self
    return result


def at_least_3d(self: Tensor) -> Tensor:
    """A tensor of three dimensions at least."""
    if self.dim() > 2:
        return self
    result: Tensor = self.unsqueeze(-1) if self.dim() == 2 else at_least_2d(self).unsqueeze(-1)
    return result


def all_at_least_1d(tensors: Sequence[Tensor]) -> list[Tensor]:
    """`at_least_1d` of each."""
    return [at_least_1d(tensor) for tensor in tensors]


def all_at_least_2d(tensors: Sequence[Tensor]) -> list[Tensor]:
    """`at_least_2d` of each."""
    return [at_least_2d(tensor) for tensor in tensors]


def all_at_least_3d(tensors: Sequence[Tensor]) -> list[Tensor]:
    """`at_least_3d` of each."""
    return [at_least_3d(tensor) for tensor in tensors]


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (steps_i, ...) side by side: (longest, sequences, ...), with ``batch_first`` (sequences, longest, ...).

    Raises RuntimeError for none, for inner dimensions that differ, and for a side that there is not.
    """
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest, inner = max(each.size(0) for each in sequences), list(sequences[0].shape[1:])
    padded = []
    for each in sequences:
        if list(each.shape[1:]) != inner:
            raise RuntimeError(
                f"pad_sequence: all dimensions but the first must be {inner}, as the first sequence's, got "
                f"{list(each.shape[1:])}"
            )
        more = each.new_full((longest - each.size(0), *inner), padding_value).to(sequences[0].dtype)
        padded.append(ops.aten.cat([each, more] if padding_side == "right" else [more, each]))
    result: Tensor = ops.aten.stack(padded, 0 if batch_first else 1)
    return result
