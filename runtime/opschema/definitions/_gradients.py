"""Gradients of definitions: the formula of each way, run over symbols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._definition import Definition
from ._symbols import DefinitionError, Symbol, TensorList, TensorSymbol
from ._tracer import Trace

__all__ = ["Gradients"]


class Gradients:
    """The gradient formulas of a definition, run for the arguments in a mask."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.arguments = definition.builder.arguments
        self.differentiable = [i for i, a in enumerate(self.arguments) if isinstance(a, (TensorSymbol, TensorList))]
        self.kinds = [
            "tensors" if "[" in text else "tensor" for text in definition.signature.returns
        ]  # of the outputs' gradients

    def grads(self) -> list[Symbol]:
        """The symbols of the outputs' gradients."""
        names = ["grad"] if len(self.kinds) == 1 else [f"grads[{i}]" for i in range(len(self.kinds))]
        of = self.definition.builder.of
        return [of.make(kind, "grad", what=(name,)) for kind, name in zip(self.kinds, names, strict=True)]

    def traces(self, way: Trace, mask: int) -> list[Trace]:
        """The ways through a way's formula, each with a gradient, or None, for each of `differentiable`."""
        function = way.result[1]
        if function is None:
            raise DefinitionError(f"it has no gradient{f' where {way}' if way.known else ''}")
        grads = self.grads()
        of = self.definition.builder.of
        return of.explore(lambda: self._gradients(function(*grads), mask), way.known)

    def _gradients(self, found: Any, mask: int) -> list[Symbol | None]:
        """What the function returned, by the tensor arguments; None where none is asked for or given."""
        if not isinstance(found, dict):
            raise DefinitionError(f"the gradient returns {{argument: its gradient}}, got {type(found).__name__}")
        found = {argument: argument.of.together(value) for argument, value in _each(found)}
        for argument, value in found.items():
            if not any(argument is self.arguments[i] for i in self.differentiable):
                raise DefinitionError(f"the gradient is of {argument!r}, which is no tensor argument")
            listed = isinstance(argument, TensorList) and isinstance(value, Symbol)
            if value is not None and value is not NotImplemented and not (listed or isinstance(value, TensorSymbol)):
                raise DefinitionError(f"the gradient of {argument!r} must be a tensor, got {value!r}")
        asked = [found.get(self.arguments[i]) if mask >> i & 1 else None for i in self.differentiable]
        return [
            self._refusal(i) if value is NotImplemented else value
            for i, value in zip(self.differentiable, asked, strict=True)
        ]

    def _refusal(self, number: int) -> Symbol:
        """A step that raises in backward, as nobody has written the gradient of an argument."""
        argument = self.arguments[number]
        text = f"{self.definition.signature.name}: the gradient for `{argument!r}` is not implemented"

        def refuse() -> None:
            raise NotImplementedError(text)

        symbol: Symbol = argument.of.make("tensor", "python", what=(refuse, ()), unique=True)
        return symbol


def _each(found: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """A gradient an argument; for a tuple of arguments several that one call makes. None is no argument."""
    for key, value in found.items():
        pairs = [(one, value[i]) for i, one in enumerate(key)] if isinstance(key, tuple) else [(key, value)]
        yield from ((argument, gradient) for argument, gradient in pairs if argument is not None)
