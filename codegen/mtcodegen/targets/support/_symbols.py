"""Symbols: an operator's arguments, and what is computed of them, in a run of its definition.

A definition runs at every call, over symbols that have values. What a symbol stands for is computed when something asks
for it: what another device would need never is. It also runs over symbols without values, once for each way through it,
to find out what there is to register and what a gradient reads.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ._conditions import text_of
from ._runtime import DefinitionError, Runtime
from ._values import STEPS

__all__ = ["Method", "Symbol", "TensorSymbol", "Tracer", "Way", "operands_of", "running", "value_of"]

_UNKNOWN = object()
_MOST_WAYS = 64
_CONSTANTS = {bool: "bool", int: "int", float: "float", str: "str"}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "min": min, "max": max,
    "eq": operator.eq, "lt": operator.lt, "le": operator.le,
}  # fmt: skip


# ---------------------------------------------------------------- symbols
class Symbol:
    """A value of a call. ``step`` says how it is made, as `text_of` has it; ``known`` is for `value_of` alone."""

    __slots__ = ("args", "kind", "known", "of", "step", "what")

    def __init__(
        self, of: Tracer, kind: str, step: str, args: tuple[Symbol | None, ...], what: Any, value: Any
    ) -> None:
        self.of, self.kind, self.step, self.args, self.what, self.known = of, kind, step, args, what, value

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """A call of one of PyTorch's functions or operators with symbols."""
        kwargs = kwargs or {}
        return next(operands_of((args, tuple(kwargs.values())))).of.call(func, args, kwargs)

    def __iter__(self) -> Iterator[Any]:
        if not self.of.has_values:
            raise DefinitionError(f"{self!r} has no length before the operator is called")
        return iter([self.of.make("tensor", "item", self, what=i) for i in range(len(value_of(self)))])

    def __format__(self, spec: str) -> str:
        """In a check's message, its value in the call, which is asked for once the check fails."""
        return self.of.quote(self)

    def __repr__(self) -> str:
        return text_of(self)

    def spelled(self, operands: Sequence[str]) -> str:
        """How a call, or a question about a dtype or device, reads."""
        if self.step == "on_device":
            return f"{operands[0]}.is_{self.what}"
        if self.step == "dtype_in":
            return f"one_of({', '.join([operands[0], *map(repr, self.what)])})"
        name = self.step
        if name in ("call", "python"):
            name = getattr(self.what[0], "__name__", str(self.what[0]))
        return f"{name}({', '.join(operands)})"


class Number(Symbol):
    """An int, float or bool, or a Scalar, which may be an int or a float."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __bool__(self) -> bool:
        return self.of.decide(self if self.kind == "bool" else self != 0)

    def __neg__(self) -> Any:
        return self.of.arithmetic("neg", self)

    def __pow__(self, other: Any) -> Any:
        return self.of.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.of.power(other, self)

    def __eq__(self, other: object) -> Any:
        return self.of.compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self.of.negation(self.of.compare("eq", self, other))

    def __lt__(self, other: Any) -> Any:
        return self.of.compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self.of.compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.of.compare("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return self.of.compare("le", other, self)


class Property(Symbol):
    """A str, dtype, device or anything else that is compared and passed on."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __eq__(self, other: object) -> Any:
        return self.of.make("bool", "equal", self, self.of.lift(other))

    def __ne__(self, other: object) -> Any:
        return self.of.negation(self == other)

    @property
    def is_floating_point(self) -> Any:
        return self.of.make("bool", "is_floating", self)

    @property
    def is_complex(self) -> Any:
        return self.of.make("bool", "is_complex", self)

    @property
    def is_signed(self) -> Any:
        return self.of.make("bool", "is_signed", self)

    @property
    def itemsize(self) -> Any:
        return self.of.make("int", "itemsize", self)

    @property
    def type(self) -> Any:
        return self.of.make("str", "device_type", self)

    @property
    def index(self) -> Any:
        return self.of.make("object", "device_index", self)


class Listed(Property):
    """A list of numbers or texts, whose length is known in the call."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __getitem__(self, at: Any) -> Any:
        return self.of.make(_ELEMENTS[self.kind], "at", self, self.of.lift(at))

    def __contains__(self, value: Any) -> bool:
        return bool(self.of.make("bool", "contains", self, self.of.lift(value)))

    def rank(self) -> Any:
        """How many items there are."""
        return self.of.make("int", "length", self)


class Shape(Symbol):
    """A sequence of ints whose length may be unknown."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __eq__(self, other: object) -> Any:
        if self.step == "shape_of" and isinstance(other, Shape) and other.step == "shape_of":
            return self.of.make("bool", "same_shape", self.args[0], other.args[0])
        return self.of.make("bool", "same_sizes", self, self.of.shape(other))

    def __ne__(self, other: object) -> Any:
        return self.of.negation(self == other)

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice):
            return self.of.make("int", "size_at", self, self.of.lift(at))
        if at.step is not None:
            raise DefinitionError(f"{self!r}: a shape is sliced without a step")
        bounds = [None if v is None else self.of.lift(v) for v in (at.start, at.stop)]
        return self.of.make("shape", "slice", self, *bounds)

    def __add__(self, other: Any) -> Any:
        return self.of.make("shape", "concat", self, self.of.shape(other))

    def __radd__(self, other: Any) -> Any:
        return self.of.make("shape", "concat", self.of.shape(other), self)

    def __contains__(self, size: Any) -> bool:
        return bool(self.of.make("bool", "contains", self, self.of.lift(size)))

    def numel(self) -> Any:
        """The product of the sizes."""
        return self.of.make("int", "count", self)

    def rank(self) -> Any:
        """How many sizes there are."""
        return self.of.make("int", "length", self)


class TensorSymbol(Symbol):
    """A tensor, or several. Its methods and Python's operators are those of tensors: calls of operators."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    @property
    def shape(self) -> Any:
        return self.of.make("shape", "shape_of", self)

    @property
    def dtype(self) -> Any:
        return self.of.make("dtype", "dtype", self)

    @property
    def device(self) -> Any:
        return self.of.make("device", "device", self)

    @property
    def ndim(self) -> Any:
        return self.of.make("int", "ndim", self)

    @property
    def is_cpu(self) -> Any:
        return self.of.make("bool", "on_device", self, what="cpu")

    @property
    def is_npu(self) -> Any:
        return self.of.make("bool", "on_device", self, what="npu")

    @property
    def is_cuda(self) -> Any:
        return self.of.make("bool", "on_device", self, what="cuda")

    @property
    def is_mps(self) -> Any:
        return self.of.make("bool", "on_device", self, what="mps")

    @property
    def is_meta(self) -> Any:
        return self.of.make("bool", "on_device", self, what="meta")

    @property
    def itemsize(self) -> Any:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.numel() * self.itemsize

    @property
    def requires_grad(self) -> Any:
        return self.of.make("bool", "requires_grad", self)

    @property
    def T(self) -> Any:  # noqa: N802 - as tensors have it
        return self.of.call(operator.attrgetter("T"), (self,), {})

    @property
    def mT(self) -> Any:  # noqa: N802
        return self.of.call(operator.attrgetter("mT"), (self,), {})

    def dim(self) -> Any:
        return self.ndim

    def numel(self) -> Any:
        return self.of.make("int", "numel", self)

    def size(self, dim: Any = None) -> Any:
        return self.shape if dim is None else self.of.make("int", "size", self, self.of.lift(dim))

    def stride(self, dim: Any = None) -> Any:
        strides = self.of.make("shape", "stride", self)
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> Any:
        return self.of.make("int", "storage_offset", self)

    def rank(self) -> Any:
        """How many tensors there are."""
        return self.of.make("int", "length", self)

    def contiguous(self) -> Any:
        return self.of.make("tensor", "contiguous", self)

    def is_contiguous(self) -> Any:
        return self.of.make("bool", "is_contiguous", self)

    def is_floating_point(self) -> Any:
        return self.dtype.is_floating_point

    def is_complex(self) -> Any:
        return self.dtype.is_complex

    def element_size(self) -> Any:
        return self.dtype.itemsize

    def __bool__(self) -> bool:
        raise DefinitionError(
            f"the value of {self!r} is data, which a definition cannot depend on: call op.python(...)"
        )

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, int) and (self.kind == "tensors" or self.step == "call"):
            return self.of.make("tensor", "item", self, what=at)
        return self.of.call(operator.getitem, (self, at), {})

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.of.call(Method(self.of.runtime, name), (self, *args), kwargs)

    def __eq__(self, other: object) -> Any:
        return self.of.call(operator.eq, (self, other), {})

    def __ne__(self, other: object) -> Any:
        return self.of.call(operator.ne, (self, other), {})

    def __neg__(self) -> Any:
        return self.of.call(operator.neg, (self,), {})


class Method:
    """The operator that a method of tensors stands for, looked up at the call: a runtime may lack some."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self.runtime, self.__name__ = runtime, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.runtime.function(self.__name__)(*args, **kwargs)


def _operator(function: Callable[..., Any], *, reflected: bool = False) -> Callable[[TensorSymbol, Any], Any]:
    if reflected:
        return lambda self, other: self.of.call(function, (other, self), {})
    return lambda self, other: self.of.call(function, (self, other), {})


def _arithmetic(name: str, *, reflected: bool = False) -> Callable[[Number, Any], Any]:
    if reflected:
        return lambda self, other: self.of.arithmetic(name, other, self)
    return lambda self, other: self.of.arithmetic(name, self, other)


_BINARY = operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow
for _function in (*_BINARY, operator.matmul):
    setattr(TensorSymbol, f"__{_function.__name__}__", _operator(_function))
    setattr(TensorSymbol, f"__r{_function.__name__}__", _operator(_function, reflected=True))
for _function in (operator.lt, operator.le, operator.gt, operator.ge):
    setattr(TensorSymbol, f"__{_function.__name__}__", _operator(_function))
for _name, _step in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floordiv",
    "mod": "mod",
}.items():
    setattr(Number, f"__{_name}__", _arithmetic(_step))
    setattr(Number, f"__r{_name}__", _arithmetic(_step, reflected=True))

_CLASSES: dict[str, type[Symbol]] = {
    "tensor": TensorSymbol, "tensors": TensorSymbol, "shape": Shape, "int": Number, "float": Number, "bool": Number,
    "number": Number, "floats": Listed, "bools": Listed, "numbers": Listed, "strs": Listed,
}  # fmt: skip
_ELEMENTS = {"floats": "float", "bools": "bool", "numbers": "number", "strs": "str"}


def operands_of(values: Any) -> Iterator[Symbol]:
    """The symbols in nested tuples, lists and slices."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from operands_of(value)
        elif isinstance(value, slice):
            yield from operands_of((value.start, value.stop, value.step))
        elif isinstance(value, Symbol):
            yield value


def value_of(value: Any) -> Any:
    """A value in which symbols, also those in tuples, lists and slices, are replaced by theirs."""
    if isinstance(value, Symbol):
        if value.known is _UNKNOWN:  # computed at most once; no property of it, whose errors `__getattr__` would hide
            value.known = value.of.evaluate(value)
        return value.known
    if isinstance(value, slice):
        return slice(value_of(value.start), value_of(value.stop), value_of(value.step))
    return type(value)(map(value_of, value)) if type(value) in (tuple, list) else value


# ---------------------------------------------------------------- runs
class _Running(threading.local):
    """The run of a definition that a thread is in."""

    tracer: Tracer | None = None


running = _Running()


def _shown(value: Any) -> str:
    return str(list(value) if isinstance(value, tuple) else value)


class Way:
    """A run over symbols without values: the conditions that lead through it, and what it returned."""

    def __init__(self, decisions: list[bool]) -> None:
        self.decisions = decisions
        self.taken: dict[Symbol, bool] = {}
        self.result: Any = None

    def __str__(self) -> str:
        return " and ".join(f"{'' if way else 'not '}({condition!r})" for condition, way in self.taken.items())


class Tracer:
    """The symbols of a run: with values those of a call; without, of one run for each way."""

    def __init__(self, runtime: Runtime, *, has_values: bool) -> None:
        self.runtime, self.has_values = runtime, has_values
        self.way = Way([])
        self.writes: list[Symbol] = []  # calls that write to a tensor, and were not made yet
        self._symbols: dict[Any, Symbol] = {}
        self._quoted: list[Symbol] = []  # those in texts

    # ---- making symbols
    def make(
        self, kind: str, step: str, *args: Symbol | None, what: Any = None, value: Any = _UNKNOWN, unique: bool = False
    ) -> Any:
        """The symbol of a step; without values those that are alike are one, unless doing it twice makes two things."""
        if unique or self.has_values:
            return _CLASSES.get(kind, Property)(self, kind, step, args, what, value)
        key = kind, step, *map(id, args), what
        found = self._symbols.get(key)
        if found is None:
            found = self._symbols[key] = _CLASSES.get(kind, Property)(self, kind, step, args, what, value)
        return found

    def lift(self, value: Any) -> Any:
        """A constant as a symbol."""
        if isinstance(value, Symbol):
            return value
        kind = _CONSTANTS.get(type(value), "object")
        return self.make(kind, "const", what=value, value=value, unique=kind == "object")

    def shape(self, value: Any) -> Any:
        """A shape, from a list of numbers too."""
        return value if isinstance(value, Shape) else self.make("shape", "shape", *map(self.lift, value))

    def negation(self, condition: Any) -> Any:
        """The opposite of a condition, or of a truth value that is known."""
        if condition is NotImplemented:
            return condition
        return self.make("bool", "not", condition) if isinstance(condition, Symbol) else not condition

    def evaluate(self, symbol: Symbol) -> Any:
        """The value of a symbol in this call."""
        if not self.has_values:
            raise DefinitionError(f"{symbol!r} is not known before the operator is called")
        step, what = symbol.step, symbol.what
        if step == "call":
            function, args, kwargs = what
            return function(*map(value_of, args), **{name: value_of(value) for name, value in kwargs.items()})
        if step in ("and", "or"):
            first, second = symbol.args
            return value_of(second) if bool(value_of(first)) is (step == "and") else step == "or"
        values = map(value_of, symbol.args)
        found = STEPS.get(step)
        if found is not None:
            return found(self.runtime, what, *values)
        return _ARITHMETIC[step.removeprefix("f") if step[1:] in _ARITHMETIC else step](*values)

    # ---- numbers
    def arithmetic(self, name: str, first: Any, second: Any = None) -> Any:
        """``first + second`` and the like: of ints an int, with a float in it or of `/` a float, as in Python."""
        if isinstance(first, TensorSymbol) or isinstance(second, TensorSymbol):
            return NotImplemented
        values = [self.lift(v) for v in (first, second) if v is not None]
        if any(v.kind == "number" for v in values):
            return self.make("number", name, *values)
        if name == "div" or any(v.kind == "float" for v in values):
            return self.make("float", f"f{name}", *map(self._as_float, values))
        return self.make("int", name, *values)

    def power(self, base: Any, exponent: Any) -> Any:
        """``base ** exponent`` of numbers: an int where it is one whatever the numbers are."""
        if isinstance(base, TensorSymbol) or isinstance(exponent, TensorSymbol):
            return NotImplemented
        first, second = self.lift(base), self.lift(exponent)
        whole = first.kind == "int" and second.step == "const" and type(second.what) is int and second.what >= 0
        kind = "int" if whole else "float" if "float" in (first.kind, second.kind) else "number"
        return self.make(kind, "python", first, second, what=(operator.pow,))

    def _as_float(self, value: Symbol) -> Any:
        if value.step == "const":
            return self.lift(float(value.what))
        return value if value.kind == "float" else self.make("float", "to_float", value)

    def compare(self, name: str, first: Any, second: Any) -> Any:
        """A comparison of numbers; None, of an optional argument that was given, equals nothing."""
        if isinstance(first, TensorSymbol) or isinstance(second, TensorSymbol):
            return NotImplemented
        if first is None or second is None:
            return False
        values = [self.lift(v) for v in (first, second)]
        if name == "eq" and any(v.kind not in ("int", "float", "bool") for v in values):
            return self.make("bool", "equal", *values)
        if any(v.kind in ("float", "number") for v in values):
            return self.make("bool", f"f{name}", *map(self._as_float, values))
        return self.make("bool", name, *values)

    # ---- what happens
    def decide(self, condition: Symbol) -> bool:
        """Which way this run goes."""
        if condition.step == "const":
            return bool(condition.what)
        if condition.step == "not" and condition.args[0] is not None:
            return not self.decide(condition.args[0])
        taken = self.way.taken
        if condition not in taken:
            if self.has_values:
                taken[condition] = bool(value_of(condition))
            else:
                at = len(taken)
                taken[condition] = self.way.decisions[at] if at < len(self.way.decisions) else True
        return taken[condition]

    def explore(self, function: Callable[[], Any]) -> list[Way]:
        """Runs a function once for each way through it."""
        waiting: list[list[bool]] = [[]]
        found = []
        while waiting:
            decisions = waiting.pop()
            way = self.way = Way(decisions)
            way.result = function()
            found.append(way)
            taken = [*way.taken.values()]
            waiting += [[*taken[:at], not taken[at]] for at in range(len(decisions), len(taken))]
            if len(found) > _MOST_WAYS:
                raise DefinitionError(f"there are more than {_MOST_WAYS} ways through it: call op.python(...)")
        return found

    def call(self, callee: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a function or operator returns, as a symbol."""
        operands = operands_of((args, tuple(kwargs.values())))
        found = self.make("tensor", "call", *operands, what=(callee, args, kwargs), unique=True)
        if self.runtime.writes(callee):
            self.writes.append(found)
        return found

    def quote(self, symbol: Symbol) -> str:
        """What stands for a symbol in a text until its value is asked for."""
        self._quoted.append(symbol)
        return f"\0{len(self._quoted) - 1}\0"

    def worded(self, text: str) -> str:
        """A text with the values of the symbols in it; shapes as lists."""
        parts = text.split("\0")
        return "".join(_shown(value_of(self._quoted[int(part)])) if at % 2 else part for at, part in enumerate(parts))

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function of a definition returns; meanwhile calls of operators are symbols."""
        outside, running.tracer = running.tracer, self
        try:
            return function(*args)
        finally:
            running.tracer = outside

    def forget(self) -> None:
        """Lets go of all symbols, which refer to this: tensors live no longer than those who use them."""
        self._symbols.clear()
        self._quoted.clear()
        self.writes.clear()
        self.way = Way([])

    def write(self) -> None:
        """Makes the calls that write, in their order."""
        calls, self.writes = self.writes, []
        for call in calls:
            value_of(call)
