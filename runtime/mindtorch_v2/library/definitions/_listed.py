"""Gradients of operators with lists of tensors: the same programs, called as ``setup_context`` and ``backward``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core import Tensor
from ._by_hand import Backward

if TYPE_CHECKING:
    from ._gradient import Formulas

__all__ = ["listed_gradient"]


def listed_gradient(formulas: Formulas) -> Backward:
    """The gradient of an operator of which some arguments are lists of tensors."""
    way_of = formulas.way()
    made: dict[tuple[int, int], Any] = {}
    marks = formulas.definition.builder.differentiable

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        mask = sum(1 << i for i, needs in enumerate(ctx.needs_input_grad) if _any(needs))
        key = 0 if way_of is None else way_of(*inputs), mask
        if key not in made:
            made[key] = formulas.parts(*key)
        prepare, program, *_ = made[key]
        outputs = output if isinstance(output, tuple) else (output,)
        values = () if prepare is None else prepare(*inputs, *outputs)[1]
        tensors: list[Tensor] = []
        ctx.kept = program, [_taken(value, tensors) for value in values]
        ctx.save_for_backward(*tensors)
        plain = [o for o, differentiable in zip(outputs, marks, strict=False) if not differentiable]
        if plain:
            ctx.mark_non_differentiable(*(t for o in plain for t in (o if isinstance(o, (tuple, list)) else (o,))))

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        program, kept = ctx.kept
        tensors = iter(ctx.saved_tensors)
        found = iter(program(*grads, *(_restored(value, tensors) for value in kept))[1])
        wanted = set(formulas.differentiable)
        return tuple(next(found) if i in wanted else None for i in range(len(formulas.arguments)))

    return Backward(backward, setup_context)


class _Place:
    """Where a tensor was among what is saved."""


def _any(needs: Any) -> bool:
    return any(needs) if isinstance(needs, (tuple, list)) else bool(needs)


def _taken(value: Any, tensors: list[Tensor]) -> Any:
    """A value with places for its tensors, which go to ``tensors``."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place
    if isinstance(value, (tuple, list)) and any(isinstance(item, Tensor) for item in value):
        return [_taken(item, tensors) for item in value]
    return value


def _restored(value: Any, tensors: Any) -> Any:
    if value is _Place:
        return next(tensors)
    return [_restored(item, tensors) for item in value] if isinstance(value, list) else value
