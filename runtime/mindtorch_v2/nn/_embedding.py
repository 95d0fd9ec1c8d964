"""Embeddings as functions."""

from __future__ import annotations

import warnings

from .._argument_types import types_come_first
from .._core import Tensor, dtypes
from .._ops import ops

__all__ = ["embedding", "embedding_bag", "embedding_renorm_", "row_of_padding"]

_I64 = dtypes["int64"]
_MODES = ("sum", "mean", "max")


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` at the indices ``input``.

    The row ``padding_idx`` gets no gradient. With ``max_norm``, rows that are used and whose ``norm_type`` norm is
    larger are first scaled to it, in ``weight`` itself. ``scale_grad_by_freq`` divides each row's gradient by how often
    it is used. Raises NotImplementedError for ``sparse`` where a gradient is recorded: gradients are dense.
    """
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx != 0:
        padding_idx = row_of_padding(padding_idx, _table_rows(weight))
    if max_norm is not None:
        embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    result: Tensor = ops.aten.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
    return result


def _table_rows(weight: Tensor) -> int:
    if not isinstance(weight, Tensor):
        raise TypeError(f"embedding(): argument 'weight' (position 2) must be Tensor, not {type(weight).__name__}")
    return weight.size(0)


def row_of_padding(padding_idx: int, rows: int) -> int:
    """The row that ``padding_idx`` means, counted from the end where it is negative.

    Raises AssertionError, as PyTorch, for one that the table does not have.
    """
    if padding_idx and not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings ({rows}), but got {padding_idx}")
    return padding_idx + rows if padding_idx < 0 else padding_idx


@types_come_first
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows at ``indices`` whose norm is larger than ``max_norm`` to it, in place."""
    for at, name, number in ((3, "max_norm", max_norm), (4, "norm_type", norm_type)):
        if isinstance(number, Tensor) and number.dim():
            raise TypeError(f"embedding_renorm_(): argument '{name}' (position {at}) must be float, not Tensor")
    result: Tensor = ops.aten.embedding_renorm_(weight, indices, max_norm, norm_type)
    return result


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or largest elements of rows of ``weight`` for each bag of indices.

    Bags are the rows of an ``input`` of two dimensions, or parts of one of one dimension, which begin at ``offsets``;
    with ``include_last_offset`` the last offset is where the last bag ends. ``per_sample_weights`` are
    factors of the rows of sums. Indices ``padding_idx`` do not count. Raises NotImplementedError for ``sparse`` where
    a gradient is recorded.
    """
    if weight.dtype is _I64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    factors = per_sample_weights
    if factors is not None and input.size() != factors.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the same "
            "shape as the "
            f"input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                "sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        rows, length = input.shape
        offsets = ops.aten.arange(rows, dtype=input.dtype, device=input.device) * length
        include_last_offset = False
        input = input.reshape((rows * length,))
        factors = None if factors is None else factors.reshape((rows * length,))
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    elif offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    result: Tensor = ops.aten.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES.index(mode),
        sparse,
        factors,
        include_last_offset,
        padding_idx,
    )[0]
    return result
