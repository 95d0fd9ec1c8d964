"""Lowering: all ways through a definition as the steps of one program.

``_core.PLAN_STEPS`` says of every step what it makes and from what; here operands are brought into such registers. The
ways through a definition are alike up to a condition: there the program branches, and each has registers of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opschema.definitions import DefinitionError, Symbol, Trace

from ... import _core
from ..._core import OpOverload, Program
from ..._core import dtype as DType
from .._references import without_frame
from ._python_steps import FUNCTIONS, OF_NUMBERS

__all__ = ["Lowering"]

_STEPS = _core.PLAN_STEPS
_OBJECTS, _WORDS, _SHAPES = _core.PLAN_LIMITS
_OPERANDS = _core.PLAN_OPERANDS
_FROM_OBJECT = {"int": "int", "float": "float", "number": "float", "bool": "bool", "dtype": "dtype_code"}
_DTYPES = list(_core.dtypes.values())  # by code
_BOXES = {"int": "box_int", "float": "box_float", "bool": "box_bool", "dtype": "box_dtype", "shape": "box_shape"}

Explain = Callable[[str, int, tuple[Any, ...]], Any]
Do = Callable[["Lowering", tuple[Any, ...]], None]
End = Callable[["Lowering", Trace], None]


class Lowering:
    """A program that is being made. ``inputs`` are the symbols whose values it is called with."""

    def __init__(self, overload: OpOverload, inputs: Sequence[Symbol]) -> None:
        self.overload, self.inputs = overload, len(inputs)
        self.labels: list[Any] = []  # what launches pass, for errors
        self._places: dict[tuple[str, Symbol], int] = {("o", s): i for i, s in enumerate(inputs)}
        self._steps: list[list[Any]] = []
        self._pool: list[int] = []
        self._numbers: list[Any] = []
        self._constants: list[Any] = []
        self._used = {"o": self.inputs, "w": 0, "d": 0}
        self._most = dict(self._used)

    def program(self, explain: Explain, fresh: int = 0) -> Program:
        """The finished program. Raises DefinitionError where it needs more registers than there are."""
        used = self._most["o"], self._most["w"], self._most["d"]
        if used[0] + len(self._constants) > _OBJECTS or used[1] > _WORDS or used[2] > _SHAPES:
            raise DefinitionError(
                f"it needs {used[0] + len(self._constants)} objects, {used[1]} numbers and {used[2]} shapes at a time, "
                f"but at most {_OBJECTS}, {_WORDS} and {_SHAPES} are supported: make parts of it operators of their own"
            )
        steps = [tuple(step) for step in self._steps]
        constants = tuple(self._constants)
        return Program(self.overload, self.inputs, used, steps, self._pool, self._numbers, constants, explain, fresh)

    # ---- registers
    def place(self, kind: str, symbol: Symbol) -> int:
        """The register that holds a symbol: as an object "o", a word "w", or a shape "d"."""
        key = kind, symbol
        if key not in self._places:
            self._places[key] = self._made(kind, symbol)
        return self._places[key]

    def has(self, symbol: Symbol) -> bool:
        """Whether a symbol is in an object register already."""
        return ("o", symbol) in self._places

    def _made(self, kind: str, symbol: Symbol) -> int:
        natural = self._natural(kind, symbol)
        if natural == kind:
            return self._constant(kind, symbol) if symbol.step == "const" else self._stepped(symbol)
        if natural == "o":
            step = "ints" if kind == "d" else _FROM_OBJECT.get(symbol.kind)
        else:
            step = _BOXES.get(symbol.kind) if kind == "o" else None
        if step is None:
            raise DefinitionError(f"{symbol!r} is a {symbol.kind}, and is used as something else")
        return self.emit(step, [self.place(natural, symbol)])

    def _natural(self, kind: str, symbol: Symbol) -> str:
        """In which kind of register a symbol's step leaves it."""
        if symbol.step == "const":
            return kind
        if ("o", symbol) in self._places or symbol.step in ("arg", "before", "grad", "output", "default"):
            return "o"
        if _function_of(symbol) is not None:
            return "o"
        made: str = _STEPS[_core_step(symbol)][1]
        return made

    def _constant(self, kind: str, symbol: Symbol) -> int:
        value = symbol.what
        if kind == "o":
            return self.constant(value)
        if isinstance(value, DType):
            value = _DTYPES.index(value)
        if kind == "d" or not isinstance(value, (int, float)):
            raise DefinitionError(f"{value!r} is used as a {'shape' if kind == 'd' else 'number'}")
        return self.emit("constant", [self._number(value)])

    def constant(self, value: Any) -> int:
        """The register of a constant: they count down from the end."""
        for at, other in enumerate(self._constants):
            if other is value:
                return _OBJECTS - 1 - at
        self._constants.append(value)
        return _OBJECTS - len(self._constants)

    def _stepped(self, symbol: Symbol) -> int:
        if symbol.step == "default":
            overload, name = symbol.what
            return self.constant(_core.bound_default(overload, name))
        if symbol.step in ("arg", "before", "grad", "output"):
            raise DefinitionError(f"{symbol!r} cannot be read here")
        function = _function_of(symbol)
        if function is not None:
            places = [self.place("o", value) for value in symbol.args if value is not None]
            return self.emit("python", [self.run(places), len(places)], function)
        if symbol.step in ("and", "or"):
            return self._joined(symbol)
        step = _core_step(symbol)
        form = _STEPS[step][2]
        operands: list[int] = []
        values = iter(symbol.args)
        for letter in form:
            if letter in "OW":
                run = [self.place(letter.lower(), v) for v in values if v is not None]
                operands += [self.run(run), len(run)]
            elif letter == "n":
                operands.append(_core.device_code(symbol.what) if step == "on_device" else symbol.what)
            elif letter == "k":
                operands.append(self._number(_mask(symbol)))
            else:
                value = next(values)
                operands.append(-1 if value is None else self.place("w" if letter == "v" else letter, value))
        return self.emit(step, operands, symbol.what if step == "call" else None)

    def _joined(self, symbol: Symbol) -> int:
        """``and`` and ``or``, as in Python: the second operand is computed where the first leaves it open."""
        first, second = (operand for operand in symbol.args if operand is not None)
        made = self.emit("settled", [self.place("w", first), 0, symbol.step == "or"])
        settled, places = self._steps[-1], dict(self._places)
        self.emit(symbol.step, [made, self.place("w", second)], made=made)
        settled[3] = len(self._steps)
        self._places = places  # registers that only one way fills are not reused
        return made

    def run(self, entries: list[int]) -> int:
        """Where a run of the pool starts."""
        self._pool += entries
        return len(self._pool) - len(entries)

    def _number(self, value: Any) -> int:
        self._numbers.append(value)
        return len(self._numbers) - 1

    def emit(self, step: str, operands: Sequence[int], what: Any = None, made: int | None = None) -> int:
        """Adds a step; returns the register that it fills."""
        code, kind, _ = _STEPS[step]
        if made is None:
            made = self._used.get(kind, 0)
            if kind in self._used:
                self._used[kind] = made + 1
                self._most[kind] = max(self._most[kind], made + 1)
        a, b, c = (*operands, *(0,) * (3 - len(operands)))
        self._steps.append([code, made, a, b, c, what])
        return made

    # ---- ways
    def ways(self, traces: list[Trace], do: Do, end: End, at: int = 0) -> None:
        """The steps of several runs from event number ``at`` on: ``do`` lowers an event, ``end`` the end of a way."""
        events = traces[0].events
        for number in range(at, len(events)):
            event = events[number]
            if event[0] == "branch":
                self._branch(
                    event[1],
                    [[t for t in traces if t.events[number][2] is way] for way in (True, False)],
                    do,
                    end,
                    number + 1,
                )
                return
            do(self, event)
        end(self, traces[0])

    def _branch(self, condition: Symbol, sides: list[list[Trace]], do: Do, end: End, at: int) -> None:
        self.emit("branch", [self.place("w", condition), 0])
        branch = len(self._steps) - 1
        places, used = dict(self._places), dict(self._used)
        self.ways(sides[0], do, end, at)
        self._steps[branch][3] = len(self._steps)
        self._places, self._used = places, used  # a register that one way fills is not filled on the other
        self.ways(sides[1], do, end, at)

    def finish(self, way: int, outputs: Sequence[Symbol | None]) -> None:
        """The end of a way: what it returns."""
        entries = [-1 if s is None else self.place("o", s) for s in outputs]
        self.emit("return", [self.run(entries), len(entries)], made=way)

    # ---- launches
    def launch(self, kernel: Any, operands: list[tuple[str, Any]], block_dim: Symbol | None) -> None:
        """A launch: each operand is how it is passed, see ``_core.PLAN_OPERANDS``, and a symbol."""
        entries = []
        for how, value in operands:
            kind = {"tensor": "o", "object": "o", "int": "w", "float": "w"}.get(how)
            entries += [_OPERANDS[how], 0 if kind is None else self.place(kind, value)]
        first = len(self.labels)
        self.labels += [value for _, value in operands]
        made = -1 if block_dim is None else self.place("w", block_dim)
        self.emit("launch", [self.run(entries), len(entries), first], kernel, made=made)


# ---------------------------------------------------------------- steps
def _core_step(symbol: Symbol) -> str:
    """The core's name of a step: dtypes are compared by their codes, and asked by a mask of codes."""
    if symbol.step == "equal" and all(operand is not None and operand.kind == "dtype" for operand in symbol.args):
        return "eq"
    return "dtype_in" if symbol.step in _OF_DTYPES else symbol.step


_OF_DTYPES: dict[str, Callable[[DType], bool]] = {
    "is_complex": lambda dtype: dtype.is_complex,
    "is_signed": lambda dtype: dtype.is_signed,
}


def _mask(symbol: Symbol) -> int:
    """The dtypes that a step asks for, by their codes."""
    is_asked = _OF_DTYPES.get(symbol.step)
    asked = symbol.what if is_asked is None else filter(is_asked, _DTYPES)
    return sum(1 << code for code in set(map(_DTYPES.index, asked)))


def _function_of(symbol: Symbol) -> tuple[Callable[..., Any], tuple[str, ...]] | None:
    """The function of Python, and the names of its last arguments, of a step that the core does not do itself."""
    if symbol.step == "python":
        function, names = symbol.what
        return without_frame(function), names
    if symbol.kind == "number" and symbol.step in OF_NUMBERS:
        return OF_NUMBERS[symbol.step], ()
    return (FUNCTIONS[symbol.step](symbol.what), ()) if symbol.step in FUNCTIONS else None
