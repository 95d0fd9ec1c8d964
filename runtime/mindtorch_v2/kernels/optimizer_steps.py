"""Steps of optimizers for lists of parameters, ``torch._fused_…``: in one pass over memory where that can be.

Either way each number is the same: the C++ kernels round as the operators do that a step is composed of otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtypes
from .._ops import ops
from ._native import native

__all__ = ["adagrad", "adam", "adamw", "sgd"]

_REAL = dtypes["float32"], dtypes["float64"]
_LARGEST = 3e38  # about the largest float32: operators refuse factors beyond it


def _in_one_pass(tensors: list[Tensor], numbers: Sequence[float]) -> bool:
    return tensors[0].dtype in _REAL and _core.lie_apart(tensors) and all(abs(n) < _LARGEST for n in numbers)


def _scaled_gradients(
    lists: dict[str, Sequence[Tensor]], grad_scale: Tensor | None, found_inf: Tensor | None
) -> list[Tensor] | None:
    """The gradients without their scale; None where one was found not to be finite, and nothing is to be done."""
    counts = {name: len(tensors) for name, tensors in lists.items()}
    if len(set(counts.values())) > 1:
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {counts}")
    if found_inf is not None and found_inf.item():
        return None
    grads = lists["grads"]
    if grad_scale is not None:
        for grad in grads:
            grad.div_(grad_scale)
    return list(grads)


def adam(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    **options: Any,
) -> None:
    """A step of Adam, for each parameter: weight decay is added to the gradient."""
    _adam((self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps), False, **options)


def adamw(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    **options: Any,
) -> None:
    """A step of AdamW, for each parameter: weight decay shrinks the parameter."""
    _adam((self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps), True, **options)


def _adam(
    lists: tuple[Sequence[Tensor], ...],
    decoupled: bool,
    *,
    lr: Any,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    parameters, given, means, squares, largest, steps = lists
    named = {"self": parameters, "grads": given, "exp_avgs": means, "exp_avg_sqs": squares, "state_steps": steps}
    if amsgrad:
        named["max_exp_avg_sqs"] = largest
    grads = _scaled_gradients(named, grad_scale, found_inf)
    if grads is None:
        return
    run = native("mt_adam", *["desc"] * 5, "bool_", "bool_", *["f64"] * 8)
    learning = float(lr)
    for at, (parameter, grad, mean, square, step) in enumerate(
        zip(parameters, grads, means, squares, steps, strict=True)
    ):
        count = float(step)
        most = largest[at] if amsgrad else None
        shrink = 1 - learning * weight_decay if weight_decay and decoupled else 1.0
        decay = 0.0 if decoupled else float(weight_decay)
        root, rate = (1 - beta2**count) ** 0.5, -learning / (1 - beta1**count)
        numbers = shrink, decay, 1 - beta1, beta2, 1 - beta2, root, eps, rate
        tensors = [parameter, grad, mean, square, *([most] if most is not None else [])]
        if _in_one_pass(tensors, numbers):
            run(parameter, grad, mean, square, square if most is None else most, amsgrad, maximize, *numbers)
            continue
        if maximize:
            grad = -grad
        if shrink != 1:
            parameter.mul_(shrink)
        if decay:
            grad = grad.add(parameter, alpha=decay)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = square if most is None else most.copy_(ops.aten.maximum(most, square))
        parameter.addcdiv_(mean, spread.sqrt().div_(root).add_(eps), value=rate)


def sgd(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    *,
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of stochastic gradient descent, for each parameter."""
    named = {"self": self, "grads": grads}
    if momentum:
        named["momentum_buffer_list"] = momentum_buffer_list
    scaled = _scaled_gradients(named, grad_scale, found_inf)
    if scaled is None:
        return
    run = native("mt_sgd", *["desc"] * 3, *["bool_"] * 4, *["f64"] * 4)
    for at, (parameter, grad) in enumerate(zip(self, scaled, strict=True)):
        buffer = momentum_buffer_list[at] if momentum else None
        numbers = float(weight_decay), float(momentum), 1 - float(dampening), -float(lr)
        tensors = [parameter, grad, *([buffer] if buffer is not None else [])]
        if _in_one_pass(tensors, numbers):
            moves = buffer is not None
            run(parameter, grad, buffer if moves else grad, moves, maximize, is_first_step, nesterov, *numbers)
            continue
        if maximize:
            grad = -grad
        if weight_decay:
            grad = grad.add(parameter, alpha=weight_decay)
        if buffer is not None:
            if is_first_step:
                buffer.copy_(grad)
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        parameter.sub_(grad, alpha=float(lr))


def adagrad(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    *,
    lr: Any,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """A step of Adagrad, for each parameter."""
    named = {"self": self, "grads": grads, "state_sums": state_sums, "state_steps": state_steps}
    scaled = _scaled_gradients(named, grad_scale, found_inf)
    if scaled is None:
        return
    for parameter, grad, total, step in zip(self, scaled, state_sums, state_steps, strict=True):
        if maximize:
            grad = -grad
        if weight_decay:
            grad = grad.add(parameter, alpha=weight_decay)
        total.addcmul_(grad, grad)
        parameter.addcdiv_(grad, total.sqrt().add_(eps), value=-float(lr) / (1 + (float(step) - 1) * lr_decay))
