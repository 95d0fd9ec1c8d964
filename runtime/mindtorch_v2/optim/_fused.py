"""Steps of whole lists of parameters by one operator for each device and dtype: ``fused=True``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from .. import _creation
from .._core import Tensor
from .._ops import ops

__all__ = ["fused_adagrad", "fused_adam", "fused_sgd"]

Lists = dict[str, list[Any]]


def _places(params: Sequence[Tensor]) -> Iterator[list[int]]:
    groups: dict[Any, list[int]] = {}
    for i, param in enumerate(params):
        groups.setdefault((param.device, param.dtype), []).append(i)
    return iter(groups.values())


def _scaled(place: Any, grad_scale: Tensor | None, found_inf: Tensor | None) -> dict[str, Tensor | None]:
    """What a scaler of gradients hands to the operators, on their device."""
    given = {"grad_scale": grad_scale, "found_inf": found_inf}
    return {name: value if value is None else value.to(place) for name, value in given.items()}


def _counted(name: str, *lists: list[Any], steps: list[Tensor], options: dict[str, Any]) -> None:
    """One operator's step, which is not counted where the gradients were found to be infinite."""
    ops.aten._foreach_add_(steps, 1)
    getattr(ops.aten, name)(*lists, steps, **options)
    if options["found_inf"] is not None:
        ops.aten._foreach_sub_(steps, [options["found_inf"]] * len(steps))


def fused_adam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Lists,
    o: SimpleNamespace,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """A step of Adam, or of AdamW where the decay is decoupled. Raises RuntimeError if it is to be differentiated."""
    if o.differentiable:
        raise RuntimeError("Adam with fused=True does not support differentiable=True")
    name = "_fused_adamw_" if o.decoupled_weight_decay else "_fused_adam_"
    given = {key: getattr(o, key) for key in ("lr", "weight_decay", "eps", "amsgrad", "maximize")}
    betas = {key: float(getattr(o, key)) for key in ("beta1", "beta2")}
    for chosen in _places(params):
        columns = [[column[i] for i in chosen] for column in (params, grads, states["exp_avg"], states["exp_avg_sq"])]
        greatest = [states["max_exp_avg_sq"][i] for i in chosen] if o.amsgrad else []
        scaled = _scaled(params[chosen[0]].device, grad_scale, found_inf)
        steps = [states["step"][i] for i in chosen]
        _counted(name, *columns, greatest, steps=steps, options={**given, **betas, **scaled})


def fused_adagrad(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Lists,
    o: SimpleNamespace,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """A step of Adagrad. Raises RuntimeError for complex parameters, and if it is to be differentiated."""
    if any(param.is_complex() for param in params):
        raise RuntimeError("`fused` does not support sparse grad or complex param")
    if o.differentiable:
        raise RuntimeError("adagrad with fused=True does not support differentiable=True")
    given = {key: getattr(o, key) for key in ("lr", "lr_decay", "weight_decay", "eps", "maximize")}
    for chosen in _places(params):
        columns = [[column[i] for i in chosen] for column in (params, grads, states["sum"])]
        scaled = _scaled(params[chosen[0]].device, grad_scale, found_inf)
        _counted("_fused_adagrad_", *columns, steps=[states["step"][i] for i in chosen], options={**given, **scaled})


def fused_sgd(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Lists,
    o: SimpleNamespace,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    """A step of SGD; momenta that are None are made, all at once."""
    momenta = states["momentum_buffer"]
    first = o.momentum != 0 and all(momentum is None for momentum in momenta)
    if first:
        momenta[:] = [_creation.empty_like(grad) for grad in grads]
    given = {key: getattr(o, key) for key in ("weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize")}
    for chosen in _places(params):
        lists = [[column[i] for i in chosen] for column in (params, grads)]
        own = [momenta[i] for i in chosen] if o.momentum != 0 else []
        scaled = _scaled(params[chosen[0]].device, grad_scale, found_inf)
        ops.aten._fused_sgd_(*lists, own, **given, is_first_step=first, **scaled)
