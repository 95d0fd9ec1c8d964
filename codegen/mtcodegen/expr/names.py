"""Looks names up in their scope, and checks how their values are used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.functions import HELPERS, Purpose
from mtcodegen.expr.nodes import Expr, Name
from mtcodegen.expr.scope import Scope
from mtcodegen.expr.types import ANY, C_TYPES, CONSTANTS, DTYPE, DTYPES, FLOAT, TENSOR, Kind, ValueType
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import suggest

__all__ = ["NameChecker", "Typed"]

Typed: TypeAlias = tuple[Expr, ValueType]

# Names that exist only for some purposes, to say so instead of guessing at a misspelling.
_ELSEWHERE = {
    "grad": "`backward`",
    "grads": "`backward`",
    "result": "`backward` and `forward`",
    "out": "kernel arguments, `backward` and `forward`",
    "workspace": "kernel arguments",
    "tiling": "kernel arguments",
    "stream": "kernel arguments",
    "context": "kernel arguments",
}
# Words that stand where a formula could.
_WORDS = {
    Purpose.BACKWARD: ("not_differentiable", "not_implemented"),
    Purpose.FORWARD: ("auto_linear", "auto_element_wise", "not_differentiable", "not_implemented"),
}
_OTHER_SPELLINGS = {"true": "True", "false": "False", "null": "None", "nullptr": "None", "none": "None"}


class NameChecker(ABC):
    """What a name means, and where a value of some type may stand. The walk over the tree is in `check`."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.errors: list[ExpressionError] = []
        self.not_none: frozenset[str] = frozenset()

    def fault(self, message: str, node: Expr, code: Code, hint: str | None = None) -> ValueType:
        """Note a fault; its value is unknown from here on."""
        self.errors.append(ExpressionError(message, node.offset, node.length, hint or None, code))
        return ANY

    @abstractmethod
    def visit(self, node: Expr) -> Typed:
        """``node`` with its names resolved, and its type."""

    def name_type(self, node: Name, *, values: bool = True) -> ValueType:
        """The type of a name; ``values`` says whether more than its properties are wanted."""
        name = node.id
        type_ = self.scope.names.get(name)
        if type_ is None:
            return self._constant(node)
        if values and name in self.scope.overwritten:
            instead = self.scope.overwritten[name]
            hint = f"use `{instead}`" if instead else None
            return self.fault(f"{self._subject()} overwrites `{name}`", node, Code.MT216, hint)
        return type_.required if name in self.not_none else type_

    def _subject(self) -> str:
        return self.scope.subject or "the operator"

    def _constant(self, node: Name) -> ValueType:
        name = node.id
        if name in DTYPES:
            return DTYPE
        if name in CONSTANTS:
            return FLOAT
        if name in HELPERS or name in C_TYPES:
            return self.fault(f"`{name}` is a function and is not called", node, Code.MT218, f"write `{name}(...)`")
        if self.scope.purpose is Purpose.FORWARD and name.endswith("_t") and name[:-2] in self.scope.names:
            hint = "tensors that have a gradient have one"
            return self.fault(f"`{name[:-2]}` has no tangent", node, Code.MT204, hint)
        if name in _ELSEWHERE and self.scope.purpose is not Purpose.BACKWARD:
            return self.fault(f"`{name}` exists only in {_ELSEWHERE[name]}", node, Code.MT211)
        if name in _OTHER_SPELLINGS:
            hint = f"write `{_OTHER_SPELLINGS[name]}`"
        elif name in _WORDS.get(self.scope.purpose, ()):
            hint = "it stands alone, in place of a formula"
        else:
            hint = suggest(name, [*self.scope.names, *DTYPES, *_WORDS.get(self.scope.purpose, ())])
        if self.scope.purpose is Purpose.SAMPLE:
            return self.fault(f"`{name}` is not a value", node, Code.MT204, hint or "inputs name no arguments")
        return self.fault(f"`{name}` is not an argument of {self._subject()}", node, Code.MT204, hint)

    def receiver(self, node: Expr) -> Typed:
        """``node`` where only its properties are wanted, so that an overwritten tensor does no harm."""
        return (node, self.name_type(node, values=False)) if isinstance(node, Name) else self.visit(node)

    def require_bool(self, node: Expr, type_: ValueType) -> None:
        """Note a fault unless a condition of this type makes sense."""
        if type_.kind in (Kind.BOOL, Kind.ANY) and not type_.optional:
            return
        if type_.optional or type_.kind is Kind.NONE:
            hint: str | None = "compare it: `is not None`"
        elif type_.kind is Kind.TENSOR:
            hint = "the values of a tensor are not one condition"
        else:
            hint = "compare it, for instance `!= 0`" if type_.is_number else None
        self.fault(f"a condition is true or false, and this is {type_}", node, Code.MT209, hint)

    def tensor_value(self, node: Expr, type_: ValueType) -> ValueType:
        """The type of a computation on tensors; a fault where they cannot be computed with."""
        if type_.optional:
            return self.may_be_none(node)
        if self.scope.purpose.reads_values:
            return TENSOR
        message = f"{self.scope.purpose.value} cannot read the values of a tensor"
        return self.fault(message, node, Code.MT213, "use its `shape`, `dtype` or another property")

    def may_be_none(self, node: Expr) -> ValueType:
        """The fault that a value is used without a test for None."""
        name = f"`{node.id}`" if isinstance(node, Name) else "this"
        hint = f"test `{node.id} is not None` first" if isinstance(node, Name) else "test `is not None` first"
        return self.fault(f"{name} may be None", node, Code.MT212, hint)
