"""Gradients without a formula: functions written by hand, and operators that have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opschema import Schema, base_of

__all__ = ["Backward", "not_differentiable"]


@dataclass(frozen=True, eq=False)
class Backward:
    """What is registered as an operator's gradient; no ``function``: backward through it raises."""

    function: Callable[..., Any] | None
    setup_context: Callable[..., Any] | None


def not_differentiable(schema: Schema) -> Backward:
    """The gradient of an operator through which none flows."""
    tensors = [i for i, ret in enumerate(schema.returns) if base_of(ret.type).name == "Tensor"]
    count, single = len(schema.arguments), len(schema.returns) == 1

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        values = [output if single else output[i] for i in tensors]
        ctx.mark_non_differentiable(*(t for v in values for t in (v if isinstance(v, (list, tuple)) else (v,))))

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None,) * count

    return Backward(backward, setup_context if tensors else None)
