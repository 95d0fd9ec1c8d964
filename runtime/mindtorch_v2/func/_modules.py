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
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {name: _stacked(name, [of_model[name] for of_model in parameters]) for name in parameters[0]},
        {name: _stacked(name, [of_model[name] for of_model in buffers]) for name in buffers[0]},
    )


def _stacked(name: str, parts: Sequence[Tensor]) -> Tensor:
    requires_grad = parts[0].requires_grad
    if any(part.requires_grad != requires_grad for part in parts):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    whole: Tensor = ops.aten.stack([part.detach() for part in parts])
    return whole.requires_grad_(requires_grad)
