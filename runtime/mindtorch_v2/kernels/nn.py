"""The negative log-likelihood."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._contexts import constants, saves
from ._native import native

__all__ = [
    "nll_loss2d_backward",
    "nll_loss2d_backward_fake",
    "nll_loss2d_gradient",
    "nll_loss2d_second_gradient",
    "nll_loss_backward",
    "nll_loss_backward_fake",
    "nll_loss_backward_setup",
    "nll_loss_forward",
    "nll_loss_gradient",
    "nll_loss_second_gradient",
    "nll_loss_setup",
]

NONE, MEAN, SUM = 0, 1, 2


def _check(self: Tensor, target: Tensor) -> None:
    """Refuses targets that are no indices, and shapes and dtypes that do not belong together."""
    if target.dtype not in (_core.dtypes["int64"], _core.dtypes["uint8"]):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype}")
    if self.dim() not in (1, 2):
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if self.dim() == 2 and tuple(target.shape) != tuple(self.shape[:1]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")


def _rows(self: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Scores as (N, classes) and targets as (N,); a single row stands for a batch of one. Checks the scores' dtype."""
    if not self.is_floating_point():
        raise NotImplementedError(f'"nll_loss_out_frame" not implemented for {self.dtype}')
    return (self, target) if self.dim() == 2 else (self.unsqueeze(0), target.reshape((-1,))[:1])


def _check_weight(self: Tensor, weight: Tensor | None, classes: int) -> None:
    if weight is None:
        return
    if tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if weight.dtype is not self.dtype:
        raise RuntimeError(f"expected scalar type {self.dtype} but found {weight.dtype}: weight has the input's dtype")


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """Of a single row of scores: as of a batch of one."""
    row, label = self.unsqueeze(0), target.reshape((1,))
    loss, total_weight = ops.aten.nll_loss_forward(row, label, weight, reduction, ignore_index)
    return loss.reshape(()), total_weight


def _check_count(total_weight: Tensor) -> None:
    if total_weight.numel() != 1:
        raise RuntimeError(
            f"expected total_weight to be a single element tensor, got: {list(total_weight.shape)} "
            f"({total_weight.numel()} elements)"
        )


def _check_gradient(target: Tensor, grad_output: Tensor, each: bool) -> None:
    """Refuses a gradient that is not one number, or one of each place."""
    if each:
        if tuple(grad_output.shape) != tuple(target.shape):
            raise RuntimeError(
                f"Expected grad_output of shape {list(target.shape)}, a number a row, but got {list(grad_output.shape)}"
            )
    elif grad_output.dim() > 1 or grad_output.numel() != 1:
        raise RuntimeError(f"Expected a single element grad_output tensor, but got: {list(grad_output.shape)}")


def nll_loss_backward_fake(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """What `nll_loss_backward` refuses; and a tensor like the scores."""
    _check_count(total_weight)
    _check(self, target)
    _check_weight(self, weight, self.shape[-1])
    _check_gradient(target, grad_output, reduction == NONE and self.dim() == 2)
    output: Tensor = _core.alloc(self.shape, self.dtype, self.device)
    return output


def nll_loss2d_backward_fake(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """What `nll_loss2d_backward` refuses; and a tensor like the scores."""
    if target.dim() != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    if self.dim() != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.dim()}"
        )
    if weight is not None and weight.numel() != self.shape[1]:
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    if (*self.shape[:1], *self.shape[2:]) != tuple(target.shape):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    _check_count(total_weight)
    _check_gradient(target, grad_output, reduction == NONE)
    output: Tensor = _core.alloc(self.shape, self.dtype, self.device)
    return output


def _slopes(
    output: Tensor,
    grad_output: Tensor,
    target: Tensor,
    weight: Tensor | None,
    total_weight: Tensor,
    options: tuple[int, int],
) -> None:
    """Minus the class weight at each place's target, 0 elsewhere, times the gradient."""
    run = native("mt_nll_loss_backward", "desc", "desc", "desc", "desc", "desc", "i64", "i64", "i64")
    run(grad_output, target, output if weight is None else weight, total_weight, output, weight is not None, *options)


def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The gradient of rows of scores, or of a single one."""
    output = nll_loss_backward_fake(grad_output, self, target, weight, reduction, ignore_index, total_weight)
    scores, labels = _rows(output, target)
    grad = grad_output.reshape((-1,)) if reduction == NONE else grad_output
    _slopes(scores, grad, labels, weight, total_weight, (reduction, ignore_index))
    return output


def nll_loss2d_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The gradient of the scores of pixels."""
    output = nll_loss2d_backward_fake(grad_output, self, target, weight, reduction, ignore_index, total_weight)
    _slopes(output, grad_output, target, weight, total_weight, (reduction, ignore_index))
    return output


@constants("weight")
@saves(self=0, target=1, weight=2, total_weight=3, reduction="reduction", ignore_index="ignore_index")
def nll_loss_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    self, target, weight, ctx.reduction, ctx.ignore_index = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(self, target, weight, output[1])


def _gradient(backward: Any, ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
    """The gradient of the scores, by an operator."""
    self, target, weight, total_weight = ctx.saved_tensors
    if grad is None:
        return None, None, None, None, None
    return backward(grad, self, target, weight, ctx.reduction, ctx.ignore_index, total_weight), None, None, None, None


def nll_loss_gradient(ctx: Any, grad: Tensor | None, _grad_total_weight: Tensor | None) -> tuple[Any, ...]:
    """The gradient of the scores; total_weight is a count."""
    return _gradient(ops.aten.nll_loss_backward, ctx, grad)


def nll_loss2d_gradient(ctx: Any, grad: Tensor | None, _grad_total_weight: Tensor | None) -> tuple[Any, ...]:
    """As `nll_loss_gradient`, of pixels."""
    return _gradient(ops.aten.nll_loss2d_backward, ctx, grad)


@constants("weight", "total_weight")
@saves(target=0, weight=1, reduction="reduction", ignore_index="ignore_index")
def nll_loss_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    _, _, target, weight, ctx.reduction, ctx.ignore_index, _ = inputs
    ctx.save_for_backward(target, weight)


def _second_gradient(loss: Any, ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradient of the gradient of the loss, which is linear in that, and zeros for the scores."""
    target, weight = ctx.saved_tensors
    of_grad, of_self = ctx.needs_input_grad[:2]
    found = loss(grad, target, weight, ctx.reduction, ctx.ignore_index) if of_grad else None
    return found, ops.aten.zeros_like(grad) if of_self else None, None, None, None, None, None


def nll_loss_second_gradient(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of `nll_loss_backward`."""
    return _second_gradient(ops.aten.nll_loss, ctx, grad)


def nll_loss2d_second_gradient(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The gradients of `nll_loss2d_backward`."""
    return _second_gradient(ops.aten.nll_loss2d, ctx, grad)
