"""Joining and repeating tensors, and gradients of views; the views themselves are made in the core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._creation import from_numpy
from .._ops import ops
from ._contexts import saves
from .reduction import wrap_dim

__all__ = [
    "as_strided_backward",
    "as_strided_setup",
    "cat_backward",
    "cat_setup",
    "detach_",
    "permute_backward",
    "permute_setup",
    "repeat",
    "repeat_backward",
    "repeat_setup",
    "select_backward",
    "slice_backward",
    "slice_inverse",
    "split_backward",
    "split_setup",
    "stack_backward",
    "stack_setup",
    "unbind_backward",
    "unbind_setup",
]


def permute_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the inverse order."""
    self, dims = inputs
    order = [wrap_dim(d, self.dim()) for d in dims]
    ctx.inverse = tuple(sorted(range(len(order)), key=order.__getitem__))


def permute_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The dimensions back in their order."""
    return grad.permute(ctx.inverse), None


def slice_inverse(self: Tensor, src: Tensor, *slice: Any) -> Tensor:
    """The memory of ``self``, a slice of something that lies as ``src`` does, as the whole of that.

    Raises RuntimeError where the memory does not hold so much.
    """
    whole: Tensor = self.as_strided(src.shape, src.stride(), src.storage_offset())
    return whole


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
    there = not grad.is_cpu and not grad.is_meta  # one copy each way, as the indices are on the CPU
    given = ops.aten._to_copy(grad, device=_core.device("cpu")) if there else grad
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
        result = result / ops.aten._to_copy(_index(counts[shared]), dtype=result.dtype, device=result.device)
    result = ops.aten.reshape(result, list(ctx.shape))
    return ops.aten._to_copy(result, device=grad.device) if there else result, None, None, None


def _index(positions: Any) -> Tensor:
    """An index tensor of positions in memory."""
    return from_numpy(positions.ravel().copy())


def _positions(shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
    """Where in memory each element lies."""
    import numpy as np

    positions = np.full(tuple(shape), offset, dtype="int64")
    for d, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        positions += (np.arange(size) * stride).reshape([-1 if k == d else 1 for k in range(len(shape))])
    return positions


def detach_(self: Tensor) -> Tensor:
    """Nothing to do below autograd, which has taken the tensor out of the graph."""
    return self


@saves(dim="dim")
def split_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the input's shape, and the parts' sizes."""
    self, dim = inputs[0], inputs[-1]
    ctx.dim = wrap_dim(dim, self.dim())
    ctx.shapes = [part.shape for part in output]


def split_backward(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """The parts' gradients joined; zeros for a part that was not used."""
    return _joined_gradients(grads, ctx.shapes, ctx.dim), None, None


@saves(dim="dim")
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
    known = next((grad for grad in grads if grad is not None), None)
    if known is None:
        return None
    parts = [known.new_zeros(shape) if grad is None else grad for grad, shape in zip(grads, shapes, strict=True)]
    result: Tensor = ops.aten.cat.default(parts, dim)
    return result


def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor repeated along its dimensions, in memory of its own."""
    shape = (*(1,) * (len(repeats) - self.dim()), *self.shape)
    if len(shape) > len(repeats):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    apart = _core.shaped(self, [n for size in shape for n in (1, size)])
    spread = _core.expanded(apart, [n for size, count in zip(shape, repeats, strict=True) for n in (count, size)])
    return _core.viewed(_core.copied_to(spread), [size * count for size, count in zip(shape, repeats, strict=True)])


@saves(repeats="repeats", self_sym_sizes="shape")
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


@saves(dim="dim")
def cat_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the parts' shapes."""
    tensors, ctx.dim = inputs
    ctx.shapes = [tensor.shape for tensor in tensors]


def cat_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient cut where the parts were joined."""
    dim, start, parts = 0 if grad.shape == (0,) else wrap_dim(ctx.dim, grad.dim()), 0, []
    for shape in ctx.shapes:
        if shape == (0,):  # counted as nothing
            parts.append(grad.new_zeros((0,)))
            continue
        parts.append(grad.slice(dim, start, start + shape[dim], 1).reshape(shape))
        start += shape[dim]
    return parts, None


@saves(dim="dim")
def stack_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the new dimension."""
    ctx.dim = wrap_dim(inputs[1], output.dim())


def stack_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient's slices."""
    return list(grad.unbind(ctx.dim)), None


def view_dtype(self: Tensor, dtype: _core.dtype) -> Tensor:
    """The same bytes as elements of another dtype; one of another size takes the last dimension along."""
    if dtype is not self.dtype and _core.is_lazy(self):
        kept = "conjugate view tensors" if _core.is_kept(self, "Conjugate") else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {kept} when converting to a different dtype.")
    old, new = self.dtype.itemsize, dtype.itemsize
    sizes, strides, offset = list(self.shape), list(self.stride()), self.storage_offset()
    if old != new:
        as_what = f"to view {self.dtype} as {dtype} (different element sizes)"
        if not sizes:
            raise RuntimeError(f"self.dim() cannot be 0 {as_what}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {as_what}, but got {strides[-1]}")
        if new > old:
            ratio = new // old
            for what, number in (("size(-1)", sizes[-1]), ("storage_offset()", offset)):
                if number % ratio:
                    raise RuntimeError(f"self.{what} must be divisible by {ratio} {as_what}, but got {number}")
            for at, step in enumerate(strides[:-1]):
                if step % ratio:
                    raise RuntimeError(f"self.stride({at}) must be divisible by {ratio} {as_what}, but got {step}")
                strides[at] = step // ratio
            sizes[-1], offset = sizes[-1] // ratio, offset // ratio
        else:
            ratio = old // new
            sizes[-1], offset = sizes[-1] * ratio, offset * ratio
            strides[:-1] = [step * ratio for step in strides[:-1]]
    blank = _core.alloc((0,), dtype, self.device)
    return _core.set_to_part(blank, self.untyped_storage(), offset, sizes, strides)
