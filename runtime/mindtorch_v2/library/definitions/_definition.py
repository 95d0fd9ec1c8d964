"""An operator's definition: what the function said of it, and what is registered for it.

Nothing runs at import: the function runs when the operator is first called or looked at, once for each way through it.
A device's program is made at the first call there, a gradient's at its first use.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from opschema.conditions import expectation, names_of, otherwise, text_of

from ... import _core
from ..._core import OpOverload, Plan, Program
from ...errors import CheckError, check_error
from .._references import python_function
from ._by_hand import Backward, not_differentiable, tangents
from ._gradient import Formulas
from ._helpers import Allocated, Typed
from ._listed import listed_gradient
from ._lowering import Lowering
from ._no_kernel import Message, no_kernel
from ._policies import autocast_kernel, fallback_kernel, warning
from ._symbols import DefinitionError, Several, Symbol, TensorSymbol
from ._tracer import Trace, Tracer
from ._variants import variant_kernel

if TYPE_CHECKING:
    from ...npu import KernelLauncher

__all__ = ["Definition", "OperatorBuilder"]

_DEVICES = ("CPU", "NPU", "CUDA", "MPS")
_ALLOCATED = ("like", "like_as", "empty", "broadcast_like")
_RUNS = ("launch", "python", "compute")
_COMPOSED = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")  # the keys of what runs on any device
_KINDS = {
    "Tensor": "tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "Scalar": "number",
    "str": "str", "ScalarType": "dtype", "Device": "device",
}  # fmt: skip
_LISTS = {
    "int": "shape", "SymInt": "shape", "Tensor": "tensors", "Tensor?": "tensors", "float": "floats", "bool": "bools",
    "Scalar": "numbers", "str": "strs",
}  # fmt: skip


class OperatorBuilder:
    """What a definition's function gets first: its methods say what the operator requires, returns, runs and saves."""

    def __init__(self, overload: OpOverload) -> None:
        self._overload, self._of = overload, Tracer()
        self._arguments = [self._argument(a) for a in overload._schema.arguments]
        self._checks: list[tuple[Symbol, str | None, type[Exception]]] = []
        self._failures: list[tuple[type[Exception], Message]] = []
        self._kernels: dict[Any, Any] = {}
        self._backward: Backward | None = None
        self._tangents: Callable[..., Any] | None = None
        self._differentiable: tuple[bool, ...] = ()  # of the outputs
        self._outputs: tuple[Symbol, ...] = ()
        self._formula: Callable[..., Any] | None = None

    def _argument(self, argument: Any) -> Symbol:
        text = str(argument.type).removesuffix("?")
        element, bracket, _ = text.partition("[")
        kind = _LISTS.get(element, "object") if bracket else _KINDS.get(text, "object")
        symbol: Symbol = self._of.make(kind, "arg", what=(argument.name, text))
        return symbol

    def check(self, *conditions: Any, message: str | None = None, error: type[Exception] = CheckError) -> None:
        """Each must hold in every call; where one does not, the call raises, by default `CheckError`.

        The error names the operator, the condition and the values in it, or says ``message``, in which symbols stand
        for their values: ``f"expected a matrix, got {x.dim()} dimensions"``.
        """
        for condition in conditions:
            if isinstance(condition, Symbol):
                self._of.note("check", condition, self._number(condition, message, error))
            elif not condition:  # false on this way: what led here is the message
                name = self._overload.name()
                words = f"{name}: expected {otherwise(self._of.trace.known)}" if message is None else message
                self._of.note("fail", self._failure(error, partial(self._of.worded, words)))

    def _number(self, condition: Symbol, message: str | None, error: type[Exception]) -> int:
        """Of a check: those that are alike have one."""
        for number, (known, words, kind) in enumerate(self._checks):
            if known is condition and words == message and kind is error:
                return number
        self._checks.append((condition, message, error))
        return len(self._checks) - 1

    def _failure(self, kind: type[Exception], message: Message) -> int:
        self._failures.append((kind, message))
        return len(self._failures) - 1

    def returns(self, *outputs: Any) -> Any:
        """The outputs: allocated (`like`, `empty`, `broadcast`), computed by operators, or arguments it writes to.

        Without arguments they are what Python functions return, which is known to gradients alone.
        """
        expected = len(self._overload._schema.returns)
        if not outputs:
            outputs = tuple(self._unknown_output(i) for i in range(expected))
        if len(outputs) == 1 and isinstance(outputs[0], Several):
            outputs = tuple(outputs[0][i] for i in range(expected))
        if len(outputs) != expected:
            raise DefinitionError(f"op.returns(...): the schema declares {expected} outputs, got {len(outputs)}")
        self._outputs = self._declared(outputs)
        return self._outputs[0] if len(outputs) == 1 else self._outputs

    def _unknown_output(self, number: int) -> Any:
        """What a Python function will return."""
        text = str(self._overload._schema.returns[number].type)
        return self._of.make(_KINDS.get(text, "object"), "output", what=(f"output {number}", text))

    def _declared(self, outputs: Sequence[Any]) -> tuple[Symbol, ...]:
        """The outputs as symbols, by the schema's types."""
        types = [str(ret.type) for ret in self._overload._schema.returns]
        types += ["Tensor"] * (len(outputs) - len(types))
        return tuple(self._output(o, text) for o, text in zip(outputs, types, strict=True))

    def _output(self, output: Any, text: str) -> Symbol:
        if isinstance(output, Allocated):
            return output.tensor(self._of)
        if isinstance(output, (list, tuple)):
            listed: Symbol = self._of.together([self._output(item, "Tensor") for item in output])
            return listed
        if text != "Tensor" and (output is None or isinstance(output, (bool, int, float, str))):
            constant: Symbol = self._of.lift(output)
            return constant
        if not isinstance(output, Symbol):
            expected = "like(...), empty(...), broadcast(...) or a tensor"
            raise DefinitionError(f"op.returns(...): expected {expected}, got {output!r}")
        return output

    def launch(
        self, device: str | Sequence[str], kernel: tuple[KernelLauncher, str], *args: Any, block_dim: Any = None,
        dtypes: Sequence[Any] | None = None, abi: str | None = None,
    ) -> None:  # fmt: skip
        """On a device ("CPU", "NPU"), or several, a compiled kernel runs.

        ``kernel`` is ``launcher["symbol"]``; ``args`` are tensors, None, numbers with C types (``f32(scale)``) and
        structs. ``block_dim`` is that of an AscendC kernel, 1 by default. ``dtypes`` are those that the kernel is
        compiled for: the operator's tensor arguments must be of one of them. ``abi`` is "ascendc" on an NPU and "c"
        elsewhere, unless it is given.
        """
        typed = [a if isinstance(a, Typed) else Typed(_core.c_types["ptr"], a) for a in args]
        operands = [self._operand(a) for a in typed]
        allowed = None
        if dtypes is not None:
            allowed = tuple(tuple(dtypes) if self._is_given(value) else None for _, value in operands)
        for name in (device,) if isinstance(device, str) else device:
            _require_device(name)
            called = abi or ("ascendc" if name == "NPU" else "c")
            key = called, *kernel, tuple(a.ctype.name for a in typed), allowed
            if key not in self._kernels:
                self._kernels[key] = kernel[0].bind(kernel[1], [a.ctype for a in typed], abi=called, dtypes=allowed)
            blocks = 1 if called == "ascendc" and block_dim is None else block_dim
            lifted = None if blocks is None else self._of.lift(blocks)
            self._of.note("launch", name, self._kernels[key], operands, lifted)

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
        if symbol.kind == "stream" and argument.ctype.name == "ptr":
            return "object", symbol
        if argument.ctype.name in ("ptr", "desc"):
            raise DefinitionError(f"op.launch(...): {symbol!r} has no C type: write f32(...), i64(...) or another")
        if symbol.step == "arg" or symbol.kind in ("bytes", "number") or isinstance(symbol.what, bytes):
            return "object", symbol
        how = {"int": "int", "bool": "int", "float": "float"}.get(symbol.kind)
        if how is None:
            raise DefinitionError(f"op.launch(...): {symbol!r} is a {symbol.kind}, which no C type stands for")
        return how, symbol

    def python(
        self,
        function: str | Callable[..., Any],
        *args: Any,
        device: str | Sequence[str] = "CPU",
        fake: Any = None,
        **kwargs: Any,
    ) -> Any:
        """On a device a Python function, ``"module:function"``, is called with the arguments' values, not a kernel.

        Without arguments it gets all of the operator's, as declared. ``device`` may be several, "Meta" among them, or
        "any": all that nothing else is said of. What the function returns are the operator's outputs, also where
        `returns` says how they are allocated on meta tensors. Where that is not known before, its result goes to
        `returns`, and ``fake`` is called on meta tensors instead.
        """
        devices = (device,) if isinstance(device, str) else tuple(device)
        for name in devices:
            _require_device(name, "any", "Meta")
        called = _function(function)
        whole = not args and not kwargs
        if whole:
            pairs = list(zip(self._overload._schema.arguments, self._arguments, strict=True))
            args = tuple(symbol for argument, symbol in pairs if not argument.kwarg_only)
            kwargs = {argument.name: symbol for argument, symbol in pairs if argument.kwarg_only}
        kind = "several" if len(self._overload._schema.returns) > 1 else "tensor"
        operands = [self._of.lift(a) for a in (*args, *kwargs.values())]
        result = self._of.make(kind, "python", *operands, what=(called, tuple(kwargs)), unique=True)
        for name in devices:
            replaced = None if fake is None else (_function(fake), tuple(kwargs))
            self._of.note("python", name, result, replaced, called if whole else None)
        return result

    def compute(self, *outputs: Any, device: str | Sequence[str] = "any") -> None:
        """On a device the outputs are computed by operators, in place of a kernel."""
        computed = self._declared(outputs)
        changes = self._of.take_back(computed)
        for name in (device,) if isinstance(device, str) else device:
            _require_device(name, "any", "Meta")
            self._of.note("compute", name, computed, changes)

    def mindspore(self, device: str | Sequence[str], primitive: str, /, *args: Any, **attributes: Any) -> None:
        """On a device a primitive of MindSpore, with some attributes, returns the outputs."""
        from .._functions import mindspore_kernel  # imported here: it defines operators by this module

        count = len(args)

        def run(*values: Any) -> Any:
            return mindspore_kernel(primitive, **dict(zip(attributes, values[count:], strict=True)))(*values[:count])

        self.python(run, *args, *attributes.values(), device=device)

    def variant_of(self, base: OpOverload) -> None:
        """The operator is another one in place, into given outputs, or writing nothing."""
        self.python(variant_kernel(self._overload, base), device="any")

    def gradient(
        self, function: Callable[..., Any] | None = None, *, differentiable: Sequence[bool] = ()
    ) -> Callable[..., Any]:
        """Decorator: ``function(grad, ...)``, with an argument an output, returns ``{argument: its gradient}``.

        ``differentiable`` says of each output whether it has a gradient; none given: all have.
        """
        self._differentiable = tuple(differentiable)
        if function is None:
            return self._keep_formula
        return self._keep_formula(function)

    def _keep_formula(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self._formula = function
        return function

    def backward(self, function: str | Callable[..., Any], setup_context: Any = None) -> None:
        """The gradient is written by hand: ``function(ctx, *grads)``, after ``setup_context(ctx, inputs, output)``.

        Each is a function or ``"module:function"``; they are what `Library.register_autograd` gets.
        """
        self._backward = Backward(_function(function), None if setup_context is None else _function(setup_context))

    def jvp(self, function: str | Callable[..., Any]) -> Any:
        """Decorator: a function of values returns the tangents of the outputs.

        It takes by name what it reads: arguments, the tangent ``x_t`` of an argument ``x``, outputs (``out``, ``out0``,
        or by the schema's names), and ``linear``, what the operator itself makes of the tangents.
        ``"module:function"`` is what `Library.register_jvp` gets.
        """
        self._tangents = _function(function) if isinstance(function, str) else tangents(self._overload, function)
        return function

    def not_differentiable(self) -> None:
        """No gradient flows through the operator: its outputs do not require one."""
        self._backward = not_differentiable(self._overload._schema)

    def not_implemented(self) -> None:
        """The operator has a gradient that nobody has written: backward through it raises NotImplementedError."""
        self._backward = Backward(None, None)


class Definition:
    """An operator whose kernels and gradient are what a function says of symbols."""

    def __init__(
        self,
        library: Any,
        overload: OpOverload,
        function: Callable[..., None],
        *,
        deprecated: str | None = None,
        fallback: str | None = None,
        autocast: Mapping[str, str] | None = None,
        graph_update: Iterable[str] = (),
    ) -> None:
        self.deprecated, self.fallback = deprecated, fallback
        for device, policy in (autocast or {}).items():
            key, kernel = autocast_kernel(overload, device, policy)
            library.impl(overload, kernel, key, source=self._place_of(function))
        if names := tuple(graph_update):
            library.register_graph(overload, update=names, source=self._place_of(function))
        self.overload, self.ways = overload, []  # type: ignore[var-annotated]
        self._library, self._function = weakref.ref(library), function
        self._lock, self._running = threading.RLock(), False
        overload.set_pending(self.complete)

    @property
    def place(self) -> str:
        """Where the function stands."""
        return self._place_of(self._function)

    @staticmethod
    def _place_of(function: Callable[..., Any]) -> str:
        code = getattr(function, "__code__", None)
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
        if self.deprecated:
            warn = warning(self.overload.name(), self.deprecated)
            builder._of.note("do", builder._of.make("object", "python", what=(warn, ()), unique=True))
        values = []
        for at in self._wanted():
            argument, symbol = self.overload._schema.arguments[at], builder._arguments[at]
            absent = str(argument.type).endswith("?") and builder._of.decide(
                builder._of.make("bool", "is_none", symbol)
            )
            values.append(None if absent else symbol)
        self._function(builder, *values)
        failed = any(event[0] == "fail" for event in builder._of.trace.events)
        if not builder._outputs and self.overload._schema.returns and not failed:
            if not any(event[0] in _RUNS for event in builder._of.trace.events):
                raise DefinitionError("op.returns(...) was not called")
            builder.returns()
        for event in builder._of.trace.events:
            if event[0] == "python" and event[3] is None and _is_returned(event[2], builder._outputs):
                raise DefinitionError(
                    "what op.python(...) returns is given to op.returns(...): say `fake=` too, or give op.returns(...) "
                    "what is allocated"
                )
        return builder._outputs, builder._formula

    def _wanted(self) -> list[int]:
        """The arguments that the function takes: all in order, or some by name, those that it reads."""
        arguments = [argument.name for argument in self.overload._schema.arguments]
        code = getattr(self._function, "__code__", None)
        taken = () if code is None else code.co_varnames[1 : code.co_argcount]
        if code is None or code.co_flags & inspect.CO_VARARGS or len(taken) == len(arguments):
            return list(range(len(arguments)))
        spelled = {f"{n}_": at for at, n in enumerate(arguments)} | {name: at for at, name in enumerate(arguments)}
        for name in taken:
            if name not in spelled:
                raise DefinitionError(f"it takes {name!r}, which is no argument of the operator")
        return [spelled[name] for name in taken]

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
        return list(dict.fromkeys(event[1] for event in events if event[0] in _RUNS))

    def _register(self, library: Any) -> None:
        by_hand = self.builder._backward
        formulas = any(way.result[1] is not None for way in self.ways)
        for key in self._keys():
            function = self._only_function(key)
            if function is not None and key == "Meta":
                library.register_fake(self.overload, function, source=self.place)
                continue
            plan = Plan(self.overload, lambda key=key: self.program(key))  # type: ignore[misc]
            library.impl(self.overload, function or plan, key, source=self.place)
        if self.fallback:
            there = [device for device in self.devices() if device in _DEVICES]
            kernel = fallback_kernel(self.overload, self.fallback, there)
            for key in ("NPU", "CUDA", "MPS"):
                if key not in self.devices():
                    library.impl(self.overload, kernel, key, source=self.place)
        if self.builder._tangents is not None:
            library.register_jvp(self.overload, self.builder._tangents, source=self.place)
        if formulas:
            made = Formulas(self)
            marked = not all(self.builder._differentiable)
            if made.has_lists or marked:
                by_hand = listed_gradient(made)
            else:
                core = made.gradient()
                library.register_autograd(self.overload, core, setup_context=core.setup_context, source=self.place)
        if by_hand is not None:
            setup = by_hand.setup_context
            library.register_autograd(self.overload, by_hand.function, setup_context=setup, source=self.place)

    def _keys(self) -> list[str]:
        """The dispatch keys that programs are registered for."""
        devices = self.devices()
        differentiable = self.builder._backward is not None or any(way.result[1] is not None for way in self.ways)
        composed = _COMPOSED[0] if differentiable else _COMPOSED[1]
        if not devices:
            runs = any(way.result[0] or way.events for way in self.ways)
            return [composed] if runs or not self.overload._schema.returns else []
        named = [device for device in devices if device not in ("any", "Meta")]
        meta = ["Meta"] if "Meta" in devices or self._allocates() else []
        return [*named, *meta, *([composed] if "any" in devices else [])]

    def _allocates(self) -> bool:
        """Whether what a call returns is known without running a kernel."""
        events = [event for way in self.ways for event in way.events]
        faked = any(event[0] == "python" and event[3] is not None for event in events)
        return faked or all(s.step != "output" for way in self.ways for s in way.result[0])

    def _only_function(self, key: str) -> Callable[..., Any] | None:
        """The Python function that is all of what runs at a key, with the call's own arguments."""
        device = _device_of(key)
        if len(self.ways) != 1:
            return None
        events = [e for e in self.ways[0].events if e[0] not in _RUNS or e[1] == device]
        if len(events) != 1 or events[0][0] != "python":
            return None
        function: Callable[..., Any] | None = events[0][4]
        return function

    def check(self) -> None:
        """Makes every program that calls can ask for. Raises what a first call would."""
        self.overload.complete()
        for key in self._keys():
            self.program(key)
        Formulas(self).check()

    # ---- programs
    def program(self, key: str) -> Program:
        """What runs for calls at a dispatch key."""
        lowering, device = Lowering(self.overload, self.builder._arguments), _device_of(key)
        fresh = sum(1 << number for number, way in enumerate(self.ways) if self._is_fresh(way, key))
        numbers = {id(way): number for number, way in enumerate(self.ways)}

        def do(low: Lowering, event: tuple[Any, ...]) -> None:
            if event[0] == "check":
                low.emit("check", [low.place("w", event[1]), event[2]])
            elif event[0] == "fail":
                low.emit("fail", [event[1]])
            elif event[0] == "do":
                low.place("o", event[1])
            elif event[0] == "launch" and event[1] == device:
                low.launch(*event[2:])
            elif event[0] == "compute" and event[1] == device:
                for change in event[3]:
                    low.place("o", change)
            elif event[0] == "python" and event[1] == device:
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
        device = _device_of(key)
        runs = [event for event in way.events if event[0] in _RUNS]
        if key != "Meta" and self.devices() and not _runs_on(way, device):
            taken = [way for way in self.ways if _runs_on(way, device)]
            message = no_kernel(self.overload.name(), device, way, taken, self.ways)
            low.emit("fail", [self.builder._failure(NotImplementedError, message)])
            return []
        for event in runs:
            if event[0] == "compute" and event[1] == device:
                return list(event[2])
            if event[0] == "python" and (event[1] == device or (key == "Meta" and event[3] is not None)):
                replaced = self._returned(event, outputs, key)
                if replaced is not None:
                    return replaced
        return list(outputs)

    def _returned(self, event: tuple[Any, ...], outputs: Sequence[Symbol], key: str) -> list[Symbol] | None:
        """The outputs that a Python function gave; None where they are those that were declared."""
        _, device, result, fake, _ = event
        if key == "Meta" and device != "Meta":
            if not _is_returned(result, outputs):
                return None
            result = self.builder._of.make(result.kind, "python", *result.args, what=fake, unique=True)
        count = len(self.overload._schema.returns)
        return [result] if count == 1 else [result[i] for i in range(count)]

    def _is_fresh(self, way: Trace, key: str) -> bool:
        """Whether what a way returns is memory that it allocated itself, an output each."""
        outputs = way.result[0]
        if any(event[0] in ("python", "compute") and event[1] == _device_of(key) for event in way.events):
            return False
        made = all(output.step in _ALLOCATED for output in outputs)
        return made and len(set(outputs)) == len(outputs)

    # ---- errors
    def _explain(self, lowering: Lowering, kind: str, at: int, inputs: tuple[Any, ...]) -> Any:
        """What a program asks for: an argument's text, or the error of a check or of a way that leads nowhere."""

        def value_of(symbol: Symbol) -> Any:
            return self.value_of(symbol, inputs)

        if kind == "operand":
            value = lowering.labels[at]
            return text_of(value.args[0] if isinstance(value, Symbol) and value.step == "contiguous" else value)
        if kind == "fail":
            error, message = self.builder._failures[at]
            return error(message(value_of))
        condition, words, error = self.builder._checks[at]
        if words is not None:
            return error(self.builder._of.worded(words, value_of))
        values = {text: value_of(symbol) for text, symbol in names_of(condition, value_of)}
        return check_error(self.overload.name(), expectation(condition), values, error)

    def value_of(self, symbol: Symbol, inputs: tuple[Any, ...]) -> Any:
        """What a symbol is in a call with these arguments."""
        lowering = Lowering(self.overload, self.builder._arguments)
        lowering.finish(0, [symbol])
        return lowering.program(lambda kind, at, given: RuntimeError(kind))(*inputs)[1][0]


def _require_device(device: str, *others: str) -> None:
    if device not in (*_DEVICES, *others):
        expected = ", ".join((*_DEVICES, *others))
        raise DefinitionError(f"{device!r} is no device that kernels run on; expected one of {expected}")


def _device_of(key: str) -> str:
    """What `launch` and `python` call the device of a dispatch key."""
    return "any" if key in _COMPOSED else key


def _runs_on(way: Trace, device: str) -> bool:
    """Whether something makes what a way returns on a device: what is said of it, or else operators alone."""
    devices = [event[1] for event in way.events if event[0] in _RUNS]
    writes = any(event[0] == "do" for event in way.events)
    given = any(output.step in (*_ALLOCATED, "arg", "output") for output in way.result[0])
    return device in devices or (not devices and (writes or not given))


def _is_returned(result: Symbol, outputs: Sequence[Symbol]) -> bool:
    """Whether what a Python function returns was given to `returns`, as it is or in parts."""
    return any(output is result or any(operand is result for operand in output.args) for output in outputs)


def _function(reference: str | Callable[..., Any]) -> Callable[..., Any]:
    return python_function(reference) if isinstance(reference, str) else reference
