"""An operator's definition: what the function said of it, and what is registered for it.

Nothing runs at import: the function runs when the operator is first called or looked at, once for each way through it.
A device's program is made at the first call there, a gradient's at its first use.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opschema import definitions as language
from opschema.definitions import Argument, Signature, Symbol, Trace, device_of, tangents, text_of

from ... import _core
from ..._core import OpOverload, Plan, Program
from ..._hooks import hooks
from ...errors import CheckError, RegistrationError
from .._references import without_frame
from .._tangents import tangent
from ._by_hand import Backward, not_differentiable
from ._calls import Calls
from ._gradient import Formulas
from ._listed import listed_gradient
from ._lowering import Lowering
from ._policies import autocast_kernel, called, fallback_kernel, warning

__all__ = ["Definition", "DefinitionError"]


class DefinitionError(RegistrationError, language.DefinitionError):
    """A definition says what no program can do; what to do instead is in the message."""


class Definition(language.Definition):
    """An operator whose kernels and gradient are what a function says of symbols."""

    error = DefinitionError
    check_error = CheckError

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
        graph_hooks: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(function)
        self.deprecated, self.fallback = deprecated, fallback
        for device, policy in (autocast or {}).items():
            key, kernel = autocast_kernel(overload, device, policy)
            library.impl(overload, kernel, key, source=self.place)
        names = tuple(graph_update)
        if names or graph_hooks:
            library.register_graph(overload, update=names, source=self.place, **graph_hooks or {})
        self.overload = overload
        self._library = weakref.ref(library)
        self._kernels: dict[Any, Any] = {}
        self._lock, self._running = threading.RLock(), False
        overload.set_pending(self.complete)

    # ---- tracing
    def complete(self) -> None:
        """Runs the function over symbols and registers what it says; once. Raises DefinitionError."""
        with self._lock:
            library = self._library()
            if self._running or self.ways or library is None:
                return
            self._running = True
            try:
                self.explore(_signature(self.overload), Calls(self.overload))
                self._register(library)
            except BaseException:
                self.ways = []
                raise
            finally:
                self._running = False
            self.overload.set_pending(None)

    def run(self) -> Any:
        """On each way a deprecated operator warns first."""
        if self.deprecated:
            of, warn = self.builder.of, warning(self.signature.name, self.deprecated)
            of.note("do", of.make("object", "python", what=(warn, ()), unique=True))
        return super().run()

    def forget(self) -> None:
        """Takes apart what refers to one another, once the library is gone and nothing of it is registered any more."""
        self.overload.set_pending(None)
        if self.ways:
            self.builder.of.forget()
            vars(self.builder).clear()
            self.ways = []

    # ---- registering
    def _register(self, library: Any) -> None:
        builder = self.builder
        self.overload.declare_devices(self.device_names())
        for key in self.keys():
            function = self.only_function(key)
            if function is not None and key == "Meta":
                library.register_fake(self.overload, function, source=self.place)
                continue
            plan = Plan(self.overload, lambda key=key: self.program(key))  # type: ignore[misc]
            kernel = plan if function is None else without_frame(function)
            library.impl(self.overload, kernel, key, source=self.place)
        if self.fallback:
            _with_fallback.add(self)
            for key in _core.backend_keys():
                self.fall_back_at(key, library)
        names = [ret.name or "" for ret in self.overload._schema.returns]
        operator = self.overload
        rule = self.explained(lambda: tangents(builder, names, tangent, lambda *values: called(operator, values)))
        if rule is not None:
            library.register_jvp(self.overload, rule, source=self.place)
        by_hand = self._by_hand()
        if any(way.result[1] is not None for way in self.ways):
            made = Formulas(self)
            if made.has_lists:
                by_hand = listed_gradient(made)
            else:
                core = made.gradient()
                library.register_autograd(self.overload, core, setup_context=core.setup_context, source=self.place)
        if by_hand is not None:
            setup = by_hand.setup_context
            library.register_autograd(self.overload, by_hand.function, setup_context=setup, source=self.place)

    def fall_back_at(self, key: str, library: Any) -> None:
        """Registers what the definition says of devices without a kernel, at a backend's key where there is none."""
        if self.fallback is None or key in ("CPU", "Meta", *self.devices()):
            return
        there = [device for device in self.devices() if device != "any" and device != "Meta"]
        library.impl(self.overload, fallback_kernel(self.overload, self.fallback, there), key, source=self.place)

    def _by_hand(self) -> Backward | None:
        """The gradient that no formula says; None where there is none."""
        if self.builder.marker == "not_implemented":
            return Backward(None, None)
        if self.builder.marker == "not_differentiable":
            return not_differentiable(self.overload._schema)
        return None if self.builder.by_hand is None else Backward(*self.builder.by_hand)

    def check(self) -> None:
        """Makes every program that calls can ask for. Raises what a first call would."""
        self.overload.complete()
        for key in self.keys():
            self.program(key)
        Formulas(self).check()

    # ---- programs
    def program(self, key: str) -> Program:
        """What runs for calls at a dispatch key."""
        lowering, device = Lowering(self.overload, self.builder.arguments), device_of(key)
        fresh = sum(1 << number for number, way in enumerate(self.ways) if self.is_fresh(way, key))
        numbers = {id(way): number for number, way in enumerate(self.ways)}

        def do(low: Lowering, event: tuple[Any, ...]) -> None:
            if event[0] == "check":
                low.emit("check", [low.place("w", event[1]), event[2]])
            elif event[0] == "fail":
                low.emit("fail", [event[1]])
            elif event[0] == "do":
                low.place("o", event[1])
            elif event[0] == "launch" and event[1] == device:
                _, _, kernel, form, operands, blocks = event
                low.launch(self._bound(kernel, form), operands, blocks)
            elif event[0] == "compute" and event[1] == device:
                for change in event[3]:
                    low.place("o", change)
            elif event[0] == "python" and event[1] == device:
                low.place("o", event[2])

        def end(low: Lowering, way: Trace) -> None:
            outputs = self.returned(way, key)
            if outputs is None:
                low.emit("fail", [self.no_kernel(way, key)])
            low.finish(numbers[id(way)], outputs or ())

        def lower() -> Program:
            lowering.ways(self.ways, do, end)
            return lowering.program(lambda kind, at, inputs: self._explain(lowering, kind, at, inputs), fresh)

        program: Program = self.explained(lower)
        return program

    def _bound(self, kernel: Any, form: tuple[Any, ...]) -> Any:
        """A launcher's kernel with its C types; one for all ways that launch it alike."""
        called, types, allowed = form
        key = (*kernel, *form)
        if key not in self._kernels:
            ctypes = [_core.c_types[name] for name in types]
            self._kernels[key] = kernel[0].bind(kernel[1], ctypes, abi=called, dtypes=allowed)
        return self._kernels[key]

    # ---- errors
    def _explain(self, lowering: Lowering, kind: str, at: int, inputs: tuple[Any, ...]) -> Any:
        """What a program asks for: an argument's text, or the error of a check or of a way that leads nowhere."""
        if kind == "operand":
            value = lowering.labels[at]
            return text_of(value.args[0] if isinstance(value, Symbol) and value.step == "contiguous" else value)
        if kind == "fail":
            return self.failure(at, lambda symbol: self.value_of(symbol, inputs))
        worded = self.builder.checks[at][1] is not None and self.signature.name.startswith("aten::")
        shown = _in_pytorchs_words if worded else _as_it_is
        return self.failed_check(at, lambda symbol: shown(self.value_of(symbol, inputs)))

    def value_of(self, symbol: Symbol, inputs: Sequence[Any]) -> Any:
        """What a symbol is in a call with these arguments."""
        lowering = Lowering(self.overload, self.builder.arguments)
        lowering.finish(0, [symbol])
        return lowering.program(lambda kind, at, given: RuntimeError(kind))(*inputs)[1][0]


def _as_it_is(value: Any) -> Any:
    return value


def _in_pytorchs_words(value: Any) -> Any:
    """A value in a message of PyTorch's, where float32 is ``Float``."""
    return _core.scalar_types.get(value.name, value) if isinstance(value, _core.dtype) else value


_with_fallback: weakref.WeakSet[Definition] = weakref.WeakSet()  # of those that are completed


def _fall_back_at(key: str) -> None:
    for definition in list(_with_fallback):
        library = definition._library()
        if library is not None:
            definition.fall_back_at(key, library)


hooks.fill(key_added=_fall_back_at)


def _signature(overload: OpOverload) -> Signature:
    schema = overload._schema
    arguments = tuple(Argument(a.name, str(a.type), a.kwarg_only, a.is_write) for a in schema.arguments)
    return Signature(overload.name(), arguments, tuple(str(ret.type) for ret in schema.returns))
