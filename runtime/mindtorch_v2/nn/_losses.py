"""Losses as functions, beside those of `functional`: each the operator of its name, reduced as a name says."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor, broadcast_shapes
from .._frames import user_stacklevel
from .._functional import broadcast_tensors
from .._ops import ops
from . import _reduction

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

_NAMES = ("none", "mean", "sum")


def _code(reduction: str, size_average: bool | None, reduce: bool | None) -> int:
    return _reduction.code(_reduction.name(reduction, size_average, reduce))


def _named(reduction: str, message: str) -> int:
    """The code of a reduction. Raises ValueError, in a function's own words, for a name that there is not."""
    if reduction not in _NAMES:
        raise ValueError(message)
    return _NAMES.index(reduction)


def _pair(input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Input and target as they are broadcast, which is warned of where it changes one."""
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=user_stacklevel(),
        )
    return broadcast_tensors(input, target)


# ---------------------------------------------------------------- distances
@names_wrong_types
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the square of the difference over beta where it is less than that, else its magnitude less beta / 2."""
    pair = _pair(input, target)
    chosen = _code(reduction, size_average, reduce)
    result: Tensor = ops.aten.l1_loss(*pair, chosen) if beta == 0.0 else ops.aten.smooth_l1_loss(*pair, chosen, beta)
    return result


@names_wrong_types
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square of the difference up to delta, from there on a line; times a weight of its shape."""
    pair = _pair(input, target)
    if weight is None:
        result: Tensor = ops.aten.huber_loss(*pair, _reduction.code(reduction), delta)
        return result
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = ops.aten.huber_loss(*pair, 0, delta) * weight
    wrong = f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
    return _reduction.reduced(weighted, _named(reduction, wrong))


# ---------------------------------------------------------------- likelihoods
@names_wrong_types
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(x) + (1 - target) * log(1 - x)) of probabilities; input and target have one shape."""
    chosen = _code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_shapes(target.shape, weight.shape))
    result: Tensor = ops.aten.binary_cross_entropy(input, target, weight, chosen)
    return result


@names_wrong_types
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input); ``pos_weight`` is a factor of what is of true targets."""
    chosen = _code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    result: Tensor = ops.aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, chosen)
    return result


@names_wrong_types
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input), input a logarithm; ``batchmean`` is the sum over the first dimension's size."""
    legacy = size_average is not None or reduce is not None
    if not legacy and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=user_stacklevel(),
        )
    by_batch = reduction == "batchmean" and not legacy
    chosen = _reduction.code("sum") if by_batch else _code(reduction, size_average, reduce)
    result: Tensor = ops.aten.kl_div(input, target, chosen, log_target=log_target)
    return result / input.size(0) if reduction == "batchmean" and input.dim() != 0 else result


@names_wrong_types
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts under a Poisson distribution of mean exp(input), or input."""
    name = _reduction.name(reduction, size_average, reduce)
    chosen = _named(name, f"{name} is not a valid value for reduction")
    result: Tensor = ops.aten.poisson_nll_loss(input, target, log_input, full, eps, chosen)
    return result


@names_wrong_types
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood under normal distributions of mean ``input`` and variance ``var``, at least eps.

    ``var`` is a number, or of input's shape, or of that but for its last dimension. Raises ValueError below 0.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ops.aten.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(b for a, b in zip(input.shape, var.shape, strict=True) if a != b) != 1:
            raise ValueError("var is of incorrect size")
    chosen = _named(reduction, f"{reduction} is not valid")
    at_least = var + (var.detach().clamp_min(eps) - var.detach())  # a limit that gradients do not see
    losses = (at_least.log() + (input - target) ** 2 / at_least) * 0.5
    return _reduction.reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, chosen)


# ---------------------------------------------------------------- margins
@names_wrong_types
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)); targets are 1 or -1."""
    result: Tensor = ops.aten.soft_margin_loss(input, target, _code(reduction, size_average, reduce))
    return result


@names_wrong_types
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin); targets are 1 or -1."""
    chosen = _code(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    result: Tensor = ops.aten.margin_ranking_loss(input1, input2, target, margin, chosen)
    return result


@names_wrong_types
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    result: Tensor = ops.aten.hinge_embedding_loss(input, target, margin, _code(reduction, size_average, reduce))
    return result


@names_wrong_types
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cosine of rows where the target is 1, max(0, cosine - margin) where it is -1."""
    chosen = _code(reduction, size_average, reduce)
    result: Tensor = ops.aten.cosine_embedding_loss(input1, input2, target, margin, chosen)
    return result


@names_wrong_types
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + the distance of anchor and positive - that of anchor and negative)

    With ``swap`` the negative's distance is that to the positive where this is less.
    """
    chosen = _code(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    result: Tensor = ops.aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, chosen)
    return result


@names_wrong_types
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """As `triplet_margin_loss`, by a distance of one's own; `pairwise_distance` where there is none."""
    chosen = _named(reduction, f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = [t.dim() for t in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = ops.aten.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.aten.minimum(far, distance(positive, negative))
    return _reduction.reduced((near - far + margin).clamp_min(0), chosen)


@names_wrong_types
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over other classes of max(0, margin - the target's score + theirs) ** p; input (C) or (N, C)."""
    chosen = _code(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    result: Tensor = ops.aten.multi_margin_loss(input, target, p, margin, weight, chosen)
    return result


@names_wrong_types
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum of max(0, 1 - a target's score + another class's) over all such pairs, over the classes.

    Input is (C) or (N, C); targets are the indices before the first -1.
    """
    result: Tensor = ops.aten.multilabel_margin_loss(input, target, _code(reduction, size_average, reduce))
    return result


@names_wrong_types
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`binary_cross_entropy_with_logits`, the mean over classes; input (..., C)."""
    name = _reduction.name(reduction, size_average, reduce)
    log_sigmoid = ops.aten.log_sigmoid
    losses = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        losses = losses * weight
    dim = input.dim() - 1
    return _reduction.reduced(losses.sum(dim) / input.size(dim), _named(name, f"{name} is not valid"))


# ---------------------------------------------------------------- sequences
@names_wrong_types
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of target sequences, over all their alignments with blanks between.

    ``log_probs`` is (T, N, C) or (T, C); ``targets`` (N, S), or all in one row; lengths are tensors or tuples of N.
    The mean is of losses over the targets' lengths. ``zero_infinity`` makes 0 of infinite losses and their
    gradients.
    """
    result: Tensor = ops.aten.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction.code(reduction), zero_infinity
    )
    return result
