"""Gradients that no formula says: written by hand, and none at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opschema import Schema, base_of

from ..._core import OpOverload
from .._tangents import tangent

__all__ = ["Backward", "not_differentiable", "tangents"]


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


def tangents(overload: OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    """The forward-mode rule, ``rule(inputs, tangents, output)``, that a function says of values by their names."""
    schema, code = overload._schema, function.__code__
    wanted = code.co_varnames[: code.co_argcount]
    places = {spelled: i for i, a in enumerate(schema.arguments) for spelled in (a.name, f"{a.name}_")}
    results = {"out": 0} if len(schema.returns) == 1 else {}
    for i, ret in enumerate(schema.returns):
        results |= {f"out{i}": i} | ({ret.name: i} if ret.name else {})

    def rule(inputs: tuple[Any, ...], given: tuple[Any, ...], output: Any) -> Any:
        def tangent_of(at: int) -> Any:
            return tangent(inputs[at], given[at])

        def value(name: str) -> Any:
            if name in places:
                return inputs[places[name]]
            if name.endswith("_t") and name[:-2] in places:
                return tangent_of(places[name[:-2]])
            if name.rstrip("_") == "linear":
                return _linear(overload, inputs, tangent_of)
            at = results[name if name in results else name.rstrip("_")]
            return output if len(schema.returns) == 1 else output[at]

        return function(*map(value, wanted))

    return rule


def _linear(overload: OpOverload, inputs: tuple[Any, ...], tangent_of: Callable[[int], Any]) -> Any:
    """What an operator makes of the tangents of its tensors; of what it writes to, of a copy."""
    args, kwargs = [], {}
    for i, argument in enumerate(overload._schema.arguments):
        value = tangent_of(i) if base_of(argument.type).name == "Tensor" else inputs[i]
        value = value.clone() if argument.is_write else value
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return overload(*args, **kwargs)
