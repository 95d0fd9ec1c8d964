"""Gradients kept small: by their norm over all parameters, or each value by itself."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from ..._core import Tensor
from ..._creation import tensor
from ..._ops import ops
from ...autograd import no_grad

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]
_WITH_FOREACH = ("cpu", "cuda", "npu")


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of all tensors, as if they were one vector: a scalar on the first one's device.

    Raises RuntimeError, with ``error_if_nonfinite``, where it is inf or nan. ``foreach=True`` takes all tensors of a
    device and dtype in one call.
    """
    given, order = _listed(tensors), float(norm_type)
    if not given:
        return tensor(0.0)
    with no_grad():
        norms: list[Tensor] = []
        for group in _groups(given):
            if _in_one_call(group, foreach):
                norms += ops.aten._foreach_norm(group, order)
            else:
                norms += [ops.aten.linalg_vector_norm(each, order) for each in group]
        total: Tensor = ops.aten.linalg_vector_norm(ops.aten.stack([n.to(given[0].device) for n in norms]), order)
        if error_if_nonfinite and not bool(total.isfinite()):
            raise RuntimeError(
                f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To "
                "disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
        return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by ``max_norm / total_norm``, in place, where that is below 1."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not grads:
        return
    with no_grad():
        factor: Any = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for group in _groups(grads):
            here = factor.to(group[0].device)
            if _in_one_call(group, foreach):
                ops.aten._foreach_mul_(group, here)
            else:
                for grad in group:
                    grad.mul_(here)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of ``parameters`` in place, so that their norm is at most ``max_norm``; returns the norm.

    Source: Pascanu et al., "On the difficulty of training recurrent neural networks", 2013.
    """
    is_generator = isinstance(parameters, types.GeneratorType)
    given = _listed(parameters)
    if is_generator and not given:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    grads = [p.grad for p in given if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`; warns."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Keeps every value of the gradients within +-``clip_value``, in place."""
    bound = float(clip_value)
    with no_grad():
        for group in _groups([p.grad for p in _listed(parameters) if p.grad is not None]):
            if _in_one_call(group, foreach):
                ops.aten._foreach_clamp_min_(group, -bound)
                ops.aten._foreach_clamp_max_(group, bound)
            else:
                for grad in group:
                    grad.clamp_(min=-bound, max=bound)


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _groups(tensors: list[Any]) -> Iterator[list[Any]]:
    """The tensors of each device and dtype, in the order in which these come first."""
    groups: dict[Any, list[Any]] = {}
    for each in tensors:
        groups.setdefault((each.device, each.dtype), []).append(each)
    return iter(groups.values())


def _in_one_call(group: list[Any], foreach: bool | None) -> bool:
    if foreach and group[0].device.type not in _WITH_FOREACH:
        raise RuntimeError(
            f"foreach=True was passed, but can't use the foreach API on {group[0].device.type} tensors; leave it out"
        )
    return bool(foreach)
