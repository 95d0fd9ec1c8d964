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
    """A tracer that keeps calls as they are written: arguments are checked when the operator is called."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.runtime, self.byte_dtype = runtime, runtime.byte_dtype
        self._methods: dict[str, Callee] = {}

    def launched_as(self) -> Mapping[str, str]:
        return self.runtime.launched_as

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of any function, as a symbol, which may be unpacked if the number of its outputs is known."""
        operands = [self._packed(value) for value in (*args, *kwargs.values())]
        writes = self.runtime.may_write(callee)
        kind = "several" if self.runtime.outputs_of(callee) > 1 else "tensor"
        found = self.make(kind, "call", *operands, what=(callee, tuple(kwargs)), unique=writes)
        if writes:
            self.note("do", found)
        return found

    def _packed(self, value: Any) -> Any:
        """An operand as a symbol: a list, tuple or slice that holds symbols is a step that builds it."""
        if next(operands_of((value,)), None) is None:
            return self.lift(value)
        if isinstance(value, slice):
            return self.make("object", "slice_of", *map(self.lift, (value.start, value.stop, value.step)))
        if isinstance(value, (list, tuple)):
            step = "list" if isinstance(value, list) else "tuple"
            return self.make("object", step, *map(self._packed, value))
        return value

    def method(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call of a tensor's method, which is looked up when a plan is made, as a runtime may lack it."""
        callee = self._methods.setdefault(name, Callee(lambda _, name: self.runtime.function(name), "", name))
        return self.call(callee, args, kwargs)

    def has_method(self, name: str) -> bool:
        """Always true here: a missing method is an error when a plan is made."""
        return True

    def operate(self, name: str, *operands: Any) -> Any:
        """A call of one of Python's own operators, which a runtime's tensors implement."""
        return self.call(getattr(operator, name), operands, {})

    def indexed(self, tensor: TensorSymbol, at: Any) -> Any:
        """An item of a call's result, which may be a list, or a tensor indexed as in Python."""
        if type(at) is int and tensor.step in ("call", "python", "item"):
            return self.make("tensor", "item", tensor, what=at)
        return self.call(operator.getitem, (tensor, at), {})

    def name_of(self, callee: Any) -> str:
        """The `__name__` of the function that a step calls."""
        return str(getattr(callee[0], "__name__", callee[0]))

    def returns_of(self, several: Symbol) -> int:
        """How many outputs an operator has."""
        found = self.runtime.outputs_of(several.what[0]) if several.step == "call" else 0
        if not found:
            raise DefinitionError(f"{several!r}: how many outputs it has is not known; take them by number")
        return found

    def kind_of(self, constant: Any) -> str:
        """Constants other than numbers and texts are not told apart."""
        return "object"

    def evaluated(self, step: str, *values: Any) -> Any:
        """Calls the function that stands for the step in plans."""
        return FUNCTIONS[step](self.runtime, None)(*values)

    def primitive(self, name: str, attributes: Mapping[str, Any]) -> Callable[..., Any]:
        """A primitive of MindSpore, if the runtime has any."""
        return self.runtime.primitive(name, attributes)

    def variant(self, name: str, base: Any) -> Callable[..., Any]:
        """A kernel that calls another operator, as the runtime makes it."""
        return self.runtime.variant(name, resolved(base))
