"""Definitions: what the function of one says in a run, and what is made of that."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from ._conditions import expectation, names_of, otherwise
from ._helpers import Packed, Typed
from ._launcher import KernelLauncher, c_types
from ._runtime import DefinitionError, Runtime
from ._symbols import Symbol, TensorSymbol, Tracer, operands_of, value_of

__all__ = ["Argument", "Definition", "Geometry", "OperatorBuilder", "Signature", "warn_deprecated"]

_KINDS = {
    "Tensor": "tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "Scalar": "number",
    "str": "str", "ScalarType": "dtype", "Device": "device",
}  # fmt: skip
_OF_LISTS = {
    "int": "shape", "SymInt": "shape", "Tensor": "tensors", "Tensor?": "tensors", "float": "floats", "bool": "bools",
    "Scalar": "numbers", "str": "strs",
}  # fmt: skip
_ALLOCATED = ("like", "like_as", "empty", "broadcast_like")
_COMPOSED = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")  # the keys of what runs on any device
# What is known of a tensor without its values.
_GEOMETRY = ("shape_of", "dtype", "device", "ndim", "numel", "size", "on_device", "same_shape")


@dataclass(frozen=True)
class Argument:
    """An argument of a schema."""

    name: str
    type: str
    is_keyword: bool = False

    @property
    def is_optional(self) -> bool:
        """Whether it may be None."""
        return self.type.endswith("?")

    @functools.cached_property
    def kind(self) -> str:
        """What kind of symbol stands for it."""
        text = self.type.removesuffix("?")
        element, bracket, _ = text.rpartition("[")
        return _OF_LISTS.get(element, "object") if bracket else _KINDS.get(text, "object")


@dataclass(frozen=True)
class Signature:
    """An operator's schema: of each output its type, and the argument that it is, if it is one."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[tuple[str, str | None], ...]

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The values of a complete call in the schema's order."""
        given = iter(args)
        return [kwargs[a.name] if a.is_keyword else next(given) for a in self.arguments]


@dataclass(frozen=True)
class Geometry:
    """What is kept of a tensor whose values are not read."""

    shape: Any
    dtype: Any
    device: Any


class OperatorBuilder:
    """What a definition's function gets first, in one run of it. ``key`` is where the call runs, or empty.

    ``outputs`` are those of a call before, for its gradient.
    """

    def __init__(
        self, definition: Definition, of: Tracer, key: str = "", inputs: Sequence[Any] = (), outputs: Any = None
    ) -> None:
        self.definition, self.of, self.key, self.inputs, self.given = definition, of, key, inputs, outputs
        self.runs: list[tuple[str, tuple[str, ...], bool]] = []  # what, on which devices, and whether it has a fake
        self.outputs: tuple[Any, ...] = ()
        self.is_allocated = False  # whether the outputs are known without a kernel
        self.formula: Callable[..., Any] | None = None
        self.differentiable: tuple[bool, ...] = ()
        self.marker = ""
        self.by_hand: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None
        self._ran = False
        self._found: Any = None  # what ran returned, where it is not what was declared

    @property
    def signature(self) -> Signature:
        """The operator's."""
        return self.definition.signature

    # ---- what a definition says
    def check(self, *conditions: Any, message: str | None = None, error: type[Exception] = RuntimeError) -> None:
        """Each must hold in every call; where one does not, the call raises, with a sentence or ``message``."""
        if not self.key:
            return
        for condition in conditions:
            if not value_of(condition):
                raise error(self._failure(condition) if message is None else self.of.worded(message))

    def _failure(self, condition: Any) -> str:
        name = self.signature.name
        if not isinstance(condition, Symbol):
            return f"{name}: expected {otherwise(self.of.way.taken)}"
        return f"{name}: expected {expectation(condition)}{_got([condition])}"

    def returns(self, *outputs: Any) -> Any:
        """The outputs: allocated, computed by operators, or arguments it writes to; none where functions make them."""
        self.is_allocated = bool(outputs)
        self.outputs = self._declared(outputs) if outputs else tuple(self._output(i) for i in range(self._count))
        if not self.key:  # the gradient reads what the call returned
            pairs = enumerate(zip(self.outputs, self.signature.returns, strict=True))
            self.outputs = tuple(self._output(i) if alias is None else output for i, (output, (_, alias)) in pairs)
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs

    @property
    def _count(self) -> int:
        return len(self.signature.returns)

    def _declared(self, outputs: Sequence[Any]) -> tuple[Any, ...]:
        if len(outputs) == 1 < self._count and isinstance(outputs[0], TensorSymbol):
            outputs = [outputs[0][i] for i in range(self._count)]
        if len(outputs) != self._count:
            raise DefinitionError(f"op.returns(...): the schema declares {self._count} outputs, got {len(outputs)}")
        return tuple(outputs)

    def _output(self, number: int) -> Any:
        """An output that a call had before."""
        kind = Argument("", self.signature.returns[number][0]).kind
        known = {} if self.given is None else {"value": self.given[number]}
        return self.of.make(kind, "output", what=(f"output {number}", number), **known)

    def _runs_here(self, what: str, device: str | Sequence[str], *, has_fake: bool = False) -> bool:
        """Notes something that runs on devices; whether that is now, as the first that does."""
        devices = (device,) if isinstance(device, str) else tuple(device)
        self.runs.append((what, devices, has_fake))
        chosen = self.key in devices and (what == "launch" or not self._ran)
        self._ran = self._ran or chosen
        return chosen

    def launch(
        self,
        device: str | Sequence[str],
        kernel: tuple[KernelLauncher, str],
        *args: Any,
        block_dim: Any = None,
        dtypes: Sequence[Any] | None = None,
        abi: str | None = None,
    ) -> None:
        """On a device, or several, a compiled kernel runs."""
        if not self._runs_here("launch", device):
            return
        runtime = self.of.runtime
        called = abi or ("ascendc" if self.key == "NPU" else "c")
        blocks = value_of(block_dim) if block_dim is not None else 1 if called == "ascendc" else None
        typed = [a if isinstance(a, Typed) else Typed(c_types["ptr"], a) for a in args]
        arguments = [
            (a.ctype, a.value.packed(runtime) if isinstance(a.value, Packed) else value_of(a.value)) for a in typed
        ]
        allowed = [dtypes if dtypes is not None and _is_given(a.value) else None for a in typed]
        launcher, symbol = kernel
        launcher.launch(runtime, symbol, arguments, abi=called, blocks=blocks, dtypes=allowed)

    def python(
        self,
        function: str | Callable[..., Any],
        *args: Any,
        device: str | Sequence[str] = "CPU",
        fake: Any = None,
        **kwargs: Any,
    ) -> Any:
        """On a device a Python function is called, without arguments with all of the operator's."""
        chosen = self._runs_here("python", device, has_fake=fake is not None)
        called = _function(fake if self.key == "Meta" and not chosen and fake is not None else function)
        if not args and not kwargs:
            pairs = list(zip(self.signature.arguments, self.inputs, strict=False))
            args = tuple(value for argument, value in pairs if not argument.is_keyword)
            kwargs = {argument.name: value for argument, value in pairs if argument.is_keyword}
        operands = operands_of((args, tuple(kwargs.values())))
        result = self.of.make("tensor", "call", *operands, what=(called, args, kwargs), unique=True)
        if chosen:
            self._found = result
        return result

    def compute(self, *outputs: Any, device: str | Sequence[str] = "any") -> None:
        """On a device the outputs are computed by operators, in place of a kernel."""
        if self._runs_here("compute", device):
            self.of.write()
            self._found = [value_of(output) for output in self._declared(outputs)]
        self.of.writes.clear()  # of another device

    def mindspore(self, device: str | Sequence[str], primitive: str, /, *args: Any, **attributes: Any) -> None:
        """On a device a primitive of MindSpore, with some attributes, returns the outputs."""
        runtime, names = self.of.runtime, tuple(attributes)

        def run(*values: Any) -> Any:
            return runtime.primitive(primitive, dict(zip(names, values[len(args) :], strict=True)))(
                *values[: len(args)]
            )

        self.python(run, *args, *attributes.values(), device=device)

    def variant_of(self, base: Any) -> None:
        """The operator is another one in place, into given outputs, or writing nothing."""
        self.python(self.of.runtime.variant(self.signature.name, base), device="any")

    def gradient(
        self, function: Callable[..., Any] | None = None, *, differentiable: Sequence[bool] = ()
    ) -> Callable[..., Any]:
        """Decorator: ``function(grad, ...)``, with an argument an output, returns ``{argument: its gradient}``."""
        self.differentiable = tuple(differentiable)
        if function is None:
            return self.gradient_of
        return self.gradient_of(function)

    def gradient_of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Keeps the function of a gradient."""
        self.formula = function
        return function

    def backward(self, function: str | Callable[..., Any], setup_context: Any = None) -> None:
        """The gradient is written by hand: ``function(ctx, *grads)``, after ``setup_context(ctx, inputs, output)``."""
        self.by_hand = _function(function), None if setup_context is None else _function(setup_context)

    def not_differentiable(self) -> None:
        """No gradient flows through the operator: its outputs do not require one."""
        self.marker = "not_differentiable"

    def not_implemented(self) -> None:
        """The operator has a gradient that nobody has written: backward through it raises."""
        self.marker = "not_implemented"

    # ---- what came of it
    def result(self) -> Any:
        """What the call returns."""
        if self.key != "Meta" and not self._ran and self.definition.devices() and not self._is_composed():
            raise NotImplementedError(self._no_kernel())
        self.of.write()
        if isinstance(self._found, list):
            values = self._found
        elif self._found is not None:
            return value_of(self._found)
        else:
            values = [value_of(output) for output in self.outputs]
        return None if not values else values[0] if len(values) == 1 else tuple(values)

    def _is_composed(self) -> bool:
        """Whether operators alone make what is returned on this way."""
        given = [o for o in self.outputs if isinstance(o, Symbol) and o.step in (*_ALLOCATED, "arg", "output")]
        return not self.runs and (bool(self.of.writes) or not given)

    def _no_kernel(self) -> str:
        """What the error says where nothing runs on the way that the call took: what would have led elsewhere."""
        place = "any device" if self.key == "any" else self.key
        refused = [condition for condition, holds in self.of.way.taken.items() if not holds]
        if not refused:
            return f"{self.signature.name}: it has no kernel for {place}" + (
                f" where {self.of.way}" if self.of.way.taken else ""
            )
        wanted = "; or ".join(dict.fromkeys(map(expectation, refused)))
        return f"{self.signature.name}: expected arguments that a kernel for {place} takes: {wanted}{_got(refused)}"


def _got(conditions: Sequence[Symbol]) -> str:
    """The values of what conditions name."""
    values = {text: value_of(symbol) for condition in conditions for text, symbol in names_of(condition, value_of)}
    got = ", ".join(f"{text} = {list(v) if isinstance(v, tuple) else repr(v)}" for text, v in values.items())
    return f", got {got}" if got else ""


def _is_given(value: Any) -> bool:
    """Whether what a kernel gets is one of the operator's arguments, made contiguous or not."""
    if isinstance(value, TensorSymbol) and value.step == "contiguous":
        value = value.args[0]
    return isinstance(value, TensorSymbol) and value.step == "arg"


def _function(reference: str | Callable[..., Any]) -> Callable[..., Any]:
    """A function as it is; ``"module:function"`` is imported at the first call."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")

    def call(*args: Any, **kwargs: Any) -> Any:
        found: Any = functools.reduce(getattr, name.split("."), importlib.import_module(module))
        return found(*args, **kwargs)

    return call


class Definition:
    """An operator that is what a function says of symbols."""

    def __init__(self, runtime: Runtime, signature: Signature, function: Callable[..., None]) -> None:
        self.runtime, self.signature, self._function = runtime, signature, function
        self._wanted = self._taken()
        self._reads: set[Any] | None = None
        self.ways = self._explore(self._say)

    def _taken(self) -> list[int]:
        """The arguments that the function takes: all in order, or some by name, those that it reads."""
        names = [argument.name for argument in self.signature.arguments]
        code = self._function.__code__
        taken = code.co_varnames[1 : code.co_argcount]
        if code.co_flags & inspect.CO_VARARGS or len(taken) == len(names):
            return list(range(len(names)))
        spelled = {f"{name}_": at for at, name in enumerate(names)} | {name: at for at, name in enumerate(names)}
        unknown = [name for name in taken if name not in spelled]
        if unknown:
            raise DefinitionError(f"{self.signature.name}: it takes {unknown[0]!r}, which is no argument")
        return [spelled[name] for name in taken]

    # ---- without values
    def _explore(self, run: Callable[[Tracer], Any]) -> list[OperatorBuilder]:
        of = Tracer(self.runtime, has_values=False)
        try:
            return [way.result for way in of.explore(lambda: run(of))]
        finally:
            of.forget()

    def _say(self, of: Tracer) -> OperatorBuilder:
        """Runs the function over symbols without values."""
        op = OperatorBuilder(self, of)
        values = []
        for at in self._wanted:
            argument = self.signature.arguments[at]
            symbol = of.make(argument.kind, "arg", what=(argument.name, at))
            absent = argument.is_optional and of.decide(of.make("bool", "is_none", symbol))
            values.append(None if absent else symbol)
        of.run(self._function, op, *values)
        return op

    @functools.cache  # noqa: B019 - a definition lives as long as its operator
    def devices(self) -> list[str]:
        """The devices that the definition names; none where it is composed of other operators."""
        return list(dict.fromkeys(device for op in self.ways for _, devices, _ in op.runs for device in devices))

    def keys(self) -> list[str]:
        """Where calls run: devices, "Meta" where what they return is known without a kernel, and any device."""
        devices = self.devices()
        composed = _COMPOSED[0] if self.has_gradient else _COMPOSED[1]
        if not devices:
            runs = any(op.outputs for op in self.ways)
            return [composed] if runs or not self.signature.returns else []
        allocates = all(op.is_allocated or not self.signature.returns for op in self.ways)
        fakes = any(has_fake for op in self.ways for _, _, has_fake in op.runs)
        named = [device for device in devices if device not in ("any", "Meta")]
        meta = ["Meta"] if "Meta" in devices or allocates or fakes else []
        return [*named, *meta, *([composed] if "any" in devices else [])]

    @property
    def has_gradient(self) -> bool:
        """Whether anything is said of one."""
        return any(op.formula or op.marker or op.by_hand for op in self.ways)

    # ---- calls
    def call(self, key: str, inputs: Sequence[Any]) -> Any:
        """What the operator returns at a dispatch key for values in the schema's order."""
        of = Tracer(self.runtime, has_values=True)
        try:
            return self._run(of, "any" if key in _COMPOSED else key, inputs).result()
        finally:
            of.forget()

    def _run(self, of: Tracer, key: str, inputs: Sequence[Any], outputs: Any = None) -> OperatorBuilder:
        op = OperatorBuilder(self, of, key, inputs, outputs)
        arguments = self.signature.arguments
        symbols = [
            None
            if inputs[at] is None and arguments[at].is_optional
            else of.make(arguments[at].kind, "arg", what=(arguments[at].name, at), value=inputs[at])
            for at in self._wanted
        ]
        of.run(self._function, op, *symbols)
        return op

    # ---- gradients
    def reads(self) -> set[Any]:
        """The arguments, and the outputs, whose values gradients read: ``("arg", 0)``, ``("output", 0)``."""
        if self._reads is None:
            self._reads = set()
            self._explore(self._note_reads)
        return self._reads

    def _note_reads(self, of: Tracer) -> None:
        op = self._say(of)
        if op.formula is None or self._reads is None:
            return
        for _, value in _each(of.run(op.formula, *self._gradients_of(of, [{}] * len(self.signature.returns)))):
            self._reads |= set(_read(value))
        for condition in of.way.taken:
            self._reads |= set(_read(condition))

    def _gradients_of(self, of: Tracer, known: Sequence[dict[str, Any]]) -> list[Any]:
        """The symbols of the outputs' gradients."""
        kinds = [Argument("", text).kind for text, _ in self.signature.returns]
        named = ["grad"] if len(kinds) == 1 else [f"grads[{i}]" for i in range(len(kinds))]
        return [of.make(k, "grad", what=(n,), **v) for k, n, v in zip(kinds, named, known, strict=True)]

    def gradients(self, inputs: Sequence[Any], outputs: Sequence[Any], grads: Sequence[Any], wanted: Any) -> list[Any]:
        """The gradients of the wanted arguments, None for others."""
        of = Tracer(self.runtime, has_values=True)
        try:
            op = self._run(of, "", inputs, outputs)
            if op.formula is None:
                raise RuntimeError(f"{self.signature.name} has no gradient where {of.way}")
            found = {}
            given = self._gradients_of(of, [{"value": grad} for grad in grads])
            for argument, value in _each(of.run(op.formula, *given)):
                found[argument.what[1]] = value
            return [self._gradient(i, found.get(i)) if needs else None for i, needs in enumerate(wanted)]
        finally:
            of.forget()

    def _gradient(self, number: int, found: Any) -> Any:
        if found is NotImplemented:
            name = self.signature.arguments[number].name
            raise NotImplementedError(f"{self.signature.name}: the gradient for `{name}` is not implemented")
        return value_of(found)


def _each(found: Any) -> Iterator[tuple[Any, Any]]:
    """A gradient an argument; for a tuple of arguments several that one call makes. None is no argument."""
    for key, value in found.items():
        pairs = [(one, value[i]) for i, one in enumerate(key)] if isinstance(key, tuple) else [(key, value)]
        yield from ((argument, gradient) for argument, gradient in pairs if argument is not None)


def _read(value: Any) -> Iterator[tuple[str, int]]:
    """The arguments and outputs whose values a value is computed of."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _read(item)
    if not isinstance(value, Symbol):
        return
    if value.step in ("arg", "output"):
        yield value.step, value.what[1]
    for operand in value.args:
        if not (value.step in _GEOMETRY and operand is not None and operand.step in ("arg", "output")):
            yield from _read(operand)


def warn_deprecated(name: str, instead: str, runtime: ModuleType) -> None:
    """Warns at the line that calls an operator: the first outside of the runtime and of this package's own files."""
    inside = (str(Path(str(runtime.__file__)).parent), str(Path(__file__).parent / "_"))
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(f"{name} is deprecated: {instead}", FutureWarning, stacklevel=depth + 1)
