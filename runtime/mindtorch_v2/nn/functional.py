"""Layers, activations and losses as functions, as ``torch.nn.functional``."""

from __future__ import annotations

from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._core import dtype as DType
from .._ops import ops
from ..autograd import is_grad_enabled

__all__ = [
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "l1_loss",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
]

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    chosen = _reduction(reduction)
    result: Tensor = loss if chosen == 0 else loss.mean() if chosen == 1 else loss.sum()
    return result


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``; input (..., in), weight (out, in), bias (out)."""
    result: Tensor = ops.aten.linear.default(input, weight, bias)
    return result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    result: Tensor = ops.aten.relu_.default(input) if inplace else ops.aten.relu.default(input)
    return result


@names_wrong_types
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else ``negative_slope * x``."""
    result: Tensor = ops.aten.where(input > 0, input, input * negative_slope)
    return input.copy_(result) if inplace else result


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit."""
    result: Tensor = ops.aten.gelu.default(input, approximate=approximate)
    return result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    result: Tensor = ops.aten.silu.default(input)
    return input.copy_(result) if inplace else result


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    result: Tensor = ops.aten.sigmoid.default(input)
    return result


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    result: Tensor = ops.aten.tanh.default(input)
    return result


def softmax(input: Tensor, dim: int, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension."""
    result: Tensor = ops.aten.softmax.int(input, dim, dtype)
    return result


def log_softmax(input: Tensor, dim: int, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    result: Tensor = ops.aten.log_softmax.int(input, dim, dtype)
    return result


@names_wrong_types
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability p while training, and scales the rest."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result: Tensor = ops.aten.dropout.default(input, p, training)
    return input.copy_(result) if inplace else result


@names_wrong_types
def embedding(input: Tensor, weight: Tensor) -> Tensor:
    """Rows of ``weight`` at the indices ``input``."""
    result: Tensor = weight.index_select(0, input.reshape((-1,))).reshape((*input.shape, weight.shape[-1]))
    return result


@names_wrong_types
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The squared difference, reduced."""
    result: Tensor = ops.aten.mse_loss.default(input, target, _reduction(reduction))
    return result


@names_wrong_types
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The magnitude of the difference, reduced."""
    return _reduced((input - target).abs(), reduction)


@names_wrong_types
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the score of each target class; input (C), (N, C) or (N, C, ...) of log-probabilities."""
    chosen = _reduction(reduction)
    if input.dim() == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if input.dim() > 1 and target.dim() > 0 and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    if weight is not None and weight.requires_grad and is_grad_enabled():
        raise RuntimeError(
            "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'. This input "
            "cannot have requires_grad True: pass weight.detach()."
        )
    if input.dim() > 2:
        rows = _classes_last(input)
        loss: Tensor = ops.aten.nll_loss.default(rows, target.reshape((-1,)), weight, chosen, ignore_index)
        return loss.reshape(target.shape) if chosen == 0 else loss
    result: Tensor = ops.aten.nll_loss.default(input, target, weight, chosen, ignore_index)
    return result


@names_wrong_types
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of scores (C), (N, C) or (N, C, ...) with class indices, or with probabilities of input's shape."""
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target.is_floating_point():
        return _against_probabilities(input, target, weight, reduction, label_smoothing)
    scores = input.log_softmax(0 if input.dim() == 1 else 1)
    loss = nll_loss(scores, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    spread = _over_all_classes(scores, target, weight, ignore_index, reduction)
    classes = scores.shape[0 if scores.dim() == 1 else 1]
    result: Tensor = loss * (1 - label_smoothing) + spread * (label_smoothing / classes)
    return result


def _classes_last(scores: Tensor) -> Tensor:
    """(N, C, ...) as rows of C."""
    order = (0, *range(2, scores.dim()), 1)
    result: Tensor = scores.permute(order).reshape((-1, scores.shape[1]))
    return result


def _weights(weight: Tensor, scores: Tensor) -> Tensor:
    """Class weights in a shape that broadcasts against the scores."""
    shape = (-1,) if scores.dim() == 1 else (1, -1, *(1,) * (scores.dim() - 2))
    result: Tensor = weight.reshape(shape)
    return result


def _against_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    dim = 0 if input.dim() == 1 else 1
    scores = input.log_softmax(dim)
    goal = target * (1 - label_smoothing) + label_smoothing / input.shape[dim] if label_smoothing else target
    terms = scores * goal if weight is None else scores * goal * _weights(weight, scores)
    losses = -terms.sum(dim)
    if _reduction(reduction) == 1:  # the mean over samples: classes are not counted
        result: Tensor = losses.sum() / max(input.numel() // input.shape[dim], 1)
        return result
    return _reduced(losses, reduction)


def _over_all_classes(
    scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """What label smoothing gives to every class: minus the sum of all scores, of rows that are not ignored."""
    kept = target != ignore_index
    terms = scores if weight is None else scores * _weights(weight, scores)
    losses = (-terms.sum(0 if scores.dim() == 1 else 1)).masked_fill(~kept, 0)
    if _reduction(reduction) != 1:
        return _reduced(losses, reduction)
    if weight is None:
        count: Any = kept.sum()
    else:
        count = weight[target.masked_fill(~kept, 0)].masked_fill(~kept, 0).sum()
    result: Tensor = losses.sum() / count
    return result
