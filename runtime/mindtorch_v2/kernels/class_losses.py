"""Losses against classes: negative log-likelihoods and cross entropy; reduction 0 is none, 1 the mean, 2 the sum."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor
from .._ops import ops
from .losses import reduced

__all__ = ["cross_entropy_loss", "nll_loss_nd"]


def nll_loss_nd(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    """Minus the score of each target class, of (C), (N, C) or (N, C, ...); reductions are 0 none, 1 mean, 2 sum."""
    if input.dim() == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if input.dim() > 1 and target.shape[:1] != input.shape[:1]:
        batch = input.shape[0]
        found = 0 if target.dim() == 0 and batch else target.size(0)  # an IndexError where neither has a size
        raise ValueError(f"Expected input batch_size ({batch}) to match target batch_size ({found}).")
    if input.dim() <= 2:
        result: Tensor = ops.aten.nll_loss(input, target, weight, reduction, ignore_index)
        return result
    if target.shape[1:] != input.shape[2:]:
        wanted = [input.shape[0], *input.shape[2:]]
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    if input.dim() == 4:
        loss: Tensor = ops.aten.nll_loss2d(input, target, weight, reduction, ignore_index)
        return loss
    width = math.prod(input.shape[2:])  # as an image of one line
    loss = ops.aten.nll_loss2d(
        input.reshape((*input.shape[:2], 1, width)),
        target.reshape((len(target), 1, width)),
        weight,
        reduction,
        ignore_index,
    )
    return loss.reshape(target.shape) if reduction == 0 else loss


def cross_entropy_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    """Of scores with class indices, or with probabilities where input and target have one shape."""
    if input.shape == target.shape:
        return _against_probabilities(input, target, weight, reduction, ignore_index, label_smoothing)
    _check_smoothing(label_smoothing)
    scores = input.log_softmax(0 if input.dim() == 1 else 1)
    loss = nll_loss_nd(scores, target, weight, reduction, ignore_index)
    if label_smoothing <= 0:
        return loss
    spread = _over_all_classes(scores, target, weight, reduction, ignore_index)
    classes = scores.shape[0 if scores.dim() == 1 else 1]
    result: Tensor = loss * (1 - label_smoothing) + spread * (label_smoothing / classes)
    return result


def _check_smoothing(label_smoothing: float) -> None:
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")


def _weights(weight: Tensor, scores: Tensor) -> Tensor:
    """Class weights in a shape that broadcasts against the scores."""
    shape = (-1,) if scores.dim() == 1 else (1, -1, *(1,) * (scores.dim() - 2))
    result: Tensor = weight.reshape(shape)
    return result


def _against_probabilities(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    if not target.is_floating_point():
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    _check_smoothing(label_smoothing)
    dim = 0 if input.dim() == 1 else 1
    scores = input.log_softmax(dim)
    classes = scores.shape[dim]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    goal = target * (1 - label_smoothing) + label_smoothing / max(classes, 1) if label_smoothing > 0 else target
    terms = scores * goal if weight is None else scores * goal * _weights(weight, scores)
    losses = -terms.sum(dim)
    if reduction != 1:
        return reduced(losses, reduction)
    samples = input.numel() // classes if classes else 0  # the mean over samples: classes are not counted
    result: Tensor = losses.sum() / samples
    return result


def _over_all_classes(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """What label smoothing gives to every class: minus the sum of all scores, of rows that are not ignore_index."""
    kept = target != ignore_index
    terms = scores if weight is None else scores * _weights(weight, scores)
    losses = (-terms.sum(0 if scores.dim() == 1 else 1)).masked_fill_(~kept, 0)
    if reduction != 1:
        return reduced(losses, reduction)
    if weight is None:
        count: Any = kept.sum()
    else:
        count = weight[target.masked_fill(~kept, 0)].masked_fill(~kept, 0).sum()
    result: Tensor = losses.sum() / count
    return result
