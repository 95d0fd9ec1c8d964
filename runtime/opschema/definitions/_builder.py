"""`op`: what a definition's function says of an operator, noted as events of the run that it is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ._conditions import otherwise
from ._functions import Typed
from ._no_kernel import Message
from ._references import python_function, with_context
from ._symbols import DefinitionError, Several, Symbol, TensorSymbol
from ._tracer import Tracer

__all__ = ["ALLOCATED", "Argument", "OperatorBuilder", "Signature", "kind_of"]

ALLOCATED = ("like", "like_as", "empty", "broadcast_like")
_KINDS = {
    "Tensor": "tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "Scalar": "number",
    "str": "str", "ScalarType": "dtype", "Device": "device",
}  # fmt: skip
_LISTS = {
    "int": "shape", "SymInt": "shape", "Tensor": "tensors", "Tensor?": "tensors", "float": "floats", "bool": "bools",
    "Scalar": "numbers", "str": "strs",
}  # fmt: skip


def kind_of(type_: str) -> str:
    """What kind of symbol stands for a value of a schema's type."""
    text = type_.removesuffix("?")
    element, bracket, _ = text.rpartition("[")
    return _LISTS.get(element, "object") if bracket else _KINDS.get(text, "object")


@dataclass(frozen=True)
class Argument:
    """An argument of a schema."""

    name: str
    type: str
    is_keyword: bool = False
    is_written: bool = False

    @property
    def is_optional(self) -> bool:
        """Whether it may be None."""
        return self.type.endswith("?")


@dataclass(frozen=True)
class Signature:
    """An operator's schema: its qualified name, its arguments, and the types of its outputs."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]


class OperatorBuilder:
    """What a definition's function gets first: its methods say what the operator requires, returns, runs and saves."""

    def __init__(self, signature: Signature, of: Tracer) -> None:
        self.signature, self.of = signature, of
        self.arguments: list[Symbol] = [
            of.make(kind_of(a.type), "arg", what=(a.name, a.type)) for a in signature.arguments
        ]
        self.checks: list[tuple[Symbol, str | None, type[Exception] | None]] = []
        self.failures: list[tuple[type[Exception] | None, Message]] = []
        self.by_hand: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None
        self.marker = ""
        self.tangents: Callable[..., Any] | None = None
        self.tangents_are_named = False  # whether that takes values by their names
        self.differentiable: tuple[bool, ...] = ()  # of the outputs
        self.outputs: tuple[Symbol, ...] = ()
        self.formula: Callable[..., Any] | None = None

    # ---- what a definition says
    def check(self, *conditions: Any, message: str | None = None, error: type[Exception] | None = None) -> None:
        """Each must hold in every call; where one does not, the call raises, by default `CheckError`.

        The error names the operator, the condition and the values in it, or says ``message``, in which symbols stand
        for their values: ``f"expected a matrix, got {x.dim()} dimensions"``.
        """
        for condition in conditions:
            if isinstance(condition, Symbol):
                self.of.note("check", condition, self._number(condition, message, error))
            elif not condition:  # false on this way: what led here is the message
                name = self.signature.name
                words = f"{name}: expected {otherwise(self.of.trace.known)}" if message is None else message
                self.of.note("fail", self.failure(error, partial(self.of.worded, words)))

    def _number(self, condition: Symbol, message: str | None, error: type[Exception] | None) -> int:
        """Of a check: those that are alike have one."""
        for number, (known, words, kind) in enumerate(self.checks):
            if known is condition and words == message and kind is error:
                return number
        self.checks.append((condition, message, error))
        return len(self.checks) - 1

    def failure(self, kind: type[Exception] | None, message: Message) -> int:
        """The number of an error that ends a way."""
        self.failures.append((kind, message))
        return len(self.failures) - 1

    def returns(self, *outputs: Any) -> Any:
        """The outputs: allocated (`like`, `empty`, `broadcast`), computed by operators, or arguments it writes to.

        Without arguments they are what Python functions return, which is known to gradients alone.
        """
        expected = len(self.signature.returns)
        if not outputs:
            outputs = tuple(self._unknown_output(i) for i in range(expected))
        if len(outputs) == 1 < expected and isinstance(outputs[0], (Several, TensorSymbol)):
            outputs = tuple(outputs[0][i] for i in range(expected))
        if len(outputs) != expected:
            raise DefinitionError(f"op.returns(...): the schema declares {expected} outputs, got {len(outputs)}")
        self.outputs = self._declared(outputs)
        return self.outputs[0] if len(outputs) == 1 else self.outputs

    def _unknown_output(self, number: int) -> Any:
        """What a Python function will return."""
        text = self.signature.returns[number]
        return self.of.make(kind_of(text), "output", what=(f"output {number}", text))

    def _declared(self, outputs: Sequence[Any]) -> tuple[Symbol, ...]:
        """The outputs as symbols, by the schema's types."""
        types = [*self.signature.returns, *["Tensor"] * (len(outputs) - len(self.signature.returns))]
        return tuple(self._output(o, text) for o, text in zip(outputs, types, strict=True))

    def _output(self, output: Any, text: str) -> Symbol:
        if isinstance(output, (list, tuple)):
            listed: Symbol = self.of.together([self._output(item, "Tensor") for item in output])
            return listed
        if text != "Tensor" and (output is None or isinstance(output, (bool, int, float, str))):
            constant: Symbol = self.of.lift(output)
            return constant
        if not isinstance(output, Symbol):
            expected = "like(...), empty(...), broadcast(...) or a tensor"
            raise DefinitionError(f"op.returns(...): expected {expected}, got {output!r}")
        return output

    def launch(
        self, device: str | Sequence[str], kernel: tuple[Any, str], *args: Any, block_dim: Any = None,
        dtypes: Sequence[Any] | None = None, abi: str | None = None,
    ) -> None:  # fmt: skip
        """On a device ("CPU", "NPU"), or several, a compiled kernel runs.

        ``kernel`` is ``launcher["symbol"]``; ``args`` are tensors, None, numbers with C types (``f32(scale)``) and
        structs. ``block_dim`` is that of an AscendC kernel, 1 by default. ``dtypes`` are those that the kernel is
        compiled for: the operator's tensor arguments must be of one of them. ``abi`` is "ascendc" on an NPU and "c"
        elsewhere, unless it is given.
        """
        typed = [a if isinstance(a, Typed) else Typed("ptr", a) for a in args]
        operands = [self._operand(a) for a in typed]
        allowed = None
        if dtypes is not None:
            allowed = tuple(tuple(dtypes) if _is_given(value) else None for _, value in operands)
        for name in (device,) if isinstance(device, str) else device:
            self._require_device(name)
            called = abi or self.of.launched_as()[name]
            blocks = 1 if called == "ascendc" and block_dim is None else block_dim
            form = called, tuple(a.ctype for a in typed), allowed
            self.of.note("launch", name, kernel, form, operands, None if blocks is None else self.of.lift(blocks))

    def _require_device(self, device: str, *others: str) -> None:
        names = (*self.of.launched_as(), *others)
        if device not in names:
            raise DefinitionError(f"{device!r} is no device that kernels run on; expected one of {', '.join(names)}")

    def _operand(self, argument: Typed) -> tuple[str, Any]:
        """How a kernel is passed an argument, and the symbol."""
        value = argument.value
        if value is None:
            return "nothing", None
        symbol = self.of.lift(value)
        if isinstance(symbol, TensorSymbol):
            return "tensor", symbol
        if symbol.kind == "stream" and argument.ctype == "ptr":
            return "object", symbol
        if argument.ctype in ("ptr", "desc"):
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
            self._require_device(name, "any", "Meta")
        called = _function(function)
        whole = not args and not kwargs
        if all(argument.name != "context" for argument in self.signature.arguments) and "context" not in kwargs:
            called = with_context(called, self.of.context)
        if whole:
            pairs = list(zip(self.signature.arguments, self.arguments, strict=True))
            args = tuple(symbol for argument, symbol in pairs if not argument.is_keyword)
            kwargs = {argument.name: symbol for argument, symbol in pairs if argument.is_keyword}
        kind = "several" if len(self.signature.returns) > 1 else "tensor"
        operands = [self.of.lift(a) for a in (*args, *kwargs.values())]
        result = self.of.make(kind, "python", *operands, what=(called, tuple(kwargs)), unique=True)
        for name in devices:
            replaced = None if fake is None else (_function(fake), tuple(kwargs))
            self.of.note("python", name, result, replaced, called if whole else None)
        return result

    def compute(self, *outputs: Any, device: str | Sequence[str] = "any") -> None:
        """On a device the outputs are computed by operators, in place of a kernel."""
        if len(outputs) == 1 < len(self.signature.returns) and isinstance(outputs[0], (Several, TensorSymbol)):
            outputs = tuple(outputs[0][i] for i in range(len(self.signature.returns)))
        computed = self._declared(outputs)
        changes = self.of.take_back(computed)
        for name in (device,) if isinstance(device, str) else device:
            self._require_device(name, "any", "Meta")
            self.of.note("compute", name, computed, changes)

    def mindspore(self, device: str | Sequence[str], primitive: str, /, *args: Any, **attributes: Any) -> None:
        """On a device a primitive of MindSpore, with some attributes, returns the outputs."""
        of, count = self.of, len(args)

        def run(*values: Any) -> Any:
            return of.primitive(primitive, dict(zip(attributes, values[count:], strict=True)))(*values[:count])

        self.python(run, *args, *attributes.values(), device=device)

    def variant_of(self, base: Any) -> None:
        """The operator is another one in place, into given outputs, or writing nothing."""
        self.python(self.of.variant(self.signature.name, base), device="any")

    def gradient(
        self, function: Callable[..., Any] | None = None, *, differentiable: Sequence[bool] = ()
    ) -> Callable[..., Any]:
        """Decorator: ``function(grad, ...)``, with an argument an output, returns ``{argument: its gradient}``.

        ``differentiable`` says of each output whether it has a gradient; none given: all have.
        """
        self.differentiable = tuple(differentiable)
        if function is None:
            return self._keep_formula
        return self._keep_formula(function)

    def _keep_formula(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self.formula = function
        return function

    def before(self, argument: Any) -> Any:
        """In a gradient: what an argument was before the operator wrote to it. A call that needs it copies it."""
        pairs = zip(self.signature.arguments, self.arguments, strict=True)
        if not any(argument is symbol and declared.is_written for declared, symbol in pairs):
            raise DefinitionError(f"op.before(...): expected an argument that the operator writes to, got {argument!r}")
        return self.of.make("tensor", "before", argument)

    def backward(self, function: str | Callable[..., Any], setup_context: Any = None) -> None:
        """The gradient is written by hand: ``function(ctx, *grads)``, after ``setup_context(ctx, inputs, output)``.

        Each is a function or ``"module:function"``; they are what `Library.register_autograd` gets.
        """
        self.by_hand = _function(function), None if setup_context is None else _function(setup_context)

    def jvp(self, function: str | Callable[..., Any]) -> Any:
        """Decorator: a function of values returns the tangents of the outputs.

        It takes by name what it reads: arguments, the tangent ``x_t`` of an argument ``x``, outputs (``out``, ``out0``,
        or by the schema's names), and ``linear``, what the operator itself makes of the tangents.
        ``"module:function"`` is what `Library.register_jvp` gets.
        """
        self.tangents, self.tangents_are_named = _function(function), not isinstance(function, str)
        return function

    def not_differentiable(self) -> None:
        """No gradient flows through the operator: its outputs do not require one."""
        self.marker = "not_differentiable"

    def not_implemented(self) -> None:
        """The operator has a gradient that nobody has written: backward through it raises NotImplementedError."""
        self.marker = "not_implemented"


def _function(reference: str | Callable[..., Any]) -> Callable[..., Any]:
    return python_function(reference) if isinstance(reference, str) else reference


def _is_given(value: Any) -> bool:
    """Whether what a kernel gets is one of the operator's arguments, made contiguous or not."""
    if isinstance(value, TensorSymbol) and value.step == "contiguous":
        value = value.args[0]
    return isinstance(value, TensorSymbol) and value.step == "arg"
