"""Symbols of calls: an operator's overload is chosen, and its arguments are bound, while the definition runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opschema.definitions import DefinitionError, Symbol, TensorSymbol, Tracer, operands_of

from ... import _core
from ..._core import OpOverload, OpOverloadPacket, Tensor, TupleForm
from ..._core import dtype as DType
from ..._modes import TorchFunctionMode, stacks
from ..._pending import load
from ...backends import all_backends
from .._functions import mindspore_kernel
from ._binding import bind
from ._indices import indexed
from ._python_steps import OF_VALUES
from ._variants import variant_kernel

__all__ = ["Calls"]

_RETURNED = {
    "Tensor": "tensor", "Tensor[]": "tensors", "Scalar": "number", "float": "float", "int": "int", "SymInt": "int",
    "bool": "bool",
}  # fmt: skip
# By the operator's name in Python: ours, and those that take the tensor on the right as their first argument.
_PACKETS = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder"}
_SWAPPED = {"add": "add", "mul": "mul", "sub": "rsub"}


def _built_in(name: str) -> OpOverloadPacket | None:
    """The built-in operator of that name; one that is defined on first use is defined now."""
    load(f"aten::{name}")
    return _core.builtin_packet(name)


class Calls(Tracer):
    """A tracer that binds each call to an overload of the runtime's operators."""

    byte_dtype = _core.dtypes["uint8"]

    def __init__(self, overload: OpOverload) -> None:
        super().__init__()
        self._overload = overload

    def launched_as(self) -> Mapping[str, str]:
        """The devices that there are, those from outside too, but those without elements."""
        return {backend.key: backend.abi for backend in all_backends() if backend.name != "meta"}

    def context(self) -> Any:
        """That of the operation that runs."""
        return _core.runtime_context()

    def session(self) -> Any:
        """A mode in which calls without a symbol among their arguments become steps, too."""
        return _EveryCall(self)

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of an operator or a packet."""
        if isinstance(callee, TupleForm):
            callee = callee.packet
        if not isinstance(callee, (OpOverload, OpOverloadPacket)):
            name = getattr(callee, "__name__", repr(callee))
            raise DefinitionError(f"{name} is no operator: call it in op.python(...)")
        overloads = [callee] if isinstance(callee, OpOverload) else [getattr(callee, n) for n in callee.overloads()]
        for overload in overloads:
            bound = bind(self, overload, tuple(args), kwargs)
            if bound is None:
                continue
            returns = overload._schema.returns
            kind = "several" if len(returns) > 1 else _RETURNED.get(str(returns[0].type) if returns else "", "object")
            writes = any(a.is_write for a in overload._schema.arguments)
            found = self.make(kind, "call", *bound, what=overload, unique=writes)
            if writes:
                self.note("do", found)
            return found
        given = ", ".join([*map(_shown, args), *(f"{name}={_shown(value)}" for name, value in kwargs.items())])
        raise DefinitionError(f"{callee}: no overload of it takes ({given}) in a definition")

    def method(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The built-in operator of that name."""
        return self.call(_built_in(name), args, kwargs)

    def has_method(self, name: str) -> bool:
        """Whether there is a built-in operator of that name."""
        return _built_in(name) is not None

    def operate(self, name: str, *operands: Any) -> Any:
        """The built-in operator that a tensor's method calls."""
        if isinstance(operands[0], TensorSymbol):
            return self.method(_PACKETS.get(name, name), operands, {})
        if name in _SWAPPED:
            return self.method(_SWAPPED[name], operands[::-1], {})
        first, second = operands
        if name == "truediv":
            return self.method("mul", (self.method("reciprocal", (second,), {}), first), {})
        if name == "pow":
            return self.method("pow", operands, {})
        if name in ("floordiv", "mod"):
            return self.make("tensor", f"tensor_{name}", self.lift(first), second)
        return NotImplemented

    def indexed(self, tensor: TensorSymbol, at: Any) -> Any:
        """Integers, slices and None are calls of operators."""
        return indexed(tensor, at)

    def name_of(self, callee: Any) -> str:
        """The operator's name, without the overload's."""
        return str(callee._schema.name)

    def returns_of(self, several: Symbol) -> int:
        """How many outputs a call has."""
        if isinstance(several.what, OpOverload):
            return len(several.what._schema.returns)
        raise DefinitionError(f"{several!r}: how many outputs it has is not known; take them by number")

    def kind_of(self, constant: Any) -> str:
        """Dtypes are told apart, as they fit into registers."""
        return "dtype" if isinstance(constant, DType) else "object"

    def evaluated(self, step: str, *values: Any) -> Any:
        """Calls the core's function for the step."""
        return OF_VALUES[step](*values)

    def primitive(self, name: str, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """A function that runs a primitive on MindSpore's backend."""
        return mindspore_kernel(name, **attributes)

    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        """A kernel that calls the other operator."""
        return variant_kernel(self._overload, base)


class _EveryCall(TorchFunctionMode):
    """Calls without a symbol among their arguments, ``torch.zeros(3)``, become steps too: each call makes its own."""

    def __init__(self, of: Calls) -> None:
        self.of = of

    def __enter__(self) -> _EveryCall:
        self._off = stacks.subclasses_off, stacks.function_off
        stacks.subclasses_off = stacks.function_off = False  # as set by the call that triggered tracing
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        stacks.subclasses_off, stacks.function_off = self._off
        super().__exit__(*exc)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, (OpOverload, OpOverloadPacket)) or _has_symbols((args, tuple(kwargs.values()))):
            return self.of.call(func, args, kwargs)
        return func(*args, **kwargs)  # an operator on existing tensors runs now


def _has_symbols(values: Any) -> bool:
    return next(operands_of(values), None) is not None


def _shown(value: Any) -> str:
    return "a tensor that is there already" if isinstance(value, Tensor) else repr(value)
