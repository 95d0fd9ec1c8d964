"""One run of a definition after the other: which way each condition goes, and what is done in between."""

from __future__ import annotations

import contextlib
import operator
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._contexts import NullContext
from ._symbols import DefinitionError, Shape, Symbol, TensorSymbol, make_symbol

__all__ = ["Trace", "Tracer", "displayed", "running"]

_MOST_WAYS = 64
_CONSTANTS = {bool: "bool", int: "int", float: "float", str: "str"}


class Trace:
    """One run: ``events`` in order, each ``(what, ...)``, and what the function returned."""

    def __init__(self, decisions: list[bool], known: Mapping[Symbol, bool]) -> None:
        self.decisions = decisions
        self.known = dict(known)
        self.taken: list[bool] = []
        self.events: list[tuple[Any, ...]] = []
        self.result: Any = None

    def __str__(self) -> str:
        """The conditions that lead here."""
        return " and ".join(f"{'' if way else 'not '}({condition!r})" for condition, way in self.known.items())


class _Running(threading.local):
    """Where a thread is: in a run of a definition over symbols, or in a function of values that a definition has."""

    tracer: Tracer | None = None
    evaluator: Tracer | None = None


running = _Running()


class Tracer(ABC):
    """The symbols of one operator, and the run that is under way. A runtime says what calls of operators become."""

    byte_dtype: Any  # of memory that holds bytes

    def __init__(self) -> None:
        self.trace = Trace([], {})
        self._symbols: dict[Any, Symbol] = {}
        self._quoted: list[Symbol] = []  # those in texts
        self._serial = 0

    # ---- what a runtime says
    @abstractmethod
    def launched_as(self) -> Mapping[str, str]:
        """The dispatch keys of the devices that kernels run on, and how each one's are launched: "c" or "ascendc"."""

    @abstractmethod
    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of an operator or function, as a symbol."""

    @abstractmethod
    def method(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a tensor's method."""

    @abstractmethod
    def has_method(self, name: str) -> bool:
        """Whether tensors have a method of that name that is an operator."""

    @abstractmethod
    def operate(self, name: str, *operands: Any) -> Any:
        """What one of Python's operators, by its name in the module `operator`, makes of tensors."""

    @abstractmethod
    def indexed(self, tensor: TensorSymbol, at: Any) -> Any:
        """What Python's brackets make of a tensor."""

    @abstractmethod
    def name_of(self, callee: Any) -> str:
        """What a step's operator or function is called."""

    @abstractmethod
    def returns_of(self, several: Symbol) -> int:
        """How many outputs a call has. Raises DefinitionError where that is not known."""

    @abstractmethod
    def kind_of(self, constant: Any) -> str:
        """What kind of value a constant is that is no number or text."""

    @abstractmethod
    def evaluated(self, step: str, *values: Any) -> Any:
        """What a step makes of values that are known, in a function of values."""

    @abstractmethod
    def primitive(self, name: str, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """A primitive of MindSpore."""

    @abstractmethod
    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        """What runs for the operator of a qualified name, made of another one."""

    def context(self) -> Any:
        """What a Python kernel that takes a context is told in the call that runs."""
        return NullContext()

    def session(self) -> contextlib.AbstractContextManager[Any]:
        """What is entered for each run."""
        return contextlib.nullcontext()

    # ---- making symbols
    def make(self, kind: str, step: str, *args: Symbol | None, what: Any = None, unique: bool = False) -> Any:
        """The symbol of a step; ``unique`` where doing it twice makes two things."""
        if unique:
            self._serial += 1
        key = kind, step, tuple(map(id, args)), _identity(what), self._serial if unique else 0
        found = self._symbols.get(key)
        if found is None:
            found = self._symbols[key] = make_symbol(self, kind, step, args, what)
        return found

    def lift(self, value: Any) -> Any:
        """A constant as a symbol."""
        if isinstance(value, Symbol):
            return value
        return self.make(_CONSTANTS.get(type(value)) or self.kind_of(value), "const", what=value)

    def shape(self, value: Any) -> Any:
        """A shape, from a list of numbers too."""
        return value if isinstance(value, Shape) else self.make("shape", "shape", *map(self.lift, value))

    def together(self, value: Any) -> Any:
        """A list of tensors as one symbol."""
        return self.make("tensors", "list", *map(self.lift, value)) if isinstance(value, (list, tuple)) else value

    def negation(self, condition: Any) -> Any:
        """The opposite of a condition, or of a truth value that is known."""
        return self.make("bool", "not", condition) if isinstance(condition, Symbol) else not condition

    def forget(self) -> None:
        """Lets go of all symbols, which refer to this."""
        self._symbols.clear()
        self._quoted.clear()
        self.trace = Trace([], {})

    # ---- texts
    def quote(self, symbol: Symbol) -> str:
        """What stands for a symbol in a text until its value is known."""
        for number, other in enumerate(self._quoted):
            if other is symbol:
                return f"\0{number}\0"
        self._quoted.append(symbol)
        return f"\0{len(self._quoted) - 1}\0"

    def worded(self, text: str, value_of: Callable[[Symbol], Any]) -> str:
        """A text with the values of the symbols in it; shapes as lists."""

        def value(number: str) -> str:
            return displayed(value_of(self._quoted[int(number)]))

        parts = text.split("\0")
        return "".join(value(part) if at % 2 else part for at, part in enumerate(parts))

    # ---- numbers
    def arithmetic(self, name: str, first: Any, second: Any = None) -> Any:
        """``first + second`` and the like: of ints an int, with a float in it or of `/` a float, as in Python."""
        if isinstance(first, TensorSymbol) or isinstance(second, TensorSymbol):
            return NotImplemented
        values = [self.lift(v) for v in (first, second) if v is not None]
        if any(v.kind == "number" for v in values):  # a Scalar is an int or a float: Python computes with it
            return self.make("number", name, *values)
        if name == "div" or any(v.kind == "float" for v in values):
            if name in ("floordiv", "mod", "ceildiv"):
                raise DefinitionError(f"{name} of floats: {values[0]!r} and {values[1]!r}")
            return self.make("float", "f" + name, *map(self.as_float, values))
        return self.make("int", name, *values)

    def power(self, base: Any, exponent: Any) -> Any:
        """``base ** exponent`` of numbers: an int where it is one whatever the numbers are."""
        if isinstance(base, TensorSymbol) or isinstance(exponent, TensorSymbol):
            return NotImplemented
        first, second = self.lift(base), self.lift(exponent)
        whole = first.kind == "int" and second.step == "const" and type(second.what) is int and second.what >= 0
        kind = "int" if whole else "float" if "float" in (first.kind, second.kind) else "number"
        return self.make(kind, "python", first, second, what=(operator.pow, ()))

    def as_float(self, value: Symbol) -> Any:
        """A number as a float."""
        if value.step == "const":
            return self.make("float", "const", what=float(value.what))
        if value.kind == "number":
            return self.make("float", "float", value)
        return value if value.kind == "float" else self.make("float", "to_float", value)

    def compare(self, name: str, first: Any, second: Any) -> Any:
        """A comparison of numbers; None, of an optional argument that was given, equals nothing."""
        if isinstance(first, TensorSymbol) or isinstance(second, TensorSymbol):
            return NotImplemented
        if first is None or second is None:
            return False
        values = [self.lift(v) for v in (first, second)]
        if any(v.kind not in ("int", "float", "bool", "number") for v in values):
            return NotImplemented
        if name == "eq" and any(v.kind == "number" for v in values):  # it may be complex
            return self.make("bool", "equal", *values)
        if any(v.kind in ("float", "number") for v in values):
            return self.make("bool", "f" + name, *map(self.as_float, values))
        return self.make("bool", name, *values)

    # ---- what happens
    def note(self, *event: Any) -> None:
        """Something that this run does here."""
        self.trace.events.append(event)

    def take_back(self, values: Sequence[Symbol]) -> list[Symbol]:
        """Of the calls noted so far those that some values are made by: what has them then says where they are run."""
        within: set[Symbol] = set()
        waiting = list(values)
        while waiting:
            symbol = waiting.pop()
            if symbol not in within:
                within.add(symbol)
                waiting += [operand for operand in symbol.args if operand is not None]
        events = self.trace.events
        self.trace.events = [event for event in events if event[0] != "do" or event[1] not in within]
        return [event[1] for event in events if event[0] == "do" and event[1] in within]

    def decide(self, condition: Symbol) -> bool:
        """Which way this run goes."""
        trace = self.trace
        if condition.step == "const":
            return bool(condition.what)
        if condition.step == "not" and condition.args[0] is not None:
            return not self.decide(condition.args[0])
        if condition not in trace.known:
            at = len(trace.taken)
            way = trace.decisions[at] if at < len(trace.decisions) else True
            trace.known[condition] = way
            trace.taken.append(way)
            self.note("branch", condition, way)
        return trace.known[condition]

    def explore(self, function: Callable[[], Any], known: Mapping[Symbol, bool] | None = None) -> list[Trace]:
        """Runs a function once for each way through it; `known` holds conditions that are settled."""
        waiting: list[list[bool]] = [[]]
        found = []
        while waiting:
            decisions = waiting.pop()
            trace = Trace(decisions, known or {})
            before, self.trace, self._serial = self.trace, trace, 0
            outside, running.tracer = running.tracer, self
            try:
                with self.session():
                    trace.result = function()
            finally:
                self.trace, running.tracer = before, outside
            found.append(trace)
            waiting += [[*trace.taken[:at], not trace.taken[at]] for at in range(len(decisions), len(trace.taken))]
            if len(found) > _MOST_WAYS:
                raise DefinitionError(f"there are more than {_MOST_WAYS} ways through it: call op.python(...)")
        return found


def displayed(value: Any) -> str:
    """A value as errors show it: shapes as lists."""
    return str(list(value) if isinstance(value, tuple) else value)


def _identity(what: Any) -> Any:
    """What tells constants apart: 1, 1.0 and True are three, 0.0 and -0.0 two, equal texts one."""
    if isinstance(what, tuple):
        return tuple(map(_identity, what))
    if type(what) is float:
        return float, what.hex()
    return (type(what), what) if type(what) in (int, float, bool, str) else id(what)
