"""Gradients of definitions: what is saved, and the two programs of a formula."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from opschema.definitions import DefinitionError, Gradients, Symbol, TensorList, TensorSymbol, Trace

from ..._core import Formula, Gradient, Program
from ._lowering import Lowering

Parts = tuple[Any, Program, int, int, tuple[bool, ...], tuple[int, ...], tuple[str | None, ...]]

# What PyTorch calls what is saved of a tensor, behind the tensor's name.
_OF_TENSORS = {"shape_of": "sym_sizes", "numel": "sym_numel"}

if TYPE_CHECKING:
    from ._definition import Definition

__all__ = ["Formulas"]


class Formulas(Gradients):
    """The gradient formulas of a definition, each made at its first use."""

    definition: Definition

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self.has_lists = "tensors" in self.kinds or any(isinstance(a, TensorList) for a in self.arguments)

    def gradient(self) -> Gradient:
        """What is registered."""
        marks = self.definition.builder.differentiable
        return Gradient(self.definition.overload, self.make, self.way(), functools.cache(self.names), marks)

    def check(self) -> None:
        """Makes the formula of every way, with respect to all arguments."""
        for number, way in enumerate(self.definition.ways):
            if way.result[1] is not None:
                self.make(number, sum(1 << i for i in self.differentiable))

    def way(self) -> Any:
        """A function that tells which way arguments lead; None where there is one way."""
        ways = self.definition.ways
        if len(ways) == 1:
            return None
        lowering = Lowering(self.definition.overload, self.arguments)
        numbers = {id(way): number for number, way in enumerate(ways)}
        lowering.ways(ways, lambda low, event: None, lambda low, way: low.finish(numbers[id(way)], ()))
        program = lowering.program(lambda kind, at, inputs: RuntimeError(kind))
        return lambda *inputs: program(*inputs)[0]

    def make(self, number: int, mask: int) -> Formula:
        """The formula on one way with respect to the arguments in a mask."""
        return Formula(*self.parts(number, mask))

    def names(self) -> dict[str, bool]:
        """What PyTorch calls what is saved on any way, and whether that is a tensor."""
        mask = sum(1 << i for i in self.differentiable)
        return {
            name: isinstance(value, TensorSymbol)
            for way in self.definition.ways
            if way.result[1] is not None
            for value in self._saved(self.traces(way, mask), way.result[0])
            if (name := self._name(value, way.result[0])) is not None
        }

    def parts(self, number: int, mask: int) -> Parts:
        """The parts of a formula: the program that saves (or None), the one that computes, how many outputs, which are
        read, for which arguments, and of what is saved which argument it is, and its name.
        """
        parts: Parts = self.definition.explained(lambda: self._parts(self.definition.ways[number], mask))
        return parts

    def _parts(self, way: Trace, mask: int) -> Parts:
        overload, outputs = self.definition.overload, way.result[0]
        grads, traces = self.grads(), self.traces(way, mask)
        saved = self._saved(traces, outputs)
        reads = {s for trace in traces for value in _read(trace) for s in _gradients_in(value)}
        prepare = None
        if saved:
            # A call gives copies in the places of what it has overwritten, where `before` is read.
            were = {value.args[0]: value for value in saved if value.step == "before"}
            if were and self.has_lists:
                raise DefinitionError(
                    f"its gradient reads {next(iter(were.values()))!r}, which is not kept where tensors come in lists: "
                    "write it by hand (op.backward)"
                )
            low = Lowering(overload, [*(were.get(a, a) for a in self.arguments), *outputs])
            low.finish(0, saved)
            prepare = low.program(lambda kind, at, inputs: RuntimeError(kind))
        low = Lowering(overload, [*grads, *saved])

        def do(low: Lowering, event: tuple[Any, ...]) -> None:
            if event[0] != "do":
                raise DefinitionError(f"op.{event[0]}(...) is called in the gradient: a gradient is made of operators")
            low.place("o", event[1])

        def finish(low: Lowering, trace: Trace) -> None:
            # PyTorch computes gradients in the order of the arguments' names, which classes and modes see.
            for _, value in sorted(zip(names_of, trace.result, strict=True), key=lambda pair: pair[0]):
                if value is not None:
                    low.place("o", value)
            low.finish(0, trace.result)

        names_of = [overload._schema.arguments[i].name for i in self.differentiable]
        low.ways(traces, do, finish)
        program = low.program(lambda kind, at, inputs: RuntimeError(kind))
        bits = sum(1 << i for i, grad in enumerate(grads) if grad in reads)
        needs = tuple(bool(mask >> i & 1) for i in range(len(self.arguments)))
        names = tuple([self._name(value, outputs) for value in saved])
        return prepare, program, len(grads), bits, needs, tuple(map(self._given, saved)), names

    def _saved(self, traces: list[Trace], outputs: Sequence[Symbol]) -> list[Symbol]:
        return _saved_by(traces, dict.fromkeys([*self.arguments, *outputs]))

    def _name(self, value: Symbol, outputs: Sequence[Symbol]) -> str | None:
        """What PyTorch calls it: arguments by name, outputs so or ``result``, what is known of a tensor after that."""
        schema = self.definition.overload._schema
        if value.step == "before" and value.args[0] is not None:
            return self._name(value.args[0], ())
        for number, (symbol, output) in enumerate(zip(outputs, schema.returns, strict=False)):
            if symbol is value:
                return output.name or ("result" if len(outputs) == 1 else f"result{number}")
        for symbol, argument in zip(self.arguments, schema.arguments, strict=True):
            if symbol is value:
                return str(argument.name)
        of = self._name(value.args[0], ()) if value.step in _OF_TENSORS and value.args[0] is not None else None
        return None if of is None else f"{of}_{_OF_TENSORS[value.step]}"

    def _given(self, value: Symbol) -> int:
        """Of what is saved the number of the tensor argument that it is as the call found it; -1 of anything else."""
        declared = self.definition.overload._schema.arguments
        argument = value.args[0] if value.step == "before" else value
        for number, (symbol, of) in enumerate(zip(self.arguments, declared, strict=True)):
            if symbol is argument and isinstance(symbol, TensorSymbol) and (value.step == "before" or not of.is_write):
                return number
        return -1


def _read(trace: Trace) -> list[Symbol]:
    """All that a run reads: its conditions, what it does, what it returns."""
    return [event[1] for event in trace.events] + [value for value in trace.result if value is not None]


def _gradients_in(value: Symbol) -> Iterator[Symbol]:
    if value.step == "grad":
        yield value
    for operand in value.args:
        if operand is not None and operand.uses_gradient:
            yield from _gradients_in(operand)


def _saved_by(traces: list[Trace], named: dict[Symbol, None]) -> list[Symbol]:
    """What a gradient's runs save, tensors first, as nodes count their versions.

    A number that not all runs read is computed where it is read: it may fail.
    """
    found = [dict.fromkeys(s for value in _read(trace) for s in _saved(value, named)) for trace in traces]
    always = set(found[0]).intersection(*found)
    saved = dict.fromkeys(s for trace in found for v in trace for s in ([v] if v in always else _known(v, named)))
    return sorted(saved, key=lambda symbol: not isinstance(symbol, TensorSymbol))


def _known(value: Symbol, named: dict[Symbol, None]) -> Iterator[Symbol]:
    """What a value is computed of: arguments, outputs, and what is known of tensors, which are not saved for it."""
    operands = [a for a in value.args if a is not None]
    if value in named or any(isinstance(a, (TensorSymbol, TensorList)) for a in operands):
        yield value
        return
    for operand in operands:
        if operand.step not in ("const", "default"):
            yield from _known(operand, named)


def _saved(value: Symbol, named: dict[Symbol, None]) -> Iterator[Symbol]:
    """What of a value has to be saved: arguments and outputs, and numbers and shapes that are computed of them."""
    if value.step in ("const", "default"):
        return
    if value in named or value.step == "before" or not (value.uses_gradient or _is_computed(value)):
        yield value
        return
    for operand in value.args:
        if operand is not None:
            yield from _saved(operand, named)


def _is_computed(value: Symbol) -> bool:
    """Whether operators are called for a value: they are called in backward then, and their operands saved."""
    return value.kind in ("tensor", "tensors", "several", "object") or any(
        a is not None and _is_computed_by(a) for a in value.args
    )


def _is_computed_by(value: Symbol) -> bool:
    return value.step in ("call", "item") or any(a is not None and _is_computed_by(a) for a in value.args)
