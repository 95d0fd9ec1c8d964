"""Losses of numbers against numbers: a value for each element, and its slope, reduced as a number says."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._functional import can_cast
from .._ops import ops
from ._contexts import constants, saves

NONE, MEAN, SUM = 0, 1, 2
_I64 = _core.dtypes["int64"]


def reduced(losses: Tensor, reduction: int) -> Tensor:
    """A loss for each element, reduced."""
    if reduction not in (NONE, MEAN, SUM):
        raise RuntimeError(f"reduction: expected 0 (none), 1 (mean) or 2 (sum), got {reduction}")
    result: Tensor = losses if reduction == NONE else losses.mean() if reduction == MEAN else losses.sum()
    return result


def share(grad: Tensor, losses: Tensor, reduction: int) -> Tensor:
    """The gradient of each element of the losses, of which ``losses`` has the number."""
    return grad / losses.numel() if reduction == MEAN else grad


def _share(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """As `share`, of the losses of two tensors."""
    return grad / math.prod(_core.broadcast_shapes(self.shape, target.shape)) if reduction == MEAN else grad


# ---------------------------------------------------------------- distances
def _floating(name: str, self: Tensor, target: Tensor) -> None:
    if not self.is_floating_point() and not target.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {self.dtype}')


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN, beta: float = 1.0) -> Tensor:
    """Half the square of the difference over beta where it is less than that, else its magnitude less beta / 2."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _floating("smooth_l1_loss", self, target)
    return reduced(ops.aten._smooth_l1(self, target, beta), reduction)


def smooth_l1_slope(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The gradient of `smooth_l1_loss`."""
    result: Tensor = ops.aten._smooth_l1_slope(_share(grad_output, self, target, reduction), self, target, beta)
    return result


def huber_loss(self: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Tensor:
    """Half the square of the difference up to delta, from there on a line of slope delta."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _floating("huber_loss", self, target)
    return reduced(ops.aten._huber(self, target, delta), reduction)


def huber_slope(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of `huber_loss`."""
    result: Tensor = ops.aten._huber_slope(_share(grad_output, self, target, reduction), self, target, delta)
    return result


def mse_slope(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of `mse_loss`."""
    apart = self - target
    result: Tensor = apart * 2 * share(grad_output, apart, reduction)
    return result


def l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """The magnitude of the difference."""
    return reduced((self - target).abs(), reduction)


# ---------------------------------------------------------------- margins
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """log(1 + exp(-target * x))"""
    if not self.is_floating_point():
        raise NotImplementedError(f'"soft_margin_loss" not implemented for {self.dtype}')
    return reduced((-target * self).exp().log1p(), reduction)


def soft_margin_slope(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of `soft_margin_loss`."""
    odds = (-target * self).exp()
    result: Tensor = -target * odds * share(grad_output, odds, reduction) / (odds + 1)
    return result


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """max(0, -target * (x1 - x2) + margin)"""
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    zeros = ops.aten.zeros_like(self)
    apart = ops.aten.where(target != 1, (margin - self).clamp_min(0).to(self.dtype), zeros)
    return reduced(apart + ops.aten.where(target != -1, self, zeros), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = MEAN,
) -> Tensor:
    """max(0, margin + the distance to the positive - that to the negative)"""
    dims = [t.dim() for t in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = ops.aten.pairwise_distance
    near, far = distance(anchor, positive, p, eps), distance(anchor, negative, p, eps)
    if swap:
        far = ops.aten.minimum(far, distance(positive, negative, p, eps))
    return reduced((near - far + margin).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    shapes = f"input1 {list(input1.shape)}, input2 {list(input2.shape)}"
    if target.dim() == 1 and not (input1.dim() == input2.dim() == 2):
        raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with sizes {shapes}.")
    if target.dim() == 0 and not (input1.dim() == input2.dim() == 1):
        raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with sizes {shapes}.")
    eps = 1e-12
    products = (input1 * input2).sum(target.dim())
    squares = ((x.square()).sum(target.dim()) + eps for x in (input1, input2))
    first, second = squares
    cosine = products / (first * second).sqrt()
    zeros = ops.aten.zeros_like(cosine)
    alike = ops.aten.where(target == 1, 1 - cosine, zeros)
    return reduced(alike + ops.aten.where(target == -1, (cosine - margin).clamp_min(0), zeros), reduction)


def _class_rows(name: str, self: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Scores as (rows, classes), and targets as (rows, ...). Raises RuntimeError for other shapes."""
    fits = self.dim() in (1, 2) and self.shape[-1] > 0 if self.dim() else True
    if not fits:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if not self.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {self.dtype}')
    if target.dtype is not _I64:
        raise RuntimeError(f"{name}: expected target of dtype int64, got {target.dtype}")
    return self.reshape((-1 if self.dim() < 2 else self.shape[0], max(self.shape[-1:] or (1,)))), target


def _margins(self: Tensor, target: Tensor, p: float, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Scores as (rows, classes), targets as (rows, 1). Raises RuntimeError for what `multi_margin_loss` refuses."""
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    scores, labels = _class_rows("multi_margin_loss", self, target)
    rows, classes = scores.shape
    if labels.dim() > 1 or labels.numel() != rows:
        raise RuntimeError(f"inconsistent target size, expected {rows} but got {list(target.shape)}")
    if weight is not None and (weight.dim() > 1 or weight.numel() != classes):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    labels = labels.reshape((-1, 1))
    if labels.numel() and labels.device.type != "meta" and not bool(((labels >= 0) & (labels < classes)).all().item()):
        raise RuntimeError("target out of range")
    return scores, labels


def multi_margin_loss(
    self: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """The mean over other classes of max(0, margin - the target's score + theirs) ** p, times the target's weight."""
    scores, labels = _margins(self, target, p, weight)
    apart = (scores - scores.gather(1, labels) + margin).clamp_min(0)
    each = apart if p == 1 else apart * apart
    if weight is not None:
        each = each * weight.reshape((-1,)).index_select(0, labels.reshape((-1,))).unsqueeze(1)
    losses = each.scatter(1, labels, 0.0).sum(1) / scores.shape[1]
    return reduced(
        losses.reshape(()) if self.dim() == 0 or (self.dim() == 1 and target.dim() == 0) else losses, reduction
    )


def multi_margin_slope(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: float,
    margin: float,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """The gradient of `multi_margin_loss`."""
    scores, labels = _margins(self, target, p, weight)
    apart = scores - scores.gather(1, labels) + margin
    each = (apart > 0).to(scores.dtype) if p == 1 else apart.clamp_min(0) * 2
    if weight is not None:
        each = each * weight.reshape((-1,)).index_select(0, labels.reshape((-1,))).unsqueeze(1)
    each = each.scatter(1, labels, 0.0) / scores.shape[1]
    each = each.scatter(1, labels, -each.sum(1, keepdim=True))
    result: Tensor = (each * share(grad_output, labels, reduction).reshape((-1, 1))).reshape(self.shape)
    return result


def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """Of each row the sum of max(0, 1 - a target's score + another class's) over all such pairs, over the classes.

    Targets are the indices before the first negative one. Also 1 where a class is a target, else 0.
    """
    scores, _ = _class_rows("multilabel_margin_loss", self, target)
    if tuple(target.shape) != tuple(self.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    labels = target.reshape(scores.shape)
    classes = scores.shape[1]
    if labels.numel() and labels.device.type != "meta" and bool(((labels < -1) | (labels >= classes)).any().item()):
        raise RuntimeError("target is out of range")
    there = (labels >= 0).to(_I64).cumprod(1)
    safe = labels.clamp_min(0) * there
    counted = scores.new_zeros(scores.shape).scatter_add(1, safe, there.to(scores.dtype))
    is_target = (counted > 0).to(scores.dtype)
    pairs = (1 - scores.gather(1, safe).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    weights = there.to(scores.dtype).unsqueeze(2) * (1 - is_target).unsqueeze(1)
    losses = (pairs * weights).sum([1, 2]) / classes
    if self.dim() < 2:
        losses = losses.reshape(())
    return reduced(losses, reduction), is_target.reshape(target.shape)


def multilabel_margin_slope(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """The gradient of `multilabel_margin_loss`: for each pair that counts, 1 over the classes more, and less."""
    scores, _ = _class_rows("multilabel_margin_loss", self, target)
    labels, others = target.reshape(scores.shape), 1 - is_target.reshape(scores.shape)
    there = (labels >= 0).to(_I64).cumprod(1)
    safe = labels.clamp_min(0) * there
    counts = (1 - scores.gather(1, safe).unsqueeze(2) + scores.unsqueeze(1) > 0).to(scores.dtype)
    counts = counts * there.to(scores.dtype).unsqueeze(2) * others.unsqueeze(1)
    each = counts.sum(1).scatter_add(1, safe, -counts.sum(2)) / scores.shape[1]
    rows = scores.select(1, 0)
    result: Tensor = (each * share(grad_output, rows, reduction).reshape((-1, 1))).reshape(self.shape)
    return result


# ---------------------------------------------------------------- likelihoods
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """The negative log-likelihood of counts under a Poisson distribution; ``full`` adds Stirling's terms."""
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def kl_div(self: Tensor, target: Tensor, reduction: int = MEAN, *, log_target: bool = False) -> Tensor:
    """target * (log(target) - x); with ``log_target`` the target is a logarithm."""
    if self.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if not self.is_floating_point() or not target.is_floating_point():
        raise RuntimeError("kl_div: Integral inputs not supported.")
    losses = target.exp() * (target - self) if log_target else ops.aten.xlogy(target, target) - target * self
    return reduced(losses, reduction)


def _check_same_size(self: Tensor, target: Tensor) -> None:
    if tuple(self.shape) != tuple(target.shape):
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size ({list(self.shape)}) is "
            "deprecated. Please ensure they have the same size."
        )


def binary_cross_entropy(self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN) -> Tensor:
    """-(target * log(x) + (1 - target) * log(1 - x)), logarithms at least -100."""
    if not self.is_floating_point():
        raise NotImplementedError(f'"binary_cross_entropy" not implemented for {self.dtype}')
    if target.dtype is not self.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} but expected {self.dtype}")
    is_known = self.device.type != "meta"
    if is_known and self.numel() and not bool(((self >= 0) & (self <= 1)).all().item()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    losses = (target - 1) * (-self).log1p().clamp_min(-100) - target * self.log().clamp_min(-100)
    return reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_slope(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN
) -> Tensor:
    """The gradient of `binary_cross_entropy`."""
    for other in (self, target):
        if other.dtype is not grad_output.dtype:
            got, wanted = (_core.scalar_types[t.dtype.name] for t in (other, grad_output))
            raise RuntimeError(f"Found dtype {got} but expected {wanted}")
    if not self.is_floating_point():
        raise NotImplementedError(f'"binary_cross_entropy_backward" not implemented for {self.dtype}')
    slope = (self - target) / ((1 - self) * self).clamp_min(1e-12)
    result: Tensor = (slope if weight is None else _times(slope, weight)) * share(grad_output, slope, reduction)
    return result


def binary_cross_entropy_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(x), without overflow; ``pos_weight`` is a factor of the target's part."""
    if not self.is_floating_point():
        raise NotImplementedError(f'"log_sigmoid_cpu" not implemented for {self.dtype}')
    below = (self.abs().neg().exp().log1p()) + self.neg().clamp_min(0)  # -log(sigmoid(x))
    if pos_weight is not None:
        below = _times(below, (pos_weight - 1) * target + 1)
    losses = _times(1 - target, self)
    losses = (losses + _fitting(losses, below)).to(losses.dtype)
    return reduced(losses if weight is None else _times(losses, weight), reduction)


def _times(value: Tensor, factor: Tensor) -> Tensor:
    """The product, of the value's shape and dtype: PyTorch computes it in place."""
    result: Tensor = (value * _fitting(value, factor)).to(value.dtype)
    return result


def _fitting(value: Tensor, other: Tensor) -> Tensor:
    """What may be computed with in the place of a value. Raises RuntimeError for another."""
    wide = _core.common_dtype(value, other)
    if not can_cast(wide, value.dtype):
        names = (_core.scalar_types[dtype.name] for dtype in (wide, value.dtype))
        raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*names))
    shape = _core.broadcast_shapes(value.shape, other.shape)
    if tuple(shape) != tuple(value.shape):
        raise RuntimeError(f"output with shape {list(value.shape)} doesn't match the broadcast shape {list(shape)}")
    return other


def _summed(grad: Tensor, like: Tensor) -> Tensor:
    """A gradient in the dtype of what it is of; the engine sums what was broadcast."""
    result: Tensor = grad.to(like.dtype)
    return result


@constants("weight", "pos_weight")
@saves(self=0, target=1, weight=2, pos_weight=3, reduction="reduction")
def with_logits_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    *given, ctx.reduction = inputs
    ctx.save_for_backward(*given)


def with_logits_gradient(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of x and of the target; weights have none."""
    self, target, weight, pos_weight = ctx.saved_tensors
    of_self = of_target = None
    if ctx.reduction == MEAN:
        count = math.prod(_shape_of_all(self, target, weight, pos_weight))
        grad = grad / count
    if weight is not None:
        grad = grad * weight
    if ctx.needs_input_grad[0]:
        if pos_weight is None:
            of_self = _summed((self.sigmoid() - target) * grad, self)
        else:
            positive = pos_weight * target
            of_self = _summed(((positive + 1 - target) * self.sigmoid() - positive) * grad, self)
    if ctx.needs_input_grad[1]:
        slope = -self
        if pos_weight is not None:
            slope = slope - (pos_weight - 1) * ops.aten.log_sigmoid(self)
        of_target = _summed(slope * grad, target)
    return of_self, of_target, None, None, None


def _shape_of_all(*tensors: Tensor | None) -> tuple[int, ...]:
    return tuple(_core.broadcast_shapes(*(tuple(t.shape) for t in tensors if t is not None)))
