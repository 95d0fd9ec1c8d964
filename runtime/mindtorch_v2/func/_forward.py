"""`jvp` and `linearize`: forward mode, at a level of its own each time, so that transforms nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core, autograd
from .._core import Tensor
from .._ops import ops
from ..autograd._levels import differentiating, next_level, propagating, recording
from ..autograd.forward_ad import close_level, make_dual_at, open_level
from ..utils._pytree import tree_leaves, tree_map, tree_map_only
from ._inputs import (
    depends_on_others,
    only_tensors,
    recorded_outside,
    released,
    split_aux,
    structure,
    tracked,
    untracked,
)

__all__ = ["jvp", "linearize"]

_NAME = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """``func(*primals)`` and its derivative in the direction ``tangents``, nested as primals are; each once, together.

    With ``has_aux`` func returns ``(output, aux)``, and aux comes third. Of an output that does not depend on the
    primals the derivative is zero, or a RuntimeError with ``strict``. Raises RuntimeError where the tangents do not fit
    the primals.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_NAME}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if structure(primals) != structure(tangents):
        raise RuntimeError(
            f"{_NAME}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure(primals)} and tangents "
            f"with structure {structure(tangents)}"
        )
    _require_tensors(primals, "primals")
    _require_tensors(tangents, "tangents")
    level = open_level()
    try:
        with propagating(), differentiating(level.number, "Jvp"):
            duals = tree_map(lambda p, t: make_dual_at(level, _floating(p), _floating(t, "tangent")), primals, tangents)
            output, aux = split_aux(func(*duals), has_aux, _NAME)
            only_tensors(output, _NAME)
            derivatives = tree_map(lambda o: _derivative(level.get(o), o, strict), output)
    finally:
        close_level(level)
    return (output, derivatives, aux) if has_aux else (output, derivatives)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)``, and the function from tangents of the primals to the derivative of the output.

    That function does not run func again: it differentiates the recorded backward pass, which is linear in the
    gradients that it starts from. Both can be differentiated by what the output depends on outside.
    """
    _check_primals(func, primals)
    outer, number, recorded = recorded_outside(), next_level(), autograd.is_grad_enabled()
    with differentiating(number), autograd.enable_grad():
        inputs = [tracked(p, outer) for p in primals]
        output = func(*inputs)
        outputs = [o for o in tree_leaves(output) if isinstance(o, Tensor)]
        reached = [o for o in outputs if o.requires_grad]
        starts = [_core.leaf(ops.aten.ones_like(o)) for o in reached]
        leaves = tree_leaves(inputs)
        pulled: tuple[Tensor, ...] = ()
        if reached and leaves:
            pulled = autograd.grad(reached, leaves, starts, create_graph=True, materialize_grads=True)

    def push_forward(*tangents: Any) -> Any:
        if structure(tangents) != structure(primals):
            raise RuntimeError(
                f"Expected the tangents to have the structure of the primals, {structure(primals)}, got "
                f"{structure(tangents)}"
            )
        directions = tree_leaves(tangents) if pulled else []  # nothing depends on the primals else
        pairs = [(g, t) for g, t in zip(pulled, directions, strict=True) if g.requires_grad]
        found: list[Tensor] = []
        if pairs:
            gradients, directions = [g for g, _ in pairs], [t for _, t in pairs]
            others, samples = depends_on_others([*gradients, *directions], leaves, number)
            history = autograd.is_grad_enabled() and recorded_outside() and others
            with recording():
                pushed = autograd.grad(
                    gradients, starts, directions, retain_graph=True, materialize_grads=True,
                    create_graph=history or (autograd.is_grad_enabled() and samples),
                )  # fmt: skip
            found = list(pushed if history else untracked(pushed))
        by_output = iter(found)
        return tree_map_only(
            Tensor,
            lambda o: next(by_output) if found and any(o is r for r in reached) else ops.aten.zeros_like(o),
            output,
        )

    return released(output, leaves, number) if outer and recorded else untracked(output), push_forward


def _check_primals(func: Callable[..., Any], primals: tuple[Any, ...]) -> None:
    """Refuses what no derivative is taken by; what func itself says of it comes first."""
    for leaf in tree_leaves(primals):
        if not isinstance(leaf, Tensor) or not (leaf.is_floating_point() or leaf.is_complex()):
            func(*primals)
            got = leaf.dtype if isinstance(leaf, Tensor) else type(leaf).__name__
            raise ValueError(f"linearize: Expected primal to be a floating point or complex tensor, but got: {got}")


def _require_tensors(tree: Any, name: str) -> None:
    leaves = tree_leaves(tree)
    if not leaves:
        raise RuntimeError(f"{_NAME}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{_NAME}: Expected {name} to only contain Tensors, got {type(leaf)}")


def _floating(tensor: Tensor, name: str = "primal") -> Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected {name} to be floating point or complex, but got: {tensor.dtype}")
    return tensor


def _derivative(tangent: Tensor | None, output: Tensor, strict: bool) -> Any:
    if tangent is not None:
        return tangent
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return ops.aten.zeros_like(output)
