"""Views over the core's ``as_strided``, on every device; operators composed of them; and cat."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .creation import to_copy
from .reduction import wrap_dim, wrap_dims

__all__ = [
    "alias",
    "as_strided",
    "as_strided_backward",
    "as_strided_setup",
    "cat",
    "cat_backward",
    "cat_fake",
    "cat_setup",
    "chunk",
    "detach_",
    "expand",
    "movedim",
    "permute",
    "permute_backward",
    "permute_setup",
    "repeat",
    "repeat_backward",
    "repeat_setup",
    "reshape",
    "select",
    "select_backward",
    "slice",
    "slice_backward",
    "split",
    "split_backward",
    "split_setup",
    "split_with_sizes",
    "squeeze",
    "squeeze_dim",
    "squeeze_dims",
    "stack",
    "stack_backward",
    "stack_fake",
    "stack_setup",
    "t",
    "transpose",
    "unbind",
    "unbind_backward",
    "unbind_setup",
    "unsqueeze",
    "view",
]


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """``shape`` with the -1 in it, if there is one, worked out from the number of elements."""
    sizes = tuple(int(n) for n in shape)
    known = math.prod(n for n in sizes if n != -1)
    wild = sizes.count(-1)
    if wild > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in sizes):
        raise RuntimeError(
            f"invalid shape dimension {min(sizes)} at index {sizes.index(min(sizes))} of shape {list(sizes)}"
        )
    if wild and known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of {numel} elements into shape {list(sizes)} because the unspecified dimension "
            "size -1 can be any value and is ambiguous"
        )
    if (numel % known if wild else numel != known) and not (wild and known == 0):
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")
    return tuple(numel // known if n == -1 else n for n in sizes)


def view_strides(self: Tensor, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Strides that show self's elements in another shape, or None where no strides do.

    Runs of self's dimensions that follow one another in memory can be divided anew; others cannot.
    """
    if self.numel() == 0 or self.is_contiguous():
        return _row_major(shape)
    runs: list[list[int]] = []  # [elements, stride of the last dimension]
    for size, stride in zip(self.shape, self.stride(), strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = [runs[-1][0] * size, stride]
        else:
            runs.append([size, stride])
    strides = [1] * len(shape)
    run = len(runs) - 1
    left, step = runs[run] if runs else (1, 1)
    for d in range(len(shape) - 1, -1, -1):
        if shape[d] == 1:
            strides[d] = step
            continue
        if left == 1:
            run -= 1
            left, step = runs[run]
        if left % shape[d]:
            return None
        strides[d] = step
        left, step = left // shape[d], step * shape[d]
    return tuple(strides)


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [1] * len(shape), 1
    for d in range(len(shape) - 1, -1, -1):
        strides[d] = step
        step = _wrapped(step * max(shape[d], 1))
    return tuple(strides)


def _wrapped(step: int) -> int:
    """A step of 64 bits: beyond them only tensors without elements have dimensions."""
    return (step + 2**63) % 2**64 - 2**63


def view(self: Tensor, size: Sequence[int]) -> Tensor:
    """The same elements in another shape."""
    made = _core.reshaped(self, size)
    if made is not None:
        return made
    shape = infer_size(size, self.numel())
    strides = view_strides(self, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return _core.as_strided(self, shape, strides)


def as_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """A view of the storage with any size, stride and offset."""
    return _core.as_strided(self, size, stride, storage_offset)


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    order = list(range(self.dim()))
    a, b = wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim())
    if order:
        order[a], order[b] = order[b], order[a]
    return _core.with_dims(self, order)


def t(self: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return _core.with_dims(self, tuple(range(self.dim()))[::-1])


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """The dimensions in another order."""
    if len(dims) != self.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.dim()} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, self.dim()) for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _core.with_dims(self, order)


def permute_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the inverse order."""
    self, dims = inputs
    order = [wrap_dim(d, self.dim()) for d in dims]
    ctx.inverse = tuple(sorted(range(len(order)), key=order.__getitem__))


def permute_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The dimensions back in their order."""
    return grad.permute(ctx.inverse), None


def as_strided_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps what the view covers of the input."""
    self, size, stride, offset = inputs
    ctx.shape, ctx.strides, ctx.offset = self.shape, self.stride(), self.storage_offset()
    ctx.view = tuple(size), tuple(stride), self.storage_offset() if offset is None else offset


def as_strided_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Adds up the gradient at the places of memory that the view showed, as often as it showed them.

    Of operators, so that it can be differentiated, and taken of a batch.
    """
    import numpy as np

    size, stride, offset = ctx.view
    start = min(offset, ctx.offset)
    reach = [
        origin - start + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) + 1
        for origin, shape, steps in ((offset, size, stride), (ctx.offset, ctx.shape, ctx.strides))
        if math.prod(shape) > 0
    ]
    given = ops.aten._to_copy(grad, device=_core.device("cpu")) if grad.device.type == "npu" else grad
    memory = ops.aten.index_put(
        ops.aten.new_zeros(given, [max(reach, default=0)]),
        [_index(_positions(size, stride, offset - start))],
        ops.aten.reshape(given, [-1]),
        True,
    )
    shared = _positions(ctx.shape, ctx.strides, ctx.offset - start).ravel()
    result = ops.aten.index(memory, [_index(shared)])
    counts = np.bincount(shared, minlength=1)
    if counts.max() > 1:  # elements of the input share a place, and its gradient
        result = result / ops.aten._to_copy(_index(counts[shared]), dtype=result.dtype)
    result = ops.aten.reshape(result, list(ctx.shape))
    return ops.aten._to_copy(result, device=grad.device) if given is not grad else result, None, None, None


def _index(positions: Any) -> Tensor:
    """An index tensor of positions in memory."""
    from .random import _write

    return _write(_core.alloc(positions.size, _core.dtypes["int64"], _core.device("cpu")), positions.ravel())


def _positions(shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
    """Where in memory each element lies."""
    import numpy as np

    positions = np.full(tuple(shape), offset, dtype="int64")
    for d, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        positions += (np.arange(size) * stride).reshape([-1 if k == d else 1 for k in range(len(shape))])
    return positions


def expand(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 repeated without a copy; -1 keeps a size."""
    result = _core.expanded(self, size)
    if result is None:
        raise _not_expandable(self, size)
    return result


def _not_expandable(self: Tensor, size: Sequence[int]) -> RuntimeError:
    new = len(size) - self.dim()
    if new < 0:
        return RuntimeError(
            f"expand({self.dtype}{list(self.shape)}, size={list(size)}): the number of sizes provided ({len(size)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({self.dim()})"
        )
    for d, wanted in enumerate(size):
        own = self.shape[d - new] if d >= new else 1
        if wanted == -1 and d < new:
            return RuntimeError(
                f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing dimension {d}"
            )
        if wanted not in (-1, own) and own != 1:
            return RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({own}) at non-singleton "
                f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
    return RuntimeError(f"expand: sizes other than -1 must not be negative, got {list(size)}")


def select(self: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which is left out."""
    if self.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, self.dim())
    size = self.size(d)
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    return _core.sliced(self, d, index % size, -1, 1)


def slice(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """A range of a dimension, cut to what there is."""
    if self.dim() == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, self.dim())
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, _ = builtins.slice(start, end).indices(self.size(d))
    return _core.sliced(self, d, first, max(0, -((first - last) // step)), step)


def squeeze(self: Tensor) -> Tensor:
    """Dimensions of size 1 left out."""
    return _core.with_dims(self, [d for d, size in enumerate(self.shape) if size != 1])


def squeeze_dim(self: Tensor, dim: int) -> Tensor:
    """A dimension left out if its size is 1."""
    return squeeze_dims(self, (dim,))


def squeeze_dims(self: Tensor, dim: Sequence[int]) -> Tensor:
    """Dimensions left out where their size is 1."""
    given = wrap_dims(dim, self.dim()) if dim else ()
    return _core.with_dims(self, [d for d, size in enumerate(self.shape) if size != 1 or d not in given])


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 put in."""
    d = wrap_dim(dim, self.dim() + 1)
    shape, strides = list(self.shape), list(self.stride())
    strides.insert(d, strides[d] * shape[d] if d < len(shape) else 1)
    shape.insert(d, 1)
    return _core.as_strided(self, shape, strides)


def alias(self: Tensor) -> Tensor:
    """The same tensor as a view."""
    return _core.shallow_detach(self)


def detach_(self: Tensor) -> Tensor:
    """Nothing to do below autograd, which has taken the tensor out of the graph."""
    return self


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape, as a view where that is possible."""
    made = _core.reshaped(self, shape)
    if made is not None:
        return made
    sizes = infer_size(shape, self.numel())
    strides = view_strides(self, sizes)
    if strides is not None:
        return _core.as_strided(self, sizes, strides)
    return view(to_copy(self), sizes)


def movedim(self: Tensor, source: int, destination: int) -> Tensor:
    """A dimension moved to another position."""
    order = list(range(self.dim()))
    first, last = wrap_dim(source, self.dim()), wrap_dim(destination, self.dim())
    if order:
        order.insert(last, order.pop(first))
    return _core.with_dims(self, order)


_MANY, _VIEW = 1 << 20, 256  # views that are made without asking, and bytes that one takes, at least


def _require_memory(count: int) -> None:
    """Raises RuntimeError where so many views do not fit in memory, before the first of them is made."""
    if count > _MANY:
        _core.alloc((count, _VIEW), _core.dtypes["uint8"], _core.device("cpu"))


def unbind(self: Tensor, dim: int) -> list[Tensor]:
    """The slices along a dimension, which is left out."""
    if self.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    count = self.shape[wrap_dim(dim, self.dim())]
    _require_memory(count)
    return [select(self, dim, i) for i in range(count)]


def _require_dimension(name: str, self: Tensor) -> None:
    if self.dim() == 0:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")


def split(self: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """Parts of ``split_size`` along a dimension; the last may be smaller."""
    _require_dimension("split", self)
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    size = self.shape[wrap_dim(dim, self.dim())]
    if split_size == 0 and size != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    starts = range(0, max(size, 1), max(split_size, 1))
    _require_memory(len(starts))
    return [slice(self, dim, start, min(start + split_size, size), 1) for start in starts]


def split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int) -> list[Tensor]:
    """Parts of the given sizes along a dimension."""
    _require_dimension("split", self)
    size = self.shape[wrap_dim(dim, self.dim())]
    if sum(split_sizes) != size or any(n < 0 for n in split_sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    parts, start = [], 0
    for length in split_sizes:
        parts.append(slice(self, dim, start, start + length, 1))
        start += length
    return parts


def chunk(self: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """At most ``chunks`` parts of equal size along a dimension; the last may be smaller."""
    _require_dimension("chunk", self)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = self.shape[wrap_dim(dim, self.dim())]
    if size == 0:
        _require_memory(chunks)
        return split_with_sizes(self, [0] * chunks, dim)
    return split(self, -(-size // chunks), dim)


def split_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the input's shape, and the parts' sizes."""
    self, dim = inputs[0], inputs[-1]
    ctx.dim = wrap_dim(dim, self.dim())
    ctx.shapes = [part.shape for part in output]


def split_backward(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """The parts' gradients joined; zeros for a part that was not used."""
    return _joined_gradients(grads, ctx.shapes, ctx.dim), None, None


def unbind_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the dimension, and the slices' shape."""
    self, dim = inputs
    ctx.dim = wrap_dim(dim, self.dim())
    ctx.shapes = [part.shape for part in output]


def unbind_backward(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """The slices' gradients stacked; zeros for a slice that was not used."""
    whole = [None if grad is None else grad.unsqueeze(ctx.dim) for grad in grads]
    shapes = [(*shape[: ctx.dim], 1, *shape[ctx.dim :]) for shape in ctx.shapes]
    return _joined_gradients(whole, shapes, ctx.dim), None


def _joined_gradients(grads: Sequence[Tensor | None], shapes: Sequence[Sequence[int]], dim: int) -> Tensor | None:
    import mindtorch_v2 as torch

    known = next((grad for grad in grads if grad is not None), None)
    if known is None:
        return None
    parts = [known.new_zeros(shape) if grad is None else grad for grad, shape in zip(grads, shapes, strict=True)]
    result: Tensor = torch.ops.aten.cat.default(parts, dim)
    return result


def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor repeated along its dimensions, in memory of its own."""
    shape = (*(1,) * (len(repeats) - self.dim()), *self.shape)
    if len(shape) > len(repeats):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    apart = reshape(self, [n for size in shape for n in (1, size)])
    spread = expand(apart, [n for size, count in zip(shape, repeats, strict=True) for n in (count, size)])
    return view(to_copy(spread), [size * count for size, count in zip(shape, repeats, strict=True)])


def repeat_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the shape and the counts."""
    self, ctx.repeats = inputs
    ctx.shape = self.shape


def repeat_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of all repetitions, summed."""
    shape = (*(1,) * (len(ctx.repeats) - len(ctx.shape)), *ctx.shape)
    apart = grad.reshape([n for size, count in zip(shape, ctx.repeats, strict=True) for n in (count, size)])
    return apart.sum(tuple(range(0, 2 * len(shape), 2))).reshape(ctx.shape), None


# ---------------------------------------------------------------- gradients of views, and cat
def select_backward(grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Tensor:
    """Zeros with the gradient at one index of a dimension."""
    result: Tensor = grad_output.new_zeros(input_sizes)
    result.select(dim, index).copy_(grad_output)
    return result


def slice_backward(
    grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Tensor:
    """Zeros with the gradient in a range of a dimension."""
    result: Tensor = grad_output.new_zeros(input_sizes)
    result.slice(dim, start, end, step).copy_(grad_output)
    return result


def _joined(tensors: Sequence[Tensor], dim: int) -> tuple[int, list[Tensor], list[int], Any]:
    """The dimension, the tensors that count, the result's shape and dtype. Raises where sizes differ elsewhere."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    shapes: list[tuple[int, ...]] = [tensor.shape for tensor in tensors]
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    parts = list(tensors)
    if (0,) in shapes:  # counts as nothing, as in PyTorch
        parts = [tensor for tensor in tensors if tensor.shape != (0,)] or parts[:1]
    d = 0 if parts[0].shape == (0,) else wrap_dim(dim, parts[0].dim())  # where none counts no dimension is wrong
    shape = list(parts[0].shape)
    for i, part in enumerate(parts[1:], 1):
        if part.dim() != len(shape):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(shape)} and {part.dim()}")
        for k, size in enumerate(part.shape):
            if k != d and size != shape[k]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {shape[k]} but got size "
                    f"{size} for tensor number {i} in the list."
                )
        shape[d] += part.shape[d]
    return d, parts, shape, _core.common_dtype(*tensors)


def cat_fake(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The result of `cat` without its values."""
    _, _, shape, target = _joined(tensors, dim)
    return _core.alloc(shape, target, tensors[0].device)


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors joined along a dimension."""
    d, parts, shape, target = _joined(tensors, dim)
    result, start = _core.alloc(shape, target, tensors[0].device), 0
    for part in parts:
        slice(result, d, start, start + part.shape[d], 1).copy_(part)
        start += part.shape[d]
    return result


def cat_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the parts' sizes."""
    tensors, dim = inputs
    ctx.dim = 0 if output.shape == (0,) else wrap_dim(dim, output.dim())
    ctx.sizes = [0 if tuple(tensor.shape) == (0,) else tensor.shape[ctx.dim] for tensor in tensors]
    ctx.shapes = [tensor.shape for tensor in tensors]


def cat_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient cut where the parts were joined."""
    starts = [sum(ctx.sizes[:i]) for i in range(len(ctx.sizes))]
    parts = [
        grad.slice(ctx.dim, start, start + size, 1).reshape(shape) if tuple(shape) != (0,) else grad.new_zeros((0,))
        for start, size, shape in zip(starts, ctx.sizes, ctx.shapes, strict=True)
    ]
    return parts, None


def _stackable(tensors: Sequence[Tensor], dim: int) -> list[Tensor]:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    dim = wrap_dim(dim, tensors[0].dim() + 1)
    for i, tensor in enumerate(tensors):
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(tensor.shape)} at entry {i}"
            )
    return [unsqueeze(tensor, dim) for tensor in tensors]


def stack_fake(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The result of `stack` without its values."""
    return cat_fake(_stackable(tensors, dim), dim)


def stack(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors joined along a new dimension."""
    return cat(_stackable(tensors, dim), dim)


def stack_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the new dimension."""
    ctx.dim = wrap_dim(inputs[1], output.dim())


def stack_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient's slices."""
    return list(grad.unbind(ctx.dim)), None
