"""Rows of a table at indices, one by one or in bags, and the gradients that go back to them."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..autograd import no_grad
from ._contexts import saves
from ._native import native

_DTYPES = _core.dtypes
_F32, _F64, _I32, _I64 = (_DTYPES[name] for name in ("float32", "float64", "int32", "int64"))
_CPU = _core.device("cpu")
SUM, MEAN, MAX = 0, 1, 2
_NO_END, _END, _END_OF_ALL = 0, 1, 2  # where the last bag ends: what `mt_embedding_bag` is told


def _refuse_sparse(name: str, sparse: bool) -> None:
    """Raises NotImplementedError where a sparse gradient is asked for, as soon as there is to be one."""
    if sparse:
        raise NotImplementedError(f"{name}(sparse=True): sparse gradients are not supported; gradients are dense")


@saves(indices=0, padding_idx="padding_idx", scale_grad_by_freq="scale_grad_by_freq")
def embedding_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the indices, and what the gradient depends on."""
    weight, indices, ctx.padding_idx, ctx.scale_grad_by_freq, sparse = inputs
    _refuse_sparse("embedding", sparse)
    ctx.rows = weight.shape[0]
    ctx.save_for_backward(indices)


def embedding_gradient(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient added where the rows came from, except in the row of padding."""
    (indices,) = ctx.saved_tensors
    back = ops.aten.embedding_dense_backward
    return back(grad, indices, ctx.rows, ctx.padding_idx, ctx.scale_grad_by_freq), None, None, None, None


def _counts(indices: Tensor, rows: int) -> Tensor:
    """How often each row is used."""
    found: Tensor = ops.aten.bincount(indices.reshape((-1,)), minlength=rows)
    return found


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of a table of ``num_weights`` rows; half precision is summed in float32."""
    if indices.dtype not in (_I32, _I64):
        raise RuntimeError(f"embedding_dense_backward(): expected indices of dtype int32 or int64, got {indices.dtype}")
    if not grad_output.is_floating_point():
        raise NotImplementedError(f"embedding_dense_backward(): not implemented for {grad_output.dtype}")
    if not grad_output.dim() or tuple(grad_output.shape[:-1]) != tuple(indices.shape) or num_weights < 0:
        raise RuntimeError(
            f"embedding_dense_backward(): a grad_output of shape {list(grad_output.shape)} is not of indices of "
            f"{list(indices.shape)}, and a table of {num_weights} rows"
        )
    rows = indices.to(_I64).contiguous().reshape((-1,))
    wide = grad_output.dtype if grad_output.dtype in (_F32, _F64) else _F32
    width = grad_output.shape[-1]
    out = _core.alloc((num_weights, width), wide, _CPU).zero_()
    if rows.numel() and width:
        _check_rows("embedding_dense_backward", rows, num_weights)
        each = grad_output.to(wide).contiguous().reshape((rows.numel(), width))
        counts = _counts(rows, num_weights) if scale_grad_by_freq else None
        native("mt_embedding_backward", "desc", "ptr", "ptr", "desc", "i64")(each, rows, counts, out, padding_idx)
    result: Tensor = out.to(grad_output.dtype)
    return result


def _check_rows(name: str, rows: Tensor, count: int) -> None:
    """Raises IndexError for an index that a table does not have."""
    if bool(((rows < 0) | (rows >= count)).any().item()):
        found = f"{int(rows.min())} to {int(rows.max())}"
        raise IndexError(f"{name}(): expected indices from 0 to {count - 1}, got {found}")


def embedding_dense_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    _grad, indices, ctx.rows, ctx.padding_idx, ctx.scale_grad_by_freq = inputs
    ctx.save_for_backward(indices)


def embedding_dense_second_gradient(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """What is linear goes back as it came: the rows at the indices, of padding zeros."""
    (indices,) = ctx.saved_tensors
    found = ops.aten.embedding(grad, indices, ctx.padding_idx)
    if ctx.scale_grad_by_freq:
        uses = _counts(indices, ctx.rows).index_select(0, indices.reshape((-1,)))
        found = found / uses.reshape((*indices.shape, 1)).to(found.dtype)
    if ctx.padding_idx >= 0:
        found = found.masked_fill((indices == ctx.padding_idx).unsqueeze(-1), 0)
    return found, None, None, None, None


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows at ``indices`` whose norm is larger than ``max_norm`` to it, in place."""
    if self.dim() != 2:
        raise RuntimeError(f"embedding_renorm_(): 'weight' must be 2-D, got {self.dim()}-D")
    rows = indices.reshape((-1,))
    with no_grad():
        if rows.numel() and not (self.is_floating_point() or self.is_complex()):
            self[int(rows.min())].norm(norm_type)  # of rows one by one, the smallest index first: the first is refused
        found = self.index_select(0, rows)
        if not rows.numel():  # PyTorch takes norms row by row: of none it asks for no dtype
            return self
        norms = found.norm(norm_type, 1, keepdim=True).to(_F64)  # the scale is a double number, rounded at last
        scale = ops.aten.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        self.index_put_([rows], found * scale.to(self.dtype))
    return self


# ---------------------------------------------------------------- bags
def _types(argument: str, given: Tensor, names: str) -> str:
    """PyTorch's words for an argument of another dtype than those named."""
    return (
        f"Expected tensor for argument #1 '{argument}' to have one of the following scalar types: {names}; but got "
        f"{given.type()} instead (while checking arguments for embedding_bag)"
    )


def _check_bags(
    weight: Tensor, indices: Tensor, offsets: Tensor, factors: Tensor | None, mode: int, last: bool
) -> None:
    if indices.dim() not in (1, 2):
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}")
    if offsets.dim() != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}")
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    for given in (indices, offsets):
        if given.dtype not in (_I32, _I64):
            raise RuntimeError(_types("indices", given, "Long, Int"))
    if not weight.is_floating_point():
        raise RuntimeError(_types("weight", weight, "Half, BFloat16, Float, Double"))
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if last and not offsets.numel():
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if factors is None:
        return
    if mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if factors.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {weight.type()} does not equal {factors.type()} (while checking arguments "
            "for embedding_bag)"
        )
    if tuple(factors.shape) != (indices.numel(),):
        raise RuntimeError(
            f"embedding_bag: per_sample_weights of shape {list(factors.shape)}, but input of {list(indices.shape)}"
        )


def embedding_bag_fake(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:
    """What is refused; an output for each bag, each index's bag, the bags' sizes, and the rows of largest elements."""
    _check_bags(weight, indices, offsets, per_sample_weights, mode, include_last_offset)
    bags = offsets.shape[0] - include_last_offset
    place = weight.device
    return (
        _core.alloc((bags, weight.shape[1]), weight.dtype, place),
        _core.alloc((indices.numel(),), indices.dtype, place),
        _core.alloc((bags,), indices.dtype, place),
        _core.alloc((bags, weight.shape[1]) if mode == MAX else (bags,), indices.dtype, place),
    )


def embedding_bag_kernel(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:
    """The sum, mean or largest elements of each bag's rows, and what `embedding_bag_fake` lists."""
    out, bag_of, sizes, largest = embedding_bag_fake(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )
    rows, starts = indices.to(_I64).contiguous().reshape((-1,)), offsets.to(_I64).contiguous()
    n, bags, width = rows.numel(), out.shape[0], weight.shape[1]
    if padding_idx < 0:
        padding_idx += weight.shape[0] if padding_idx != -1 else 0
    wide = weight.dtype if weight.dtype in (_F32, _F64) else _F32
    # As in PyTorch the last offset is where the last bag ends where sums are quick; else that goes on to the end.
    quick = mode != MAX and padding_idx < 0 and weight.dtype is not _F64 and weight.stride(1) == 1
    ends_at = _NO_END if not include_last_offset else _END if quick else _END_OF_ALL
    found = _core.alloc((bags, width), wide, _CPU)
    numbers = [_core.alloc(each.shape, _I64, _CPU) for each in (bag_of, sizes, largest)]
    numbers[2].zero_()
    factors = None if per_sample_weights is None else per_sample_weights.detach().to(wide).contiguous()
    pointers = ("ptr", "desc", "ptr", "ptr", "ptr")
    kernel = native("mt_embedding_bag", "desc", "ptr", "i64", "ptr", "i64", "i64", *pointers, "i64", "i64")
    try:
        kernel(
            weight.to(wide).contiguous(), rows, n, starts, bags, ends_at, factors, found, *numbers, mode, padding_idx
        )
    except _core.KernelError:
        _check_offsets(starts, n)
        outside = ((rows < 0) | (rows >= weight.shape[0])).nonzero().reshape((-1,)).tolist()
        if not outside:
            raise
        which = int(rows[outside[0]])
        raise RuntimeError(
            f"Index {outside[0]} of input takes value {which} which is not in the valid range [0, {weight.shape[0]})"
            if quick
            else f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {which}"
        ) from None
    return found.to(out.dtype), *(each.to(indices.dtype) for each in numbers)


def _check_offsets(starts: Tensor, n: int) -> None:
    """Raises RuntimeError for offsets that do not cut n indices into bags."""
    found = starts.tolist()
    if found and found[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {found[0]}"
        )
    if found and found[-1] > n:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of {found[-1]}")
    if found != sorted(found):
        raise RuntimeError("embedding_bag: offsets have to be in order")


def embedding_bag(*args: Any) -> tuple[Tensor, ...]:
    """`_embedding_bag` without padding."""
    found: tuple[Tensor, ...] = ops.aten._embedding_bag(*args)
    return found


def embedding_bag_padded(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Tensor, ...]:
    """`_embedding_bag`, whose row of padding counts from the end where it is negative."""
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    rows = weight.shape[0]
    padding = -1
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                f"{padding_idx}"
            )
        padding = padding_idx + rows if padding_idx < 0 else padding_idx
    found: tuple[Tensor, ...] = ops.aten._embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding
    )
    return found


@saves(indices=0, offsets=1, per_sample_weights=2, weight=3, result1=4, result2=5, result3=6)
def embedding_bag_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call, and what it says of its bags."""
    weight, indices, offsets, ctx.by_freq, ctx.mode, ctx.sparse, factors, ctx.last, ctx.padding_idx = inputs
    _refuse_sparse("embedding_bag", ctx.sparse)
    ctx.mark_non_differentiable(*output[1:])
    ctx.rows = weight.shape[0]
    ctx.save_for_backward(indices.reshape((-1,)), offsets, factors, None if factors is None else weight, *output[1:])


def embedding_bag_gradient(ctx: Any, grad: Tensor | None, *_rest: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the table, and of the factors of samples."""
    if grad is None:
        return (None,) * 9
    indices, offsets, factors, weight, bag_of, sizes, largest = ctx.saved_tensors
    of_weight = of_factors = None
    unused = 0
    if ctx.last and ctx.mode != MAX and not grad.is_meta:  # indices behind the last offset are in no bag
        unused = int((bag_of >= grad.shape[0]).sum())
    if unused:
        indices, bag_of = indices[:-unused], bag_of[:-unused]
        factors = None if factors is None else factors[:-unused]
    if ctx.needs_input_grad[0]:
        of_weight = ops.aten._embedding_bag_dense_backward(
            grad, indices, bag_of, sizes, largest, ctx.rows, ctx.by_freq, ctx.mode, factors, ctx.padding_idx
        )
    if factors is not None and ctx.needs_input_grad[6]:
        of_factors = ops.aten._embedding_bag_per_sample_weights_backward(
            grad, weight, indices, offsets, bag_of, ctx.mode, ctx.padding_idx
        )
        if unused:
            of_factors = ops.aten.constant_pad_nd(of_factors, [0, unused])
    return of_weight, None, None, None, None, None, of_factors, None, None


def embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """`embedding_bag_dense_backward`; there are no sparse gradients."""
    _refuse_sparse("_embedding_bag_backward", sparse)
    result: Tensor = ops.aten._embedding_bag_dense_backward(
        grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights,
        padding_idx,
    )  # fmt: skip
    return result


def _check_gradient(grad: Tensor, indices: Tensor, bag_of: Tensor) -> None:
    if grad.dim() != 2 or indices.dim() != 1 or tuple(bag_of.shape) != tuple(indices.shape):
        raise RuntimeError(
            f"embedding_bag: a gradient of shape {list(grad.shape)}, indices of {list(indices.shape)} and their bags "
            f"of {list(bag_of.shape)} do not go together"
        )
    for given in (indices, bag_of):
        if given.dtype not in (_I32, _I64):
            raise RuntimeError(f"embedding_bag: expected indices of dtype int32 or int64, but got {given.dtype}")


def embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the table: each bag's added to its rows, or to those that the largest elements came from."""
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError(f"embedding_bag: mode has to be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    _check_gradient(grad, indices, offset2bag)
    if bag_size.dim() != 1 or bag_size.shape[0] != grad.shape[0] or (mode == MAX and maximum_indices.dim() != 2):
        raise RuntimeError(
            f"embedding_bag: bag sizes {list(bag_size.shape)} and maxima {list(maximum_indices.shape)} are not of "
            f"a gradient of shape {list(grad.shape)}"
        )
    if mode == MAX:
        given = grad.masked_fill((bag_size == 0).unsqueeze(1), 0)
        zeros = grad.new_zeros((num_weights, grad.shape[1]))
        result: Tensor = zeros.scatter_add(0, maximum_indices.to(_I64), given)
        return result
    if mode == MEAN:
        grad = grad / bag_size.clamp_min(1).to(grad.dtype).unsqueeze(1)
    each = grad.index_select(0, offset2bag)
    if per_sample_weights is not None:
        each = each * per_sample_weights.unsqueeze(1)
    found: Tensor = ops.aten.embedding_dense_backward(each, indices, num_weights, padding_idx, scale_grad_by_freq)
    return found


def embedding_bag_factors_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of each sample's factor: its row times its bag's gradient."""
    if mode != SUM:
        raise RuntimeError("embedding_bag_backward: per_sample_weights only supported for mode='sum'")
    _check_gradient(grad, indices, offset2bag)
    if weight.dim() != 2:
        raise RuntimeError(f"embedding_bag: weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    products = (grad.index_select(0, offset2bag) * weight.index_select(0, indices)).sum(1)
    result: Tensor = products.masked_fill(indices == padding_idx, 0) if padding_idx >= 0 else products
    return result
