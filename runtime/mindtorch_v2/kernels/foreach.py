"""``torch._foreach_…``: an operator called for each of a list of tensors.

Each function here has the name of the operator that it repeats, and is made when it is first asked for. An argument
that is a list has an item for each tensor; any other goes to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from .._ops import ops

__all__: list[str] = []


def _maximum(self: Tensor, other: Any) -> Tensor:
    aten = ops.aten
    result: Tensor = aten.maximum(self, other) if isinstance(other, Tensor) else aten.clamp_min(self, other)
    return result


def _minimum(self: Tensor, other: Any) -> Tensor:
    aten = ops.aten
    result: Tensor = aten.minimum(self, other) if isinstance(other, Tensor) else aten.clamp_max(self, other)
    return result


def _norm(self: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    result: Tensor = ops.aten.linalg_vector_norm(self, ord, dtype=dtype)
    return result


def _powsum(self: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        raise NotImplementedError(
            f"_foreach_powsum: Expected a floating point or complex tensor as input. Got {self.dtype}"
        )
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError(f"_foreach_powsum is not implemented for {dtype}")
    given = self if dtype is None else self.to(dtype)
    result: Tensor = given.abs().pow(ord).sum()
    return result


def _copied(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return self.clone().copy_(src, non_blocking)  # type: ignore[no-any-return]


def _valued(name: str) -> Callable[..., Tensor]:
    """`addcmul` and `addcdiv`, whose last argument has a name."""

    def call(self: Tensor, first: Tensor, second: Tensor, value: Any = 1) -> Tensor:
        result: Tensor = getattr(ops.aten, name)(self, first, second, value=value)
        return result

    return call


_SPECIAL: dict[str, Callable[..., Any]] = {
    "addcdiv": _valued("addcdiv"),
    "addcdiv_": _valued("addcdiv_"),
    "addcmul": _valued("addcmul"),
    "addcmul_": _valued("addcmul_"),
    "copy": _copied,
    "maximum": _maximum,
    "minimum": _minimum,
    "maximum_": lambda self, other: ops.aten.clamp_min_(self, other),
    "minimum_": lambda self, other: ops.aten.clamp_max_(self, other),
    "norm": _norm,
    "powsum": _powsum,
}
# The arguments of these that are one tensor for all, and must hold one number; or a number for each.
_ONE_NUMBER = frozenset(("add", "add_", "mul", "mul_", "div", "div_"))
_NUMBERS = frozenset(("addcdiv", "addcdiv_", "addcmul", "addcmul_"))


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    operator = _SPECIAL.get(name) or getattr(ops.aten, name)

    def repeat(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = [_items(name, argument) for argument in args]
        by_name = {key: _items(name, argument) for key, argument in kwargs.items()}
        lists = [items for items in (self, *given, *by_name.values()) if isinstance(items, (list, tuple))]
        _check_lengths(lists)
        results = []
        for at in range(len(lists[0])):
            first, *others = (_item(items, at) for items in (self, *given))
            results.append(operator(first, *others, **{key: _item(items, at) for key, items in by_name.items()}))
        return None if name.endswith("_") else results

    repeat.__name__ = repeat.__qualname__ = name
    globals()[name] = repeat
    return repeat


def _items(name: str, argument: Any) -> Any:
    """An argument; a tensor that stands for one number, or for a number for each, after a look at its size."""
    if isinstance(argument, Tensor) and name in _ONE_NUMBER and (argument.dim() or argument.numel() != 1):
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {argument.dim()} dimensions and {argument.numel()} "
            "elements."
        )
    if isinstance(argument, Tensor) and name in _NUMBERS:
        if argument.dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {argument.dim()} instead.")
        return argument.tolist()
    return argument


def _item(items: Any, at: int) -> Any:
    return items[at] if isinstance(items, (list, tuple)) else items


def _check_lengths(lists: Sequence[Any]) -> None:
    if not len(lists[0]):
        raise RuntimeError("Tensor list must have at least one tensor.")
    for items in lists[1:]:
        if len(items) == len(lists[0]):
            continue
        if items and not isinstance(items[0], Tensor):
            raise RuntimeError(
                f"Tensor list must have same number of elements as scalar list, got {len(lists[0])} and {len(items)}"
            )
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(lists[0])} and {len(items)}")


# ---------------------------------------------------------------- steps of optimisers
def _scaled_gradients(
    lists: dict[str, Sequence[Tensor]], maximize: bool, grad_scale: Tensor | None, found_inf: Tensor | None
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
    return [-grad for grad in grads] if maximize else list(grads)


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
    grads = _scaled_gradients(named, maximize, grad_scale, found_inf)
    if grads is None:
        return
    rate = float(lr)
    for at, (parameter, grad, mean, square, step) in enumerate(
        zip(parameters, grads, means, squares, steps, strict=True)
    ):
        count = float(step)
        if weight_decay and decoupled:
            parameter.mul_(1 - rate * weight_decay)
        elif weight_decay:
            grad = grad.add(parameter, alpha=weight_decay)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = square
        if amsgrad:
            spread = largest[at].copy_(ops.aten.maximum(largest[at], square))
        root = (1 - beta2**count) ** 0.5
        parameter.addcdiv_(mean, spread.sqrt().div_(root).add_(eps), value=-rate / (1 - beta1**count))


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
    scaled = _scaled_gradients(named, maximize, grad_scale, found_inf)
    if scaled is None:
        return
    for at, (parameter, grad) in enumerate(zip(self, scaled, strict=True)):
        if weight_decay:
            grad = grad.add(parameter, alpha=weight_decay)
        if momentum:
            buffer = momentum_buffer_list[at]
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
    scaled = _scaled_gradients(named, maximize, grad_scale, found_inf)
    if scaled is None:
        return
    for parameter, grad, total, step in zip(self, scaled, state_sums, state_steps, strict=True):
        if weight_decay:
            grad = grad.add(parameter, alpha=weight_decay)
        total.addcmul_(grad, grad)
        parameter.addcdiv_(grad, total.sqrt().add_(eps), value=-float(lr) / (1 + (float(step) - 1) * lr_decay))
