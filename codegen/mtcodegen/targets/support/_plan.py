"""Plans: all ways through a definition as one Python function, which every call runs.

Each step becomes a line on registers, ``v7 = v3 + v5``, and each condition an ``if``; functions and constants are named
``f2``. No name or text of a declaration becomes part of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._language import Symbol, Trace
from ._runtime import Runtime
from ._values import EXPRESSIONS, FUNCTIONS

__all__ = ["Lowering"]

Do = Callable[["Lowering", tuple[Any, ...]], None]
End = Callable[["Lowering", Trace], None]


class Lowering:
    """A plan that is being made. ``inputs`` are the symbols whose values it is called with."""

    def __init__(self, runtime: Runtime, inputs: Sequence[Symbol]) -> None:
        self.runtime = runtime
        self.inputs = [f"v{at}" for at in range(len(inputs))]
        self._places = dict(zip(inputs, self.inputs, strict=True))
        self._names: dict[str, Any] = {}  # the function's globals: functions and constants by their names
        self._lines: list[str] = []
        self._depth, self._registers = 1, len(inputs)

    def plan(self, name: str) -> Callable[..., Any]:
        """The finished function."""
        text = "\n".join([f"def plan({', '.join(self.inputs)}):", *self._lines])
        exec(compile(text, f"<{name}>", "exec"), self._names)
        found: Callable[..., Any] = self._names.pop("plan")
        return found

    # ---- values
    def place(self, symbol: Symbol | None) -> str:
        """The register or name that holds a symbol's value."""
        if symbol is None:
            return "None"
        if symbol.step == "const":
            return self.named(symbol.what)
        if symbol not in self._places:
            self._places[symbol] = self._made(symbol)
        return self._places[symbol]

    def _made(self, symbol: Symbol) -> str:
        if symbol.step in ("and", "or"):
            return self._joined(symbol)
        operands = [self.place(operand) for operand in symbol.args]
        register = self._register()
        form = EXPRESSIONS.get(symbol.step)
        if form is None:
            function = self.named(FUNCTIONS[symbol.step](self.runtime, symbol.what))
            form = f"{function}({', '.join(['{}'] * len(operands))})"
        self.line(f"{register} = {form.format(*operands)}")
        return register

    def _register(self) -> str:
        self._registers += 1
        return f"v{self._registers - 1}"

    def _joined(self, symbol: Symbol) -> str:
        """``and`` and ``or``, as in Python: the second operand is computed where the first leaves it open."""
        first, second = symbol.args
        register = self._register()
        self.line(f"{register} = {self.place(first)}")
        self.line(f"if {'' if symbol.step == 'and' else 'not '}{register}:")
        places, self._places = self._places, dict(self._places)
        self._depth += 1
        self.line(f"{register} = {self.place(second)}")
        self._depth -= 1
        self._places = places  # registers that only one way fills are not reused
        return register

    def stands_for(self, symbol: Symbol, name: str) -> None:
        """Notes that a register already holds a symbol's value on this way."""
        self._places.setdefault(symbol, name)

    def named(self, value: Any) -> str:
        """A name for a function or a constant."""
        name = f"f{len(self._names)}"
        self._names[name] = value
        return name

    def line(self, text: str) -> None:
        """Adds a statement."""
        self._lines.append("    " * self._depth + text)

    # ---- ways
    def ways(self, traces: list[Trace], do: Do, end: End, at: int = 0) -> None:
        """The lines of several runs from event number ``at`` on: ``do`` adds an event's, ``end`` a way's last."""
        for number in range(at, len(traces[0].events)):
            event = traces[0].events[number]
            if event[0] == "branch":
                sides = [[t for t in traces if t.events[number][2] is way] for way in (True, False)]
                self._branch(event[1], sides, do, end, number + 1)
                return
            do(self, event)
        end(self, traces[0])

    def _branch(self, condition: Symbol, sides: list[list[Trace]], do: Do, end: End, at: int) -> None:
        self.line(f"if {self.place(condition)}:")
        for traces in sides:  # a register that one way fills is not filled on the other
            places, self._places = self._places, dict(self._places)
            self._depth += 1
            self.ways(traces, do, end, at)
            self._depth -= 1
            self._places = places
            if traces is sides[0]:
                self.line("else:")

    def finish(self, outputs: Sequence[Symbol | None], *, listed: bool = False) -> None:
        """The end of a way: what it returns, as operators do, or as a list."""
        values = ", ".join([self.place(output) for output in outputs])
        self.line(f"return [{values}]" if listed else f"return {values or None}")
