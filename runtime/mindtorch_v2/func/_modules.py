"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._ops import ops
from ..nn import Module
from ..nn._functional_call import functional_call

__all__ = ["functional_call", "stack_module_state"]


@names_wrong_types
def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Parameters and buffers of modules of one class, each stacked along a new first dimension, for `vmap`."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {
        name: ops.aten.stack([dict(m.named_parameters())[name].detach() for m in models]).requires_grad_(
            p.requires_grad
        )
        for name, p in models[0].named_parameters()
    }
    buffers = {
        name: ops.aten.stack([dict(m.named_buffers())[name].detach() for m in models])
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers
