"""Forward-mode rules: functions of values, which take what they read by its name."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._builder import OperatorBuilder, Signature
from ._symbols import DefinitionError
from ._tracer import running

__all__ = ["tangents"]


def tangents(
    builder: OperatorBuilder, names: Sequence[str], tangent: Callable[[Any, Any], Any], operator: Callable[..., Any]
) -> Callable[..., Any] | None:
    """The rule, ``rule(inputs, tangents, output)``, that a definition says; None where it says none.

    ``names`` are those of the outputs. ``tangent(value, given)`` is a tangent that was given, or zeros; ``operator``
    is called for what the operator makes of the tangents.
    """
    function, signature = builder.tangents, builder.signature
    if function is None or not builder.tangents_are_named:
        return function
    code, places = function.__code__, _places(signature, names)
    wanted = [places[_known(name, places)] for name in code.co_varnames[: code.co_argcount]]
    single, of = len(signature.returns) == 1, builder.of

    def rule(inputs: Sequence[Any], given: Sequence[Any], output: Any) -> Any:
        def value(kind: str, at: int) -> Any:
            if kind == "argument":
                return inputs[at]
            if kind == "tangent":
                return tangent(inputs[at], given[at])
            if kind == "linear":
                return operator(*_linear(signature, inputs, lambda at: tangent(inputs[at], given[at])))
            return output if single else output[at]

        outside, running.evaluator = running.evaluator, of
        try:
            return function(*(value(kind, at) for kind, at in wanted))
        finally:
            running.evaluator = outside

    return rule


def _linear(signature: Signature, inputs: Sequence[Any], tangent_of: Callable[[int], Any]) -> list[Any]:
    """What an operator is given to make of the tangents of its tensors; of what it writes to, a copy."""
    values = []
    for at, argument in enumerate(signature.arguments):
        value = tangent_of(at) if argument.type.startswith("Tensor") else inputs[at]
        values.append(value.clone() if argument.is_written else value)
    return values


def _places(signature: Signature, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """What the names of a rule's parameters mean; one that something before has gets underscores at its end."""
    places: dict[str, tuple[str, int]] = {}

    def name(wanted: str, kind: str, at: int) -> None:
        while wanted in places or wanted in keyword.kwlist:
            wanted += "_"
        places[wanted] = kind, at

    for i, argument in enumerate(signature.arguments):
        name(argument.name, "argument", i)
    for i, argument in enumerate(signature.arguments):
        name(f"{argument.name}_t", "tangent", i)
    name("linear", "linear", 0)
    for i, _ in enumerate(signature.returns):
        name("out" if len(signature.returns) == 1 else f"out{i}", "output", i)
    for i, given in enumerate(names):
        places.setdefault(f"out{i}", ("output", i))
        if given:
            places.setdefault(given, ("output", i))
    return places


def _known(name: str, places: Mapping[str, Any]) -> str:
    """A parameter's name as it is, or without the underscores behind it. Raises DefinitionError."""
    for known in (name, name.rstrip("_")):
        if known in places:
            return known
    raise DefinitionError(f"the function of op.jvp takes {name!r}, which is none of {', '.join(places)}")
