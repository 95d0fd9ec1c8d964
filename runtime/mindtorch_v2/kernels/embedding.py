"""Rows of a table at indices, and the gradient that goes back to them."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ._contexts import saves
from .indexing import index_select

__all__ = ["embedding", "embedding_backward", "embedding_setup"]


def embedding(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Tensor:
    """The rows, in a new last dimension; how the gradient goes back is for `embedding_backward`."""
    rows: Tensor = index_select(weight, 0, indices.reshape((-1,)))
    result: Tensor = rows.reshape((*indices.shape, weight.shape[1]))
    return result


@saves(indices=0, padding_idx="padding_idx", scale_grad_by_freq="scale_grad_by_freq")
def embedding_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the indices, and what the gradient depends on."""
    weight, indices, ctx.padding_idx, ctx.scale_grad_by_freq, _sparse = inputs
    ctx.shape = weight.shape
    ctx.save_for_backward(indices)


def embedding_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient added where the rows came from, except in the row of padding."""
    (indices,) = ctx.saved_tensors
    rows = indices.reshape((-1,))
    each = grad.reshape((rows.numel(), ctx.shape[1]))
    if ctx.padding_idx >= 0:
        each = each.masked_fill((rows == ctx.padding_idx).unsqueeze(1), 0)
    if ctx.scale_grad_by_freq:
        uses = grad.new_zeros(ctx.shape[:1]).index_put([rows], grad.new_ones(()), True)
        each = each / uses.index_select(0, rows).unsqueeze(1)
    return grad.new_zeros(ctx.shape).index_put([rows], each, True), None, None, None, None
