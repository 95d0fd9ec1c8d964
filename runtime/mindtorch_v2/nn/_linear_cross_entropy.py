"""Cross entropy of what a linear layer makes of its input: as a whole, or some rows at a time, which saves memory."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import Tensor
from .._core import dtype as DType
from .._ops import ops
from ..autograd import Function, grad
from ..autograd.grad_mode import enable_grad
from ..kernels.class_losses import cross_entropy_loss
from ._reduction import code

__all__ = ["LinearCrossEntropyOptions", "linear_cross_entropy"]

_I64, _F32 = _core.dtypes["int64"], _core.dtypes["float32"]
_FLOATING = tuple(_core.dtypes[name] for name in ("float16", "bfloat16", "float32", "float64"))
_POLICIES = ("auto", "accurate", "balanced", "compact")
_NONE = 0  # the reduction


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How many rows are computed at a time: ``batch_chunk_size``, or by the shapes of the layer.

    ``chunking_method`` "aspect_ratio:N" takes as many rows as have the input's size in scores, by N; "auto" is N = 2.
    Scores are made in ``acc_dtype``, of half precision in float32 where it is left out. Backward computes them again:
    it may run several times, whatever ``allow_retain_graph``, and needs nothing of ``acc_policy``.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, number = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (number.isdigit() and int(number) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _FLOATING:
            raise ValueError(f"acc_dtype must be a floating-point dtype or None, got {self.acc_dtype!r}")

    def _rows(self, batch: int, features: int, classes: int) -> int:
        """How many rows are computed at a time. Raises ValueError where number and method say it differently."""
        given = None if self.batch_chunk_size is None else max(1, min(self.batch_chunk_size, batch))
        if self.chunking_method is None or (self.chunking_method == "auto" and given is not None):
            return given or max(1, batch)
        number = 2 if self.chunking_method == "auto" else int(self.chunking_method.partition(":")[2] or 1)
        whole = math.ceil(batch / max(1, math.ceil(classes / max(1, features))))
        found = max(1, min((1 << max(whole - 1, 0).bit_length()) // number, batch))
        if given not in (None, found):
            raise ValueError(
                f"batch_chunk_size (={given}) and chunking_method ('{self.chunking_method}') give different chunk "
                f"sizes ({given} vs {found}); pass only one."
            )
        return found


class _LossOfRows(Function):
    """The loss of each row, some rows at a time, forwards and backwards."""

    @staticmethod
    def forward(ctx: Any, *call: Any) -> Tensor:
        """``call`` is what `_chunks` takes."""
        ctx.call = call[3:]
        ctx.save_for_backward(*call[:3])
        return ops.aten.cat([loss for loss, _ in _chunks(*call)])  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of input, weight and bias; the rest has none."""
        given = ctx.saved_tensors
        wanted = [at for at in range(3) if ctx.needs_input_grad[at]]
        leaves: list[Any] = [t if t is None else t.detach().requires_grad_(at in wanted) for at, t in enumerate(given)]
        found: list[Any] = [None] * 3
        with enable_grad():
            for loss, (first, last) in _chunks(*leaves, *ctx.call):
                parts = grad(loss, [leaves[at] for at in wanted], grads[0][first:last])
                for at, part in zip(wanted, parts, strict=True):
                    found[at] = part if found[at] is None else found[at].add_(part)
        return *found, *(None,) * len(ctx.call)


def _chunks(
    input: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    rows: int,
    dtype: DType,
) -> Iterator[tuple[Tensor, tuple[int, int]]]:
    """The losses of so many rows at a time, and which those are."""
    classes = None if weight is None else weight.to(dtype)
    for first in range(0, input.size(0), rows):
        last = min(first + rows, input.size(0))
        parts = [None if t is None else t.to(dtype) for t in (input[first:last], linear_weight, linear_bias)]
        scores = ops.aten.linear(*parts)
        loss = cross_entropy_loss(scores, target[first:last], classes, _NONE, ignore_index, 0.0)
        yield loss.to(input.dtype), (first, last)


def _in_chunks(
    input: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    rows = options._rows(input.shape[0], input.shape[1], linear_weight.shape[0])
    dtype = options.acc_dtype or (_F32 if input.dtype in _FLOATING[:2] else input.dtype)
    losses: Tensor = _LossOfRows.apply(input, linear_weight, linear_bias, target, weight, ignore_index, rows, dtype)
    if reduction == _NONE:
        return losses[0] if single else losses
    total: Tensor = losses.to(dtype).sum()
    if reduction == code("mean"):
        kept = target != ignore_index
        total = total / (kept if weight is None else weight[target.masked_fill(~kept, 0)] * kept).sum()
    result: Tensor = total.to(input.dtype)
    return result


def _check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}"
        )
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"a loss of several dimensions, defined by linear_weight of shape {tuple(linear_weight.shape)}, requires "
            f"batched input, (N, {input.shape[-1]}), got {tuple(input.shape)}"
        )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``; with ``options`` some rows at a time.

    input (in) or (N, in), linear_weight (classes, ..., in), linear_bias (classes, ...); target as `cross_entropy` takes
    it. What ``options`` cannot do is computed as a whole, with a warning. Raises RuntimeError where shapes do not fit.
    """
    _check(input, linear_weight, linear_bias)
    shape = (*input.shape[:-1], *linear_weight.shape[:-1])
    if target.shape == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored, chosen = -100 if ignore_index is None else ignore_index, code(reduction)
    if options is not None:
        if linear_weight.dim() == 2 and label_smoothing == 0 and target.dtype is _I64:
            return _in_chunks(input, linear_weight, linear_bias, target, weight, chosen, ignored, options)
        warnings.warn(
            "linear_cross_entropy: options ignored; rows are computed apart for int64 targets, without label smoothing "
            f"and with a linear_weight of 2 dimensions: got target.dtype={target.dtype}, "
            f"label_smoothing={label_smoothing}, linear_weight.shape={tuple(linear_weight.shape)}",
            stacklevel=2,
        )
    bias = None if linear_bias is None else linear_bias.reshape((-1,))
    scores = ops.aten.linear(input, linear_weight.reshape((-1, linear_weight.shape[-1])), bias).reshape(shape)
    return cross_entropy_loss(scores, target, weight, chosen, ignored, label_smoothing)


# ---------------------------------------------------------------- by PyTorch's inner names
def batch_chunked(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: DType,
    allow_retain_graph: bool,
    compute_input_grad: bool,
    compute_linear_weight_grad: bool,
    compute_linear_bias_grad: bool,
) -> tuple[Tensor, ...]:
    """The loss, ``batch_chunk_size`` rows at a time, and its gradients of input, weight and bias.

    A gradient that is not asked for is an empty tensor of as many dimensions. Input is (N, in), the layer's weight
    (classes, in). Raises NotImplementedError for ``label_smoothing``.
    """
    if label_smoothing:
        raise NotImplementedError("linear_cross_entropy does not support label smoothing")
    options = LinearCrossEntropyOptions(allow_retain_graph, batch_chunk_size, None, acc_policy, acc_dtype)
    given = (input, linear_weight, linear_bias)

    def loss(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        return _in_chunks(x, w, b, target, weight, code(reduction), ignore_index, options)

    asked = [compute_input_grad, compute_linear_weight_grad, compute_linear_bias_grad and linear_bias is not None]
    leaves: list[Any] = [t if t is None else t.detach().requires_grad_(a) for t, a in zip(given, asked, strict=True)]
    with enable_grad():
        found = iter(grad(loss(*leaves), [t for t, a in zip(leaves, asked, strict=True) if a]) if any(asked) else ())
    empty = [input.new_empty((0,) * dims) for dims in (input.dim(), linear_weight.dim(), 1)]
    return loss(*given), *(next(found) if a else none for a, none in zip(asked, empty, strict=True))


def batch_chunked_no_reduction(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    ignore_index: int,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: DType,
) -> Tensor:
    """The loss of each row, ``batch_chunk_size`` rows at a time; see `batch_chunked`."""
    options = LinearCrossEntropyOptions(False, batch_chunk_size, None, acc_policy, acc_dtype)
    return _in_chunks(input, linear_weight, linear_bias, target, weight, _NONE, ignore_index, options)
