"""`grad`, `vjp` and `jvp` of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import autograd
from .._core import Tensor
from .._ops import ops
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["grad", "grad_and_value", "jvp", "vjp"]


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """As `grad`, but the function returns ``(gradients, value)``, or ``(gradients, (value, aux))`` with ``has_aux``."""

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        chosen = (argnums,) if isinstance(argnums, int) else argnums
        with autograd.enable_grad():
            inputs = [_input(a) if i in {n % len(args) for n in chosen} else a for i, a in enumerate(args)]
            result = func(*inputs, **kwargs)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor) or value.dim() != 0:
                got = f"{type(value)}" if not isinstance(value, Tensor) else f"tensor with {value.dim()} dims"
                raise RuntimeError(f"Expected f(*args) to return a scalar Tensor, got {got}. `vjp` takes other outputs")
            outer = any(isinstance(t, Tensor) and t.requires_grad for t in tree_leaves(list(args)))
            wanted = [inputs[n] for n in chosen]
            leaves = [t for t in tree_leaves(wanted) if isinstance(t, Tensor)]
            found = iter(autograd.grad(value, leaves, create_graph=outer, materialize_grads=True))
        gradients = tree_map(lambda t: next(found) if isinstance(t, Tensor) else t, wanted)
        out = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        results = (value, aux) if has_aux else value
        return out, results if outer else tree_map(lambda t: t.detach() if isinstance(t, Tensor) else t, results)

    return differentiated


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """The function that computes the gradient of ``func``, which returns a 0-d tensor, for the arguments ``argnums``.

    With ``has_aux`` func returns ``(value, aux)`` and the gradient comes as ``(gradient, aux)``.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated


def vjp(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """``func(*primals)``, and the function from gradients of its outputs to gradients of its inputs."""
    with autograd.enable_grad():
        inputs = [_input(p) for p in primals]
        output = func(*inputs)

    def pull_back(*cotangents: Any) -> tuple[Any, ...]:
        outputs = tree_leaves(output)
        starts = tree_leaves(list(cotangents))
        return tuple(autograd.grad(outputs, inputs, starts, retain_graph=True, materialize_grads=True))

    return tree_map(lambda t: t.detach(), output), pull_back


def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """``func(*primals)`` and its derivative in the direction ``tangents``, each of its primal's shape.

    Computed by differentiating the backward pass, which is linear in the gradients that it starts from: every
    operator on the way needs a gradient that can itself be differentiated. Raises ValueError where the tangents do not
    fit the primals.
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or not primals:
        raise ValueError("jvp(f, primals, tangents): Expected primals and tangents to be non-empty tuples")
    if len(primals) != len(tangents) or any(p.shape != t.shape for p, t in zip(primals, tangents, strict=True)):
        raise ValueError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same structure and shapes"
        )
    with autograd.enable_grad():
        inputs = [_input(p) for p in primals]
        output = func(*inputs)
        outputs = tree_leaves(output)
        starts = [ops.aten.zeros_like(o.detach()).requires_grad_() for o in outputs]
        reached = [o for o in outputs if o.requires_grad]
        kept = [s for o, s in zip(outputs, starts, strict=True) if o.requires_grad]
        derivatives = [ops.aten.zeros_like(o.detach()) for o in outputs]
        if reached:
            pulled = autograd.grad(reached, inputs, kept, create_graph=True, materialize_grads=True)
            linear = [(g, t) for g, t in zip(pulled, tangents, strict=True) if g.requires_grad]
            pushed = iter(autograd.grad([g for g, _ in linear], kept, [t for _, t in linear], materialize_grads=True))
            derivatives = [next(pushed) if o.requires_grad else d for o, d in zip(outputs, derivatives, strict=True)]
    found = iter(derivatives)
    return tree_map(lambda t: t.detach(), output), tree_map(lambda _: next(found), output)


def _input(value: Any) -> Any:
    """A tensor that gradients are taken for: outside the graph of its own, or in it where that records the call too."""
    return tree_map(_tracked, value)


def _tracked(value: Any) -> Any:
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    return ops.aten.alias(value) if value.requires_grad else value.detach().requires_grad_()
