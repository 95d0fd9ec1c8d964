"""An operator's definition: what its function said on each way through it, and what follows of that."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ._builder import ALLOCATED, OperatorBuilder, Signature
from ._conditions import expectation, names_of
from ._no_kernel import no_kernel
from ._symbols import DefinitionError, Symbol
from ._tracer import Trace, Tracer

__all__ = ["COMPOSED", "Definition", "device_of"]

COMPOSED = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")  # the keys of what runs on any device
_RUNS = ("launch", "python", "compute")


class Definition:
    """An operator that is what a function says of symbols. ``ways`` are there once it was explored."""

    error: type[Exception] = DefinitionError  # of what a definition cannot say
    check_error: type[Exception] = RuntimeError  # of conditions that do not hold, where nothing else is said

    signature: Signature
    builder: OperatorBuilder

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self.ways: list[Trace] = []

    @property
    def place(self) -> str:
        """Where the function stands."""
        code = getattr(self._function, "__code__", None)
        return "<unknown>" if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    def explained(self, make: Callable[[], Any]) -> Any:
        """What a function makes; an error says of which definition."""
        try:
            return make()
        except DefinitionError as error:
            raise self.error(f"{self.signature.name}, defined at {self.place}: {error}") from None

    # ---- tracing
    def explore(self, signature: Signature, of: Tracer) -> None:
        """Runs the function over symbols of an operator's arguments, once for each way through it."""
        self.signature, self.builder = signature, OperatorBuilder(signature, of)
        self.ways = self.explained(lambda: of.explore(self.run))

    def run(self) -> Any:
        """What the operator returns, and the function of its gradient, on the way that is under way."""
        builder, of = self.builder, self.builder.of
        builder.outputs, builder.formula = (), None
        values = []
        for at in self._wanted():
            symbol = builder.arguments[at]
            absent = self.signature.arguments[at].is_optional and of.decide(of.make("bool", "is_none", symbol))
            values.append(None if absent else symbol)
        self._function(builder, *values)
        events = of.trace.events
        failed = any(event[0] == "fail" for event in events)
        if not builder.outputs and self.signature.returns and not failed:
            if not any(event[0] in _RUNS for event in events):
                raise DefinitionError("op.returns(...) was not called")
            builder.returns()
        for event in of.trace.events:
            if event[0] == "python" and event[3] is None and _is_returned(event[2], builder.outputs):
                raise DefinitionError(
                    "what op.python(...) returns is given to op.returns(...): say `fake=` too, or give op.returns(...) "
                    "what is allocated"
                )
        return builder.outputs, builder.formula

    def _wanted(self) -> list[int]:
        """The arguments that the function takes: all in order, or some by name, those that it reads."""
        arguments = [argument.name for argument in self.signature.arguments]
        code = getattr(self._function, "__code__", None)
        taken = () if code is None else code.co_varnames[1 : code.co_argcount]
        if code is None or code.co_flags & inspect.CO_VARARGS or len(taken) == len(arguments):
            return list(range(len(arguments)))
        spelled = {f"{n}_": at for at, n in enumerate(arguments)} | {name: at for at, name in enumerate(arguments)}
        for name in taken:
            if name not in spelled:
                raise DefinitionError(f"it takes {name!r}, which is no argument of the operator")
        return [spelled[name] for name in taken]

    # ---- what follows
    def devices(self) -> list[str]:
        """The devices that the definition names; none where it is composed of other operators."""
        events = [event for way in self.ways for event in way.events]
        return list(dict.fromkeys(event[1] for event in events if event[0] in _RUNS))

    def device_names(self) -> tuple[str, ...]:
        """The types of the devices that a kernel is declared for, in the order of declaration."""
        return tuple(device.lower() for device in self.devices() if device not in ("any", "Meta"))

    @property
    def has_gradient(self) -> bool:
        """Whether anything is said of one."""
        builder = self.builder
        return bool(builder.marker or builder.by_hand or any(way.result[1] is not None for way in self.ways))

    def keys(self) -> list[str]:
        """The dispatch keys at which calls run, "Meta" where what they return is known without a kernel."""
        devices = self.devices()
        # What takes no tensor has nothing to be differentiated through its parts for.
        has_tensors = any("Tensor" in argument.type for argument in self.signature.arguments)
        composed = COMPOSED[0] if self.has_gradient or not has_tensors else COMPOSED[1]
        if not devices:
            runs = any(way.result[0] or way.events for way in self.ways)
            return [composed] if runs or not self.signature.returns else []
        named = [device for device in devices if device not in ("any", "Meta")]
        meta = ["Meta"] if "Meta" in devices or (self._allocates() and not self._only_writes()) else []
        return [*named, *meta, *([composed] if "any" in devices else [])]

    def _allocates(self) -> bool:
        """Whether what a call returns is known without running a kernel."""
        events = [event for way in self.ways for event in way.events]
        faked = any(event[0] == "python" and event[3] is not None for event in events)
        return faked or all(s.step != "output" for way in self.ways for s in way.result[0])

    def _only_writes(self) -> bool:
        """Whether all is for any device and writes to arguments, of which what is returned has its shapes."""
        outputs = [symbol for way in self.ways for symbol in way.result[0]]
        written = bool(outputs) or any(argument.is_written for argument in self.signature.arguments)
        return self.devices() == ["any"] and written and all(symbol.step == "arg" for symbol in outputs)

    def only_function(self, key: str) -> Callable[..., Any] | None:
        """The Python function that is all of what runs at a key, with the call's own arguments."""
        device = device_of(key)
        if len(self.ways) != 1:
            return None
        events = [e for e in self.ways[0].events if e[0] not in _RUNS or e[1] == device]
        if len(events) != 1 or events[0][0] != "python":
            return None
        function: Callable[..., Any] | None = events[0][4]
        return function

    def returned(self, way: Trace, key: str) -> Sequence[Symbol] | None:
        """What a way returns at a key: what was declared, or what a function returned in its place; None: it cannot."""
        outputs: Sequence[Symbol] = way.result[0]
        device = device_of(key)
        if key != "Meta" and self.devices() and not _runs_on(way, device):
            return None
        for event in way.events:
            if event[0] == "compute" and event[1] == device:
                return list(event[2]) if self.signature.returns else []
            if event[0] == "python" and (event[1] == device or (key == "Meta" and event[3] is not None)):
                replaced = self._replaced(event, outputs, key)
                if replaced is not None:
                    return replaced
        return list(outputs)

    def _replaced(self, event: tuple[Any, ...], outputs: Sequence[Symbol], key: str) -> list[Symbol] | None:
        """The outputs that a Python function gave; None where they are those that were declared."""
        _, device, result, fake, _ = event
        if key == "Meta" and device != "Meta":
            if not _is_returned(result, outputs):
                return None
            result = self.builder.of.make(result.kind, "python", *result.args, what=fake, unique=True)
        count = len(self.signature.returns)
        return [result] if count == 1 else [result[i] for i in range(count)]

    def is_fresh(self, way: Trace, key: str) -> bool:
        """Whether what a way returns is memory that it allocated itself, an output each."""
        outputs = way.result[0]
        if any(event[0] in ("python", "compute") and event[1] == device_of(key) for event in way.events):
            return False
        made = all(output.step in ALLOCATED for output in outputs)
        return made and len(set(outputs)) == len(outputs)

    # ---- errors
    def no_kernel(self, way: Trace, key: str) -> int:
        """The number of the error of a way on which nothing runs at a key."""
        device = device_of(key)
        taken = [way for way in self.ways if _runs_on(way, device)]
        message = no_kernel(self.signature.name, device, way, taken, self.ways)
        return self.builder.failure(NotImplementedError, message)

    def failed_check(self, number: int, value_of: Callable[[Symbol], Any]) -> Exception:
        """The error of a check, by its number, in a call."""
        condition, words, kind = self.builder.checks[number]
        error = kind or self.check_error
        if words is not None:
            return error(self.builder.of.worded(words, value_of))
        values = {text: value_of(symbol) for text, symbol in names_of(condition, value_of)}
        # A size prints as torch.Size([2, 3]); in a message about shapes the list alone reads better.
        got = ", ".join(f"{text} = {list(v) if isinstance(v, tuple) else v!r}" for text, v in values.items())
        return error(f"{self.signature.name}: expected {expectation(condition)}" + (f", got {got}" if got else ""))

    def failure(self, number: int, value_of: Callable[[Symbol], Any]) -> Exception:
        """The error of a way that leads nowhere, by its number, in a call."""
        kind, message = self.builder.failures[number]
        return (kind or self.check_error)(message(value_of))


def device_of(key: str) -> str:
    """What `launch` and `python` call the device of a dispatch key."""
    return "any" if key in COMPOSED else key


def _runs_on(way: Trace, device: str) -> bool:
    """Whether something makes what a way returns on a device: what is said of it, or else operators alone."""
    devices = [event[1] for event in way.events if event[0] in _RUNS]
    writes = any(event[0] == "do" for event in way.events)
    given = any(output.step in (*ALLOCATED, "arg", "output") for output in way.result[0])
    return device in devices or (not devices and (writes or not given))


def _is_returned(result: Symbol, outputs: Sequence[Symbol]) -> bool:
    """Whether what a Python function returns was given to `returns`, as it is or in parts."""
    return any(output is result or any(operand is result for operand in output.args) for output in outputs)
