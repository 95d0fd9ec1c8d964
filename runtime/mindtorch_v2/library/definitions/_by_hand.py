"""Gradients that no formula says: written by hand, and none at all."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opschema import Schema, base_of

from ..._core import OpOverload
from .._tangents import tangent
from ._symbols import DefinitionError

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
    code, places = function.__code__, _places(overload._schema)
    wanted = [places[_known(name, places)] for name in code.co_varnames[: code.co_argcount]]
    single = len(overload._schema.returns) == 1

    def rule(inputs: tuple[Any, ...], given: tuple[Any, ...], output: Any) -> Any:
        def tangent_of(at: int) -> Any:
            return tangent(inputs[at], given[at])

        def value(kind: str, at: int) -> Any:
            if kind == "argument":
                return inputs[at]
            if kind == "tangent":
                return tangent_of(at)
            if kind == "linear":
                return _linear(overload, inputs, tangent_of)
            return output if single else output[at]

        return function(*(value(kind, at) for kind, at in wanted))

    return rule


def _places(schema: Schema) -> dict[str, tuple[str, int]]:
    """What the names of a rule's parameters mean; one that something before has gets underscores at its end."""
    places: dict[str, tuple[str, int]] = {}

    def name(wanted: str, kind: str, at: int) -> None:
        while wanted in places or wanted in keyword.kwlist:
            wanted += "_"
        places[wanted] = kind, at

    for i, argument in enumerate(schema.arguments):
        name(argument.name, "argument", i)
    for i, argument in enumerate(schema.arguments):
        name(f"{argument.name}_t", "tangent", i)
    name("linear", "linear", 0)
    for i, _ in enumerate(schema.returns):
        name("out" if len(schema.returns) == 1 else f"out{i}", "output", i)
    for i, ret in enumerate(schema.returns):
        places.setdefault(f"out{i}", ("output", i))
        if ret.name:
            places.setdefault(ret.name, ("output", i))
    return places


def _known(name: str, places: Mapping[str, Any]) -> str:
    """A parameter's name as it is, or without the underscores behind it. Raises DefinitionError."""
    for known in (name, name.rstrip("_")):
        if known in places:
            return known
    raise DefinitionError(f"the function of op.jvp takes {name!r}, which is none of {', '.join(places)}")


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
