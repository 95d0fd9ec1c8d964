"""Jacobians for `gradcheck`: by finite differences, by backward passes and by tangents, whole or along one direction.

A Jacobian has a row an element of the input, and a column an element of the output; a complex number counts as two, its
real and its imaginary part. Along directions ``u`` of the input
and ``v`` of the output it is the number ``u @ J @ v``, or the vector ``u @ J``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .engine import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .grad_mode import no_grad

__all__ = [
    "Problem",
    "along_one",
    "by_backward",
    "by_differences",
    "by_tangents",
    "direction",
    "flat",
    "is_number",
    "outputs_of",
    "pulled",
    "real_numbers",
    "tangents_of",
]


@dataclass(frozen=True)
class Problem:
    """A function at its arguments; ``checked`` are the positions of those that its gradients are taken for."""

    func: Callable[..., Any]
    arguments: tuple[Any, ...]
    checked: tuple[int, ...]

    @property
    def inputs(self) -> list[Tensor]:
        """The arguments that gradients are taken for."""
        return [self.arguments[i] for i in self.checked]

    def outputs(self) -> tuple[Any, ...]:
        """What the function returns at its arguments, as a tuple."""
        return outputs_of(self.func(*self.arguments))

    def everywhere(self, at: int, value: Any) -> dict[int, Any]:
        """A value for an argument, at each place where it is given."""
        return {i: value for i, argument in enumerate(self.arguments) if argument is self.arguments[at]}

    def at(self, values: dict[int, Any]) -> tuple[Any, ...]:
        """What the function returns where some arguments are others."""
        return outputs_of(self.func(*(values.get(i, a) for i, a in enumerate(self.arguments))))


def outputs_of(result: Any) -> tuple[Any, ...]:
    """A function's result as a tuple."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def flat(tensor: Tensor) -> Tensor:
    """A tensor's real numbers one after the other, of float64."""
    alone = tensor.detach()
    parts: Tensor = ops.aten.view_as_real(alone) if alone.is_complex() else alone
    found: Tensor = parts.reshape(-1).to(_core.dtypes["float64"])
    return found


def real_numbers(tensor: Tensor) -> int:
    """How many real numbers a tensor has."""
    return tensor.numel() * (2 if tensor.is_complex() else 1)


def direction(shape: tuple[int, ...], dtype: Any, device: Any, number: int) -> Tensor:
    """Positive numbers, uneven so that mistakes do not cancel, and the same on every run."""
    if dtype.is_complex:
        parts = [direction(shape, _core.dtypes["float64"], device, number + i) for i in range(2)]
        whole: Tensor = ops.aten.complex(*parts).to(dtype)
        return whole
    count = 1
    for size in shape:
        count *= size
    steps = ops.aten.arange(count, dtype=_core.dtypes["float64"], device=device)
    values: Tensor = 0.5 + (7 * steps + 3 * number) % 11 / 11
    shaped: Tensor = values.reshape(shape).to(dtype).clone()
    return shaped


def by_differences(problem: Problem, at: int, eps: float, along: Tensor | None = None) -> list[Tensor]:
    """Per output its Jacobian for one argument by central differences, of float64; one row where ``along`` is given.

    Raises AssertionError where the outputs' shapes or dtypes change with the argument.
    """
    argument, like = problem.arguments[at], problem.outputs()
    steps = [along] if along is not None else [_unit(argument, i) for i in range(real_numbers(argument))]
    rows = []
    for step in steps:
        high, low = _outputs_at(problem, at, step * eps), _outputs_at(problem, at, step * -eps)
        _require_alike(high, low, eps)
        rows.append([(flat(a) - flat(b)) / (2 * eps) for a, b in zip(high, low, strict=True)])
    return [_rows([row[n] for row in rows], len(steps), output) for n, output in enumerate(like)]


def by_backward(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Per input the Jacobian of one output, by a backward pass a column."""
    columns = [pulled(output, inputs, _unit(output, j)) for j in range(real_numbers(output))]
    return [_rows([column[n] for column in columns], len(columns), value).t() for n, value in enumerate(inputs)]


def pulled(output: Tensor, inputs: list[Tensor], start: Tensor) -> list[Tensor]:
    """The gradients of an output from ``start``, flat, float64, zeros where there is none."""
    found = grad(output, inputs, start, retain_graph=True, allow_unused=True)
    return [flat(value) * 0 if g is None else flat(g) for g, value in zip(found, inputs, strict=True)]


def by_tangents(problem: Problem, at: int, along: Tensor | None = None) -> list[Tensor | None]:
    """As `by_differences`, by forward-mode passes; None for an output that has no tangent in principle."""
    argument = problem.arguments[at]
    steps = [along] if along is not None else [_unit(argument, i) for i in range(real_numbers(argument))]
    rows = [tangents_of(problem, along_one(problem, at, step)) for step in steps]
    found: list[Tensor | None] = []
    for n, output in enumerate(problem.outputs()):
        parts = [row[n] for row in rows]
        differentiable = is_number(output)
        columns = [flat(output) * 0 if part is None else flat(part) for part in parts] if differentiable else []
        found.append(_rows(columns, len(steps), output) if differentiable else None)
    return found


def along_one(problem: Problem, at: int, step: Tensor) -> dict[int, Tensor]:
    """Tangents for which one argument moves, and the others stand still."""
    still = {i: ops.aten.zeros_like(problem.arguments[i].detach()) for i in problem.checked}
    return {**still, at: step}


def tangents_of(problem: Problem, tangents: dict[int, Tensor]) -> list[Tensor | None]:
    """Per output its tangent where arguments have these; other arguments that gradients are taken for are detached."""
    with dual_level():
        values = {i: problem.arguments[i].detach() for i in problem.checked}
        values.update((i, make_dual(values[i], tangent)) for i, tangent in tangents.items())
        return [unpack_dual(o).tangent if isinstance(o, Tensor) else None for o in problem.at(values)]


def is_number(value: Any) -> bool:
    """Whether a value is a tensor that can have a gradient."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _unit(like: Tensor, index: int) -> Tensor:
    with no_grad():
        part = ops.aten.view_as_real(like.detach()) if like.is_complex() else like.detach()
        unit: Tensor = ops.aten.zeros_like(part.contiguous())
        unit.reshape(-1)[index] = 1.0
        found: Tensor = ops.aten.view_as_complex(unit) if like.is_complex() else unit
    return found


def _outputs_at(problem: Problem, at: int, step: Tensor) -> tuple[Any, ...]:
    """What the function returns a step away.

    A leaf is moved itself, as the function may know it otherwise, too. Anything else it may change in place: of that it
    is given a copy.
    """
    argument = problem.arguments[at]
    moved = argument.detach() + step
    steps = zip(argument.shape, argument.stride(), strict=True)
    if not argument.is_leaf or any(stride == 0 and size > 1 for size, stride in steps):
        return problem.at(problem.everywhere(at, moved.requires_grad_(argument.requires_grad).clone()))
    shown, before = argument.data, argument.detach().clone()
    shown.copy_(moved)
    try:
        found = problem.outputs()  # which may be the argument itself
        return tuple(o.detach().clone() if isinstance(o, Tensor) else o for o in found)
    finally:
        shown.copy_(before)


def _rows(rows: list[Tensor], count: int, like: Tensor) -> Tensor:
    if rows:
        stacked: Tensor = ops.aten.stack(rows)
        return stacked
    empty: Tensor = ops.aten.zeros([count, real_numbers(like)], dtype=_core.dtypes["float64"], device=like.device)
    return empty


def _require_alike(high: tuple[Any, ...], low: tuple[Any, ...], eps: float) -> None:
    for a, b in zip(high, low, strict=True):
        for what, one, other in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but "
                    f"got: {what}s {one} and {other}."
                )
