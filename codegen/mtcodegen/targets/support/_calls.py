"""Symbols of calls: what operators, functions and methods become in a definition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._callees import Callee, resolved
from ._language import DefinitionError, Symbol, TensorSymbol, Tracer, operands_of
from ._runtime import Runtime
from ._values import FUNCTIONS

__all__ = ["Calls"]


class Calls(Tracer):
    """Symbols of calls, which are carried out as they are written: what they take is known in the call."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.runtime, self.byte_dtype = runtime, runtime.byte_dtype
        self._methods: dict[str, Callee] = {}

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of any function, as a symbol; what an operator of several outputs returns may be unpacked."""
        operands = [self._packed(value) for value in (*args, *kwargs.values())]
        writes = self.runtime.may_write(callee)
        kind = "several" if self.runtime.outputs_of(callee) > 1 else "tensor"
        found = self.make(kind, "call", *operands, what=(callee, tuple(kwargs)), unique=writes)
        if writes:
            self.note("do", found)
        return found

    def _packed(self, value: Any) -> Any:
        """An operand: a list or slice with symbols in it is made in the call."""
        if next(operands_of((value,)), None) is None:
            return self.lift(value)
        if isinstance(value, slice):
            return self.make("object", "slice_of", *map(self.lift, (value.start, value.stop, value.step)))
        if isinstance(value, (list, tuple)):
            step = "list" if isinstance(value, list) else "tuple"
            return self.make("object", step, *map(self._packed, value))
        return value

    def method(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A method of tensors, looked up at the call: a runtime may lack some."""
        callee = self._methods.setdefault(name, Callee(lambda _, name: self.runtime.function(name), "", name))
        return self.call(callee, args, kwargs)

    def has_method(self, name: str) -> bool:
        """That is found at the call."""
        return True

    def operate(self, name: str, *operands: Any) -> Any:
        """Python's own operators, which a runtime's tensors have."""
        return self.call(getattr(operator, name), operands, {})

    def indexed(self, tensor: TensorSymbol, at: Any) -> Any:
        """A part of a tensor; of what is called, which may be a list, an item."""
        if type(at) is int and tensor.step in ("call", "python", "item"):
            return self.make("tensor", "item", tensor, what=at)
        return self.call(operator.getitem, (tensor, at), {})

    def name_of(self, callee: Any) -> str:
        """A function's own name."""
        return str(getattr(callee[0], "__name__", callee[0]))

    def returns_of(self, several: Symbol) -> int:
        """How many outputs an operator has."""
        found = self.runtime.outputs_of(several.what[0]) if several.step == "call" else 0
        if not found:
            raise DefinitionError(f"{several!r}: how many outputs it has is not known; take them by number")
        return found

    def kind_of(self, constant: Any) -> str:
        """Nothing is asked of one."""
        return "object"

    def evaluated(self, step: str, *values: Any) -> Any:
        """By the function that calls have."""
        return FUNCTIONS[step](self.runtime, None)(*values)

    def primitive(self, name: str, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """The runtime's."""
        return self.runtime.primitive(name, attributes)

    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        """The runtime's."""
        return self.runtime.variant(name, resolved(base))
