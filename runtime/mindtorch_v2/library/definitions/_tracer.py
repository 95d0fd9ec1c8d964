"""One run of a definition after the other: which way each condition goes, and what is done in between."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import _core
from ..._core import OpOverload, OpOverloadPacket, Tensor
from ..._core import dtype as DType
from ..._modes import TorchFunctionMode, stacks
from ._binding import bind
from ._symbols import DefinitionError, Shape, Symbol, TensorSymbol, make_symbol, operands_of

__all__ = ["Trace", "Tracer", "displayed"]

_MOST_WAYS = 64
_CONSTANTS = {bool: "bool", int: "int", float: "float", str: "str"}
_RETURNED = {
    "Tensor": "tensor", "Tensor[]": "tensors", "Scalar": "number", "float": "float", "int": "int", "SymInt": "int",
    "bool": "bool",
}  # fmt: skip
_DEVICES = {"cpu": 0, "cuda": 1, "mps": 2, "npu": 3, "meta": 4}  # by their codes in the core
_OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "min": min, "max": max,
}  # fmt: skip


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


class _EveryCall(TorchFunctionMode):
    """Calls without a symbol among their arguments, ``torch.zeros(3)``, become steps too: each call makes its own."""

    def __init__(self, of: Tracer) -> None:
        self.of = of

    def __enter__(self) -> _EveryCall:
        self._off = stacks.subclasses_off, stacks.function_off
        stacks.subclasses_off = stacks.function_off = False  # of the first call, which is not what is defined
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        stacks.subclasses_off, stacks.function_off = self._off
        super().__exit__(*exc)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, (OpOverload, OpOverloadPacket)) or _has_symbols((args, tuple(kwargs.values()))):
            return self.of.call(func, args, kwargs)
        return func(*args, **kwargs)  # of tensors that are there already, which no step takes


class Tracer:
    """The symbols of one operator, and the run that is under way."""

    def __init__(self) -> None:
        self.trace = Trace([], {})
        self._symbols: dict[Any, Symbol] = {}
        self._quoted: list[Symbol] = []  # those in texts
        self._serial = 0

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
        kind = "dtype" if isinstance(value, DType) else _CONSTANTS.get(type(value), "object")
        return self.make(kind, "const", what=value)

    def shape(self, value: Any) -> Any:
        """A shape, from a list of numbers too."""
        return value if isinstance(value, Shape) else self.make("shape", "shape", *map(self.lift, value))

    def together(self, value: Any) -> Any:
        """A list of tensors as one symbol."""
        if not isinstance(value, (list, tuple)):
            return value
        return self.make("tensors", "python", *map(self.lift, value), what=(_list_of, ()))

    def on_device(self, tensor: Symbol, name: str) -> Any:
        """Whether a tensor is on a kind of device."""
        return self.make("bool", "on_device", tensor, what=_DEVICES[name])

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
            function = _OF_NUMBERS[name] if len(values) == 2 else operator.neg
            return self.make("number", "python", *values, what=(function, ()))
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
        if condition.step == "not":
            return not self.decide(condition.args[0])  # type: ignore[arg-type]
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
            outside, self.trace, self._serial = self.trace, Trace(decisions, known or {}), 0
            trace = self.trace
            try:
                with _EveryCall(self):
                    trace.result = function()
            finally:
                self.trace = outside
            found.append(trace)
            waiting += [[*trace.taken[:at], not trace.taken[at]] for at in range(len(decisions), len(trace.taken))]
            if len(found) > _MOST_WAYS:
                raise DefinitionError(f"there are more than {_MOST_WAYS} ways through it: call op.python(...)")
        return found

    # ---- calls of operators
    def has_packet(self, name: str) -> bool:
        """Whether there is a built-in operator of that name."""
        return _core.builtin_packet(name) is not None

    def call(self, callee: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of an operator, a packet or the name of a built-in one, as a symbol."""
        if isinstance(callee, str):
            callee = _core.builtin_packet(callee)
        if not isinstance(callee, (OpOverload, OpOverloadPacket)):
            name = getattr(callee, "__name__", repr(callee))
            raise DefinitionError(f"{name} is no operator: call it in op.python(...)")
        overloads = [callee] if isinstance(callee, OpOverload) else [getattr(callee, n) for n in callee.overloads()]
        for overload in overloads:
            bound = bind(self, overload, args, kwargs)
            if bound is None:
                continue
            returns = overload._schema.returns
            kind = "several" if len(returns) > 1 else _RETURNED.get(str(returns[0].type) if returns else "", "object")
            writes = any(a.is_write for a in overload._schema.arguments)
            found = self.make(kind, "call", *bound, what=overload, unique=writes)
            if writes:
                self.note("do", found)
            return found
        given = ", ".join([*map(_shown, args), *(f"{name}={_shown(value)}" for name, value in kwargs.items())])
        raise DefinitionError(f"{callee}: no overload of it takes ({given}) in a definition")

    def returns_of(self, several: Symbol) -> int:
        """How many outputs a call has."""
        if isinstance(several.what, OpOverload):
            return len(several.what._schema.returns)
        raise DefinitionError(f"{several!r}: how many outputs it has is not known; take them by number")


def displayed(value: Any) -> str:
    """A value as errors show it: shapes as lists."""
    return str(list(value) if isinstance(value, tuple) else value)


def _has_symbols(values: Any) -> bool:
    return next(operands_of(values), None) is not None


def _shown(value: Any) -> str:
    return "a tensor that is there already" if isinstance(value, Tensor) else repr(value)


def _list_of(*values: Any) -> list[Any]:
    return list(values)


def _identity(what: Any) -> Any:
    """What tells constants apart: 1, 1.0 and True are three, equal texts one."""
    if isinstance(what, tuple):
        return tuple(map(_identity, what))
    return (type(what), what) if type(what) in (int, float, bool, str) else id(what)
