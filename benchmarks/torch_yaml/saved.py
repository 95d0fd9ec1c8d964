"""What has to be saved for a C++ formula, under the names that PyTorch's code generator gives."""

from __future__ import annotations

from dataclasses import dataclass

from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula, FormulaKind, Variant
from mtcodegen.importer.pytorch.nodes import CppExpr
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.pytorch.reads import reads
from mtcodegen.importer.pytorch.scope import NameKind, Scope, backward_scope, forward_scope

__all__ = ["SavedValue", "saved_values", "scope_of"]


@dataclass(frozen=True)
class SavedValue:
    """``name`` whole, or one property of it. ``variable`` is its name in PyTorch's C++, ``text`` how it is read."""

    name: str
    variable: str
    text: str
    kind: NameKind


def scope_of(entry: Derivatives, variant: Variant, formula: Formula) -> Scope:
    """The names of a formula of ``entry``."""
    if formula.kind is FormulaKind.BACKWARD:
        return backward_scope(entry.schema, entry.differentiable_outputs).with_mask(len(formula.names))
    return forward_scope(entry.schema, variant.differentiable)


def saved_values(formula: CppExpr, scope: Scope) -> tuple[SavedValue, ...]:
    """What ``formula`` needs from the forward call: each value once, in the order of the text."""
    found: dict[str, SavedValue] = {}
    for name, suffix, node in reads(formula):
        kind = scope.names.get(name)
        if kind is NameKind.ARGUMENT or kind is NameKind.OUTPUT:
            found.setdefault(name + suffix, SavedValue(name, name + suffix, to_cpp(node), kind))
    return tuple(found.values())
