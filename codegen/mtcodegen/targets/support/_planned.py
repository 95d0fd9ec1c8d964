"""Definitions as plans: the function runs once, over symbols, and each dispatch key gets a plan of what it said."""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from ._callees import resolved
from ._calls import Calls
from ._language import Definition, Gradients, Signature, Symbol, Trace, device_of
from ._plan import Lowering
from ._runtime import Runtime

__all__ = ["Geometry", "Planned", "warn_deprecated"]

# The steps that read a tensor's geometry, not its values.
_GEOMETRY = ("shape_of", "dtype", "device", "ndim", "numel", "size", "on_device", "same_shape")


@dataclass(frozen=True)
class Geometry:
    """What is kept of a tensor whose values are not read."""

    shape: Any
    dtype: Any
    device: Any


class Planned(Definition):
    """A definition whose ways are traced at once, and whose plans are made when they are first needed."""

    def __init__(self, runtime: Runtime, signature: Signature, function: Callable[..., None]) -> None:
        super().__init__(function)
        self.runtime = runtime
        self._plans: dict[Any, Callable[..., Any]] = {}
        self._lock = threading.RLock()
        self.explore(signature, Calls(runtime))

    def _planned(self, key: Any, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        with self._lock:
            if key not in self._plans:
                self._plans[key] = self.explained(make)
            return self._plans[key]

    # ---- calls
    def plan(self, key: str) -> Callable[..., Any]:
        """What runs at a dispatch key, called with a value for each argument of the schema."""
        return self._plans.get(key) or self._planned(key, lambda: self._plan(key))

    def _plan(self, key: str) -> Callable[..., Any]:
        lowering, device = Lowering(self.runtime, self.builder.arguments), device_of(key)
        inputs = f"({', '.join(lowering.inputs)}{',' if lowering.inputs else ''})"

        def do(low: Lowering, event: tuple[Any, ...]) -> None:
            if event[0] == "check":
                low.line(f"if not {low.place(event[1])}: raise {low.named(self._failed)}({event[2]}, {inputs})")
            elif event[0] == "fail":
                self._fail(low, event[1], inputs)
            elif event[0] == "do":
                self._write(low, [event[1]])
            elif event[0] == "compute" and event[1] == device:
                self._write(low, event[3])
            elif event[0] == "python" and event[1] == device:
                low.place(event[2])
            elif event[0] == "launch" and event[1] == device:
                self._launch(low, *event[2:])

        def end(low: Lowering, way: Trace) -> None:
            if any(event[0] == "fail" for event in way.events):
                return
            outputs = self.returned(way, key)
            if outputs is None:
                self._fail(low, self.no_kernel(way, key), inputs)
            else:
                low.finish(outputs[: len(self.signature.returns)])

        lowering.ways(self.ways, do, end)
        return lowering.plan(self.signature.name)

    def _write(self, low: Lowering, calls: Sequence[Symbol]) -> None:
        """The calls that write to an argument, in their order."""
        for call in calls:
            if self.runtime.writes(resolved(call.what[0])):
                low.place(call)

    def _fail(self, low: Lowering, number: int, inputs: str) -> None:
        low.line(
            f"raise {low.named(lambda number, given: self.failure(number, self._values(given)))}({number}, {inputs})"
        )

    def _launch(self, low: Lowering, kernel: Any, form: Any, operands: Sequence[Any], blocks: Symbol | None) -> None:
        launcher, symbol = kernel
        abi, types, dtypes = form
        launch = launcher.bind(self.runtime, symbol, types, abi=abi, dtypes=dtypes)
        low.line(f"{low.named(launch)}({', '.join(map(low.place, (blocks, *(value for _, value in operands))))})")

    # ---- errors
    def _failed(self, number: int, inputs: Sequence[Any]) -> Exception:
        return self.failed_check(number, self._values(inputs))

    def _values(self, inputs: Sequence[Any]) -> Callable[[Symbol], Any]:
        """A function that computes a symbol's value from the arguments of a call."""

        def value_of(symbol: Symbol) -> Any:
            lowering = Lowering(self.runtime, self.builder.arguments)
            lowering.finish([symbol])
            return lowering.plan(self.signature.name)(*inputs)

        return value_of

    # ---- gradients
    def gradient(self, mask: int) -> Callable[..., Any]:
        """The plan of the gradients of the arguments in a mask.

        It is called with arguments, outputs and the outputs' gradients, and gives one, or None, for each argument.
        """
        return self._plans.get(mask) or self._planned(mask, lambda: self._gradient(mask))

    def _gradient(self, mask: int) -> Callable[..., Any]:
        gradients, builder = Gradients(self), self.builder
        outputs = [builder.of.make("object", "given", what=(i,)) for i in range(len(self.signature.returns))]
        lowering = Lowering(self.runtime, [*builder.arguments, *outputs, *gradients.grads()])

        def write(low: Lowering, event: tuple[Any, ...]) -> None:
            if event[0] == "do":
                self._write(low, [event[1]])

        def end(low: Lowering, way: Trace) -> None:
            for output, given in zip(way.result[0], outputs, strict=False):
                low.stands_for(output, low.place(given))
            if way.result[1] is None:
                where = f" where {way}" if way.known else ""
                message = f"{self.signature.name} has no gradient{where}"
                self._fail(low, builder.failure(RuntimeError, lambda value_of: message), "()")
            else:
                low.ways(gradients.traces(way, mask), write, returned)

        def returned(low: Lowering, trace: Trace) -> None:
            found = dict(zip(gradients.differentiable, trace.result, strict=True))
            low.finish([found.get(i) for i in range(len(builder.arguments))], listed=True)

        lowering.ways(self.ways, lambda low, event: None, end)
        return lowering.plan(f"gradient of {self.signature.name}")

    @functools.cached_property
    def reads(self) -> tuple[set[int], set[int]]:
        """What gradients read: the values of some arguments and outputs, the geometry of others, by number."""
        read: tuple[set[int], set[int]] = (set(), set())
        with self._lock:
            self.explained(lambda: self._note_reads(*read))
        return read

    def _note_reads(self, values: set[int], geometry: set[int]) -> None:
        gradients, arguments = Gradients(self), self.builder.arguments
        every = sum(1 << i for i in gradients.differentiable)
        for way in self.ways:
            if way.result[1] is None:
                continue
            at = {output: len(arguments) + i for i, output in reversed([*enumerate(way.result[0])])}
            at |= {argument: i for i, argument in enumerate(arguments)}
            traces = gradients.traces(way, every)
            read = [value for trace in traces for value in trace.result if value is not None]
            read += [event[1] for trace in traces for event in trace.events if event[0] in ("branch", "do")]
            for value in [*read, *way.known]:
                for number, whole in _read(value, at):
                    (values if whole else geometry).add(number)
        geometry -= values


def _read(value: Symbol, at: dict[Symbol, int]) -> Iterator[tuple[int, bool]]:
    """The arguments and outputs that a value is computed of, by number, and whether of their values."""
    if value in at:
        yield at[value], True
        return
    for operand in value.args:
        if operand is not None and operand in at and value.step in _GEOMETRY:
            yield at[operand], False
        elif operand is not None:
            yield from _read(operand, at)


def warn_deprecated(name: str, instead: str, runtime: ModuleType) -> None:
    """Warns at the line that calls an operator: the first outside of the runtime and of this package's own files."""
    inside = (str(Path(str(runtime.__file__)).parent), str(Path(__file__).parent / "_"))
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(f"{name} is deprecated: {instead}", FutureWarning, stacklevel=depth + 1)
