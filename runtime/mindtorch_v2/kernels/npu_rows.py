"""Operators over rows and columns on NPUs by AscendC kernels: sums, softmax, layer norm, tables and their gradients.

The kernels take contiguous matrices, of float32 and some of float16, and hold a row at a time where they need all of
it. Anything else goes by way of the CPU, as operators without an NPU kernel do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import OpOverload, Tensor
from ..npu.fallback import run_on_cpu
from ._npu import FLOAT32, MOST_BLOCKS, SUFFIXES, fits, kernel, whole
from .layer_normalization import native_layer_norm_backward_fake
from .npu import fill_, mean_all, sum_all

__all__ = [
    "embedding",
    "embedding_dense_backward",
    "log_softmax",
    "log_softmax_backward",
    "mean_dim",
    "native_layer_norm",
    "native_layer_norm_backward",
    "softmax",
    "softmax_backward",
    "sum_dim",
]

_LONGEST = 4096  # elements of a row that a kernel holds
_COLUMNS = 512  # that a block takes at a time
_INT64 = _core.dtypes["int64"]
_aten: Any = torch.ops.aten


def _launch(name: str, dtype: Any, parts: int, types: str, *args: Any) -> None:
    """Launches a kernel of rows.cpp on as many blocks as there are parts; ``types`` are those of its arguments."""
    kernel("rows", f"{name}_{SUFFIXES[dtype]}", *types.split())(min(parts, MOST_BLOCKS), *args)


def _matrix(shape: Sequence[int], dims: set[int]) -> tuple[str, int, int] | None:
    """Which sums of a contiguous matrix the dimensions are: its kernel, rows, columns; None where they are neither."""
    count = len(dims)
    for name, block in (("sum_rows", range(len(shape) - count, len(shape))), ("sum_columns", range(count))):
        if dims == set(block):
            at = len(shape) - count if name == "sum_rows" else count
            return name, math.prod(shape[:at]), math.prod(shape[at:])
    return None


def _sums(op: OpOverload, self: Tensor, dim: Sequence[int] | None, keepdim: bool, dtype: Any, means: bool) -> Tensor:
    found = dims = None
    self = whole(self)
    if fits(self) and self.is_contiguous() and dtype in (None, self.dtype) and self.dim():
        given = dim if dim else range(self.dim())
        dims = {d % self.dim() for d in given if -self.dim() <= d < self.dim()}
        found = _matrix(self.shape, dims) if len(dims) == len(given) else None
    if found is None or dims is None:
        return run_on_cpu(op, self, dim, keepdim, dtype=dtype)  # type: ignore[no-any-return]
    name, rows, n = found
    shape = [1 if d in dims else size for d, size in enumerate(self.shape) if keepdim or d not in dims]
    if len(dims) == self.dim():
        found_all: Tensor = (mean_all if means else sum_all)(self).view(shape)
        return found_all
    out = _core.alloc(shape, self.dtype, self.device)
    scale = 1.0 / (n if name == "sum_rows" else rows) if means else 1.0
    parts = rows if name == "sum_rows" else -(-n // _COLUMNS)
    _launch(name, self.dtype, parts, "ptr ptr u32 u32 f32", self, out, rows, n, scale)
    return out


def sum_dim(self: Tensor, dim: Sequence[int] | None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sums over the first or the last dimensions."""
    return _sums(_aten.sum.dim_IntList, self, dim, keepdim, dtype, means=False)


def mean_dim(self: Tensor, dim: Sequence[int] | None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Means over the first or the last dimensions."""
    return _sums(_aten.mean.dim, self, dim, keepdim, dtype, means=True)


def _rows_of(dim: int, *tensors: Tensor) -> tuple[int, int] | None:
    """(rows, elements of each) along the last dimension, where that is ``dim`` and a kernel holds a row; else None."""
    first = tensors[0]
    if not first.dim() or dim not in (-1, first.dim() - 1) or first.shape[-1] > _LONGEST:
        return None
    if not fits(*tensors) or not first.is_contiguous():
        return None
    return first.numel() // first.shape[-1], first.shape[-1]


def _softmax(op: OpOverload, name: str, self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    self = whole(self)
    found = None if half_to_float else _rows_of(dim, self)
    if found is None:
        return run_on_cpu(op, self, dim, half_to_float)  # type: ignore[no-any-return]
    out = _core.alloc_like(self)
    _launch(name, self.dtype, found[0], "ptr ptr u32 u32", self, out, *found)
    return out


def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension."""
    return _softmax(_aten._softmax.default, "softmax", self, dim, half_to_float)


def log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """x - log(sum(exp(x))) along a dimension."""
    return _softmax(_aten._log_softmax.default, "log_softmax", self, dim, half_to_float)


def _softmax_backward(op: OpOverload, name: str, grad: Tensor, output: Tensor, dim: int, dtype: Any) -> Tensor:
    grad, output = whole(grad), whole(output)
    found = _rows_of(dim, grad, output) if dtype is grad.dtype else None
    if found is None:
        return run_on_cpu(op, grad, output, dim, dtype)  # type: ignore[no-any-return]
    out = _core.alloc_like(output)
    _launch(name, output.dtype, found[0], "ptr ptr ptr u32 u32", grad, output, out, *found)
    return out


def softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `softmax`, by its result."""
    op = _aten._softmax_backward_data.default
    return _softmax_backward(op, "softmax_backward", grad_output, output, dim, input_dtype)


def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `log_softmax`, by its result."""
    op = _aten._log_softmax_backward_data.default
    return _softmax_backward(op, "log_softmax_backward", grad_output, output, dim, input_dtype)


def _normal(shape: Sequence[int], input: Tensor, *others: Tensor | None) -> tuple[int, int] | None:
    """(rows, elements of each) of what is normalised, where the kernels take it with what goes with it; else None."""
    n = math.prod(shape)
    given = [input, *(t for t in others if t is not None)]
    taken = all(t.dtype is FLOAT32 and t.is_contiguous() and t.device == input.device for t in given)
    if not taken or not 0 < n <= _LONGEST or not 0 < input.numel() < 2**32:
        return None
    return input.numel() // n, n


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions; the means, and 1 / the roots."""
    found = _normal(normalized_shape, input, weight, bias)
    if found is None:
        op = _aten.native_layer_norm.default
        return run_on_cpu(op, input, normalized_shape, weight, bias, eps)  # type: ignore[no-any-return]
    inner = len(normalized_shape)
    shape = (*input.shape[: input.dim() - inner], *(1,) * inner)
    out, (mean, rstd) = _core.alloc_like(input), (_core.alloc(shape, FLOAT32, input.device) for _ in range(2))
    types = "ptr ptr ptr ptr ptr ptr u32 u32 f32"
    _launch("layer_norm", FLOAT32, found[0], types, input, weight, bias, out, mean, rstd, *found, eps)
    return out, mean, rstd


def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and bias, as far as the mask asks for them."""
    grad_out = whole(grad_out)
    given = grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
    found = _normal(normalized_shape, input, grad_out, mean, rstd, weight)
    if found is None or grad_out.shape != input.shape:
        return run_on_cpu(_aten.native_layer_norm_backward.default, *given)  # type: ignore[no-any-return]
    of_input, of_weight, of_bias = native_layer_norm_backward_fake(*given)
    if of_input is not None:
        types = "ptr ptr ptr ptr ptr ptr u32 u32"
        args = grad_out, input, mean, rstd, weight, of_input
        _launch("layer_norm_backward", FLOAT32, found[0], types, *args, *found)
    if of_weight is not None or of_bias is not None:  # of which the kernel computes both
        unasked = _core.alloc((found[1],), FLOAT32, input.device)
        both = [unasked if t is None else t for t in (of_weight, of_bias)]
        parts = -(-found[1] // _COLUMNS)
        types = "ptr ptr ptr ptr ptr ptr u32 u32"
        _launch("layer_norm_columns", FLOAT32, parts, types, grad_out, input, mean, rstd, *both, *found)
    return of_input, of_weight, of_bias


def _indexes(table: Tensor, indices: Tensor) -> bool:
    """Whether a kernel takes rows of this table, or gradients of such, by these indices."""
    return (
        indices.dtype is _INT64
        and indices.is_contiguous()
        and indices.device == table.device
        and 0 < indices.numel() < 2**32
        and table.is_contiguous()
        and table.numel() > 0
    )


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The table's row for each index; an index of no row ends the kernel with an error of the device."""
    if weight.dtype not in SUFFIXES or weight.dim() != 2 or not _indexes(weight, indices):
        op = _aten.embedding.default
        return run_on_cpu(op, weight, indices, padding_idx, scale_grad_by_freq, sparse)  # type: ignore[no-any-return]
    rows, (count, n) = indices.numel(), weight.shape
    out = _core.alloc((*indices.shape, n), weight.dtype, weight.device)
    _launch("embedding", weight.dtype, rows, "ptr ptr ptr u32 u32 i64", weight, indices, out, rows, n, count)
    return out


def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of a table of ``num_weights`` rows: sums in the order of the indices."""
    grad = whole(grad_output)
    shaped = grad.dim() > 0 and tuple(grad.shape[:-1]) == tuple(indices.shape) and num_weights > 0
    if grad.dtype is not FLOAT32 or scale_grad_by_freq or not shaped or not _indexes(grad, indices):
        given = grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
        return run_on_cpu(_aten.embedding_dense_backward.default, *given)  # type: ignore[no-any-return]
    rows, n = indices.numel(), grad.shape[-1]
    out = fill_(_core.alloc((num_weights, n), FLOAT32, grad.device), 0.0)
    types = "ptr ptr ptr u32 u32 i64 i64"
    _launch(
        "embedding_backward", FLOAT32, -(-n // _COLUMNS), types, grad, indices, out, rows, n, num_weights, padding_idx
    )
    return out
