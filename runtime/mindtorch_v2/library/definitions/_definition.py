"""An operator's definition: what the function said of it, and what is registered for it.

Nothing runs at import: the function runs when the operator is first called or looked at, once for each way through it.
A device's program is made at the first call there, a gradient's at its first use.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import OpOverload, Plan, Program
from ...errors import check_error
from .._references import python_function
from ._gradient import Formulas
from ._helpers import Allocated, Typed
from ._lowering import Lowering
from ._symbols import DefinitionError, Several, Symbol, TensorSymbol
from ._text import names_of, text_of
from ._tracer import Trace, Tracer

if TYPE_CHECKING:
    from ...npu import KernelLauncher

__all__ = ["Definition", "OperatorBuilder"]

_DEVICES = ("CPU", "NPU", "CUDA", "MPS")
_KINDS = {
    "Tensor": "tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "Scalar": "number",
    "str": "str", "ScalarType": "dtype", "Device": "device",
}  # fmt: skip


class OperatorBuilder:
    """What a definition's function gets first: its methods say what the operator requires, returns, runs and saves."""

    def __init__(self, overload: OpOverload) -> None:
        self._overload, self._of = overload, Tracer()
        self._arguments = [self._argument(a) for a in overload._schema.arguments]
        self._checks: list[Symbol] = []
        self._failures: list[tuple[type[Exception], str]] = []
        self._kernels: dict[Any, Any] = {}
        self._outputs: tuple[Symbol, ...] = ()
        self._formula: Callable[..., Any] | None = None

    def _argument(self, argument: Any) -> Symbol:
        text = str(argument.type).removesuffix("?")
        kind = "shape" if "[" in text and text.split("[")[0] in ("int", "SymInt") else _KINDS.get(text, "object")
        symbol: Symbol = self._of.make(kind, "arg", what=(argument.name, text))
        return symbol

    def check(self, *conditions: Any) -> None:
        """Each must hold in every call; where one does not, the call raises `CheckError`, with the values in it."""
        for condition in conditions:
            if isinstance(condition, Symbol):
                if not any(condition is c for c in self._checks):
                    self._checks.append(condition)
                number = next(i for i, c in enumerate(self._checks) if c is condition)
                self._of.note("check", condition, number)
            elif not condition:  # false on this way: what led here is the message
                self._of.note("fail", self._failure(RuntimeError, f"not expected: {self._of.trace}"))

    def _failure(self, kind: type[Exception], message: str) -> int:
        self._failures.append((kind, message))
        return len(self._failures) - 1

    def returns(self, *outputs: Any) -> Any:
        """The outputs: allocated (`like`, `empty`, `broadcast`), computed by operators, or arguments it writes to."""
        expected = len(self._overload._schema.returns)
        if len(outputs) == 1 and isinstance(outputs[0], Several):
            outputs = tuple(outputs[0][i] for i in range(expected))
        if len(outputs) != expected:
            raise DefinitionError(f"op.returns(...): the schema declares {expected} outputs, got {len(outputs)}")
        self._outputs = tuple(self._output(o) for o in outputs)
        return self._outputs[0] if len(outputs) == 1 else self._outputs

    def _output(self, output: Any) -> Symbol:
        if isinstance(output, Allocated):
            return output.tensor
        if not isinstance(output, Symbol):
            expected = "like(...), empty(...), broadcast(...) or a tensor"
            raise DefinitionError(f"op.returns(...): expected {expected}, got {output!r}")
        return output

    def launch(
        self, device: str, kernel: tuple[KernelLauncher, str], *args: Any, block_dim: Any = None,
        dtypes: Sequence[Any] | None = None,
    ) -> None:  # fmt: skip
        """On a device ("CPU", "NPU") a compiled kernel runs.

        ``kernel`` is ``launcher["symbol"]``; ``args`` are tensors, None, numbers with C types (``f32(scale)``) and
        structs. ``block_dim`` is that of an AscendC kernel, 1 by default. ``dtypes`` are those that the kernel is
        compiled for: the operator's tensor arguments must be of one of them.
        """
        _require_device(device)
        typed = [a if isinstance(a, Typed) else Typed(_core.c_types["ptr"], a) for a in args]
        operands = [self._operand(a) for a in typed]
        key = (
            device,
            kernel[0],
            kernel[1],
            tuple(a.ctype.name for a in typed),
            None if dtypes is None else tuple(dtypes),
        )
        if key not in self._kernels:
            allowed = None
            if dtypes is not None:
                allowed = tuple(tuple(dtypes) if self._is_given(value) else None for _, value in operands)
            abi = "ascendc" if device == "NPU" else "c"
            self._kernels[key] = kernel[0].bind(kernel[1], [a.ctype for a in typed], abi=abi, dtypes=allowed)
        if device == "NPU" and block_dim is None:
            block_dim = 1
        blocks = None if block_dim is None else self._of.lift(block_dim)
        self._of.note("launch", device, self._kernels[key], operands, blocks)

    def _is_given(self, value: Any) -> bool:
        """Whether what a kernel gets is one of the operator's arguments, made contiguous or not."""
        if isinstance(value, TensorSymbol) and value.step == "contiguous":
            value = value.args[0]
        return isinstance(value, TensorSymbol) and value.step == "arg"

    def _operand(self, argument: Typed) -> tuple[str, Any]:
        value = argument.value
        if value is None:
            return "nothing", None
        symbol = self._of.lift(value)
        if isinstance(symbol, TensorSymbol):
            return "tensor", symbol
        if argument.ctype.name in ("ptr", "desc"):
            raise DefinitionError(f"op.launch(...): {symbol!r} has no C type: write f32(...), i64(...) or another")
        if symbol.step == "arg" or symbol.kind in ("bytes", "number"):
            return "object", symbol
        how = {"int": "int", "bool": "int", "float": "float"}.get(symbol.kind)
        if how is None:
            raise DefinitionError(f"op.launch(...): {symbol!r} is a {symbol.kind}, which no C type stands for")
        return how, symbol

    def python(
        self, function: str | Callable[..., Any], *args: Any, device: str = "CPU", fake: Any = None, **kwargs: Any
    ) -> Any:
        """On a device a Python function, ``"module:function"``, is called with the arguments' values, not a kernel.

        What it returns are the operator's outputs, also where `returns` says how they are allocated on meta tensors.
        Where that is not known before, its result goes to `returns`, and ``fake`` is called on meta tensors instead.
        """
        _require_device(device)
        called = _function(function)
        kind = "several" if len(self._overload._schema.returns) > 1 else "tensor"
        operands = [None if a is None else self._of.lift(a) for a in (*args, *kwargs.values())]
        operands = [self._of.lift(None) if a is None else a for a in operands]
        what = called, tuple(kwargs)
        result = self._of.make(kind, "python", *operands, what=what, unique=True)
        self._of.note("python", device, result, None if fake is None else (_function(fake), tuple(kwargs)))
        return result

    def gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: ``function(grad, ...)``, with an argument an output, returns ``{argument: its gradient}``."""
        self._formula = function
        return function


class Definition:
    """An operator whose kernels and gradient are what a function says of symbols."""

    def __init__(self, library: Any, overload: OpOverload, function: Callable[..., None]) -> None:
        self.overload, self.ways = overload, []  # type: ignore[var-annotated]
        self._library, self._function = weakref.ref(library), function
        self._lock, self._running = threading.RLock(), False
        overload.set_pending(self.complete)

    @property
    def place(self) -> str:
        """Where the function stands."""
        code = getattr(self._function, "__code__", None)
        return "<unknown>" if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    # ---- tracing
    def complete(self) -> None:
        """Runs the function over symbols and registers what it says; once. Raises DefinitionError."""
        with self._lock:
            library = self._library()
            if self._running or self.ways or library is None:
                return
            self._running = True
            try:
                self.builder = OperatorBuilder(self.overload)
                self.ways = self._explained(lambda: self.builder._of.explore(self._run))
                self._register(library)
            except BaseException:
                self.ways = []
                raise
            finally:
                self._running = False
            self.overload.set_pending(None)

    def _run(self) -> Any:
        builder = self.builder
        builder._outputs, builder._formula = (), None
        values = []
        for argument, symbol in zip(self.overload._schema.arguments, builder._arguments, strict=True):
            absent = str(argument.type).endswith("?") and builder._of.decide(
                builder._of.make("bool", "is_none", symbol)
            )
            values.append(None if absent else symbol)
        self._function(builder, *values)
        failed = any(event[0] == "fail" for event in builder._of.trace.events)
        if not builder._outputs and self.overload._schema.returns and not failed:
            raise DefinitionError("op.returns(...) was not called")
        for event in builder._of.trace.events:
            if event[0] == "python" and event[3] is None and _is_returned(event[2], builder._outputs):
                raise DefinitionError(
                    "what op.python(...) returns is given to op.returns(...): say `fake=` too, or give op.returns(...) "
                    "what is allocated"
                )
        return builder._outputs, builder._formula

    def _explained(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except DefinitionError as error:
            raise DefinitionError(f"{self.overload.name()}, defined at {self.place}: {error}") from None

    def forget(self) -> None:
        """Takes apart what refers to one another, once the library is gone and nothing of it is registered any more."""
        self.overload.set_pending(None)
        if self.ways:
            self.builder._of.forget()
            vars(self.builder).clear()
            self.ways = []

    # ---- registering
    def devices(self) -> list[str]:
        """The devices that the definition names; none where it is composed of other operators."""
        events = [event for way in self.ways for event in way.events]
        return list(dict.fromkeys(event[1] for event in events if event[0] in ("launch", "python")))

    def _register(self, library: Any) -> None:
        differentiable = any(way.result[1] is not None for way in self.ways)
        devices = self.devices()
        composed = "CompositeExplicitAutograd" if differentiable else "CompositeImplicitAutograd"
        for key in (*devices, "Meta") if devices else (composed,):
            plan = Plan(self.overload, lambda key=key: self.program(key))  # type: ignore[misc]
            library.impl(self.overload, plan, key, source=self.place)
        if differentiable:
            gradient = Formulas(self).gradient()
            library.register_autograd(self.overload, gradient, setup_context=gradient.setup_context, source=self.place)

    def check(self) -> None:
        """Makes every program that calls can ask for. Raises what a first call would."""
        self.overload.complete()
        for key in (*self.devices(), "Meta"):
            self.program(key)
        Formulas(self).check()

    # ---- programs
    def program(self, key: str) -> Program:
        """What runs for calls at a dispatch key."""
        lowering = Lowering(self.overload, self.builder._arguments)
        fresh = sum(1 << number for number, way in enumerate(self.ways) if self._is_fresh(way, key))
        numbers = {id(way): number for number, way in enumerate(self.ways)}

        def do(low: Lowering, event: tuple[Any, ...]) -> None:
            if event[0] == "check":
                low.emit("check", [low.place("w", event[1]), event[2]])
            elif event[0] == "fail":
                low.emit("fail", [event[1]])
            elif event[0] == "do":
                low.place("o", event[1])
            elif event[0] == "launch" and event[1] == key:
                low.launch(*event[2:])
            elif event[0] == "python" and event[1] == key:
                low.place("o", event[2])

        def end(low: Lowering, way: Trace) -> None:
            low.finish(numbers[id(way)], self._outputs(low, way, key))

        def lower() -> Program:
            lowering.ways(self.ways, do, end)
            return lowering.program(lambda kind, at, inputs: self._explain(lowering, kind, at, inputs), fresh)

        program: Program = self._explained(lower)
        return program

    def _outputs(self, low: Lowering, way: Trace, key: str) -> list[Symbol]:
        """What a way returns at a key: what was declared, or what a Python function returned in its place."""
        outputs: Sequence[Symbol] = way.result[0]
        runs = [event for event in way.events if event[0] in ("launch", "python")]
        if runs and key != "Meta" and not any(event[1] == key for event in runs):
            where = f" where {way}" if way.known else ""
            low.emit("fail", [self.builder._failure(NotImplementedError, f"it has no kernel for {key}{where}")])
        for event in runs:
            if event[0] == "python" and (event[1] == key or key == "Meta"):
                replaced = self._returned(event, outputs, key)
                if replaced is not None:
                    return replaced
        return list(outputs)

    def _returned(self, event: tuple[Any, ...], outputs: Sequence[Symbol], key: str) -> list[Symbol] | None:
        """The outputs that a Python function gave; None where they are those that were declared."""
        _, _, result, fake = event
        if key == "Meta":
            if not _is_returned(result, outputs):
                return None
            result = self.builder._of.make(result.kind, "python", *result.args, what=fake, unique=True)
        count = len(self.overload._schema.returns)
        return [result] if count == 1 else [result[i] for i in range(count)]

    def _is_fresh(self, way: Trace, key: str) -> bool:
        """Whether what a way returns is memory that it allocated itself, an output each."""
        outputs = way.result[0]
        if any(event[0] == "python" and event[1] == key for event in way.events):
            return False
        made = all(output.step in ("like", "like_as", "empty", "broadcast_like") for output in outputs)
        return made and len(set(outputs)) == len(outputs)

    # ---- errors
    def _explain(self, lowering: Lowering, kind: str, at: int, inputs: tuple[Any, ...]) -> Any:
        """What a program asks for: an argument's text, or the error of a check or of a way that leads nowhere."""
        if kind == "operand":
            value = lowering.labels[at]
            return text_of(value.args[0] if isinstance(value, Symbol) and value.step == "contiguous" else value)
        if kind == "fail":
            error, message = self.builder._failures[at]
            return error(f"{self.overload.name()}: {message}")
        condition = self.builder._checks[at]
        values = {text_of(name): self.value_of(name, inputs) for name in names_of(condition)}
        return check_error(self.overload.name(), text_of(condition), values)

    def value_of(self, symbol: Symbol, inputs: tuple[Any, ...]) -> Any:
        """What a symbol is in a call with these arguments."""
        lowering = Lowering(self.overload, self.builder._arguments)
        lowering.finish(0, [symbol])
        return lowering.program(lambda kind, at, given: RuntimeError(kind))(*inputs)[1][0]


def _require_device(device: str) -> None:
    if device not in _DEVICES:
        raise DefinitionError(f"{device!r} is no device that kernels run on; expected one of {', '.join(_DEVICES)}")


def _is_returned(result: Symbol, outputs: Sequence[Symbol]) -> bool:
    """Whether what a Python function returns was given to `returns`, as it is or in parts."""
    return any(output is result or any(operand is result for operand in output.args) for output in outputs)


def _function(reference: str | Callable[..., Any]) -> Callable[..., Any]:
    return python_function(reference) if isinstance(reference, str) else reference
