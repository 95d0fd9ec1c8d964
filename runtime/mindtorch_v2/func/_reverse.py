"""`grad`, `grad_and_value` and `vjp`: reverse mode, by the graph that autograd records."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _core, autograd
from .._core import Tensor
from ..autograd._levels import differentiating, next_level, recording
from ..autograd.graph import disable_saved_tensors_hooks
from ..utils._pytree import tree_leaves, tree_map
from ._inputs import (
    ArgNums,
    chosen_arguments,
    depends_on_others,
    only_tensors,
    recorded_outside,
    released,
    split_aux,
    structure,
    tracked,
    untracked,
)

__all__ = ["grad", "grad_and_value", "vjp"]

_ANY_TRANSFORM = (1 << 63) - 1
_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, but the function returns ``(gradients, value)``, or ``(gradients, (value, aux))`` with ``has_aux``."""

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments(argnums, len(args))
        outer, number, recorded = recorded_outside(), next_level(), autograd.is_grad_enabled()
        with differentiating(number), autograd.enable_grad(), disable_saved_tensors_hooks(_NO_HOOKS):
            inputs = [tracked(a, outer) if i in chosen else a for i, a in enumerate(args)]
            value, aux = split_aux(func(*inputs, **kwargs), has_aux, "grad_and_value(f)(*args)")
            _require_scalar(value)
            wanted = [inputs[n] for n in chosen]
            leaves = tree_leaves(wanted)
            outside, inside = depends_on_others([value], leaves, number) if recorded else (False, False)
            outside = outside and outer
            found = iter(_gradients([value], leaves, [None], outside or inside))
        gradients = tree_map(lambda _: next(found), wanted)
        result = gradients[0] if isinstance(argnums, int) else tuple(gradients), (value, aux) if has_aux else value
        return result if outside else untracked(result)

    return differentiated


def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of ``func``, which returns a 0-d tensor, for the arguments ``argnums``.

    With ``has_aux`` func returns ``(value, aux)`` and the gradient comes as ``(gradient, aux)``. Raises RuntimeError
    for another result, or an argument that there is not.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """``func(*primals)``, and the function from gradients of its outputs to gradients of its inputs.

    With ``has_aux`` func returns ``(output, aux)``, and aux comes third.
    """
    output, pull_back, aux = vjp_of(func, primals, has_aux)
    return (output, pull_back, aux) if has_aux else (output, pull_back)


def vjp_of(
    func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Callable[..., tuple[Any, ...]], Any]:
    """`vjp`, always with aux."""
    outer, number, recorded = recorded_outside(), next_level(), autograd.is_grad_enabled()
    with differentiating(number), autograd.enable_grad(), disable_saved_tensors_hooks(_NO_HOOKS):
        inputs = [tracked(p, outer) for p in primals]
        output, aux = split_aux(func(*inputs), has_aux, "vjp(f, *primals)")
        outputs = only_tensors(output, "vjp(f, *primals)")
        _require_floating(outputs)
        leaves = tree_leaves(inputs)
        outside, inside = depends_on_others(outputs, leaves, number)
        outside = outside and outer
    for leaf in leaves:
        if leaf.is_leaf:
            _core.retire_(leaf)

    def pull_back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple[Any, ...]:
        if structure(cotangents) != structure(output):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {structure(cotangents)}, primal output: {structure(output)}"
            )
        starts = tree_leaves(cotangents)
        of_starts, in_starts = depends_on_others(starts, leaves, _ANY_TRANSFORM)  # of transforms that began since, too
        recorded = autograd.is_grad_enabled() if create_graph is None else create_graph
        keeps_history = recorded and recorded_outside() and (outside or of_starts)
        with recording():
            differentiable = keeps_history or (recorded and (inside or in_starts))
            found = iter(_gradients(outputs, leaves, starts, differentiable, retain_graph))
        gradients = tuple(tree_map(lambda _: next(found), tree) for tree in inputs)
        return gradients if keeps_history else untracked(gradients)

    if not (outside and recorded):
        return untracked(output), pull_back, untracked(aux)
    return released(output, leaves, number), pull_back, aux


def _gradients(
    outputs: list[Tensor], inputs: list[Tensor], starts: list[Any], differentiable: bool, retain_graph: bool = True
) -> tuple[Tensor, ...]:
    """`autograd.grad` of the outputs that depend on anything, zeros where an input is not reached."""
    pairs = [(o, s) for o, s in zip(outputs, starts, strict=True) if o.requires_grad]
    if not inputs:
        return ()
    found: tuple[Tensor, ...] = autograd.grad(
        [o for o, _ in pairs],
        inputs,
        [s for _, s in pairs],
        retain_graph=retain_graph,
        create_graph=differentiable,
        materialize_grads=True,
    )
    return found


def _require_floating(outputs: list[Tensor]) -> None:
    for output in outputs:
        if not (output.is_floating_point() or output.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{output.dtype}"
            )


def _require_scalar(value: Any) -> None:
    if not isinstance(value, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
    if value.dim() != 0:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )
