"""What has to be saved for a C++ formula, under the names that PyTorch's code generator gives."""

from __future__ import annotations

from dataclasses import dataclass

from mtcodegen.importer.pytorch.nodes import CppExpr
from mtcodegen.importer.pytorch.printer import to_cpp
from mtcodegen.importer.pytorch.reads import reads
from mtcodegen.importer.pytorch.scope import NameKind, Scope

__all__ = ["SavedValue", "saved_values"]


@dataclass(frozen=True)
class SavedValue:
    """``name`` whole, or one property of it. ``variable`` is its name in PyTorch's C++, ``text`` how it is read."""

    name: str
    variable: str
    text: str
    kind: NameKind


def saved_values(formula: CppExpr, scope: Scope) -> tuple[SavedValue, ...]:
    """What ``formula`` needs from the forward call: each value once, in the order of the text."""
    found: dict[str, SavedValue] = {}
    for name, suffix, node in reads(formula):
        kind = scope.names.get(name)
        if kind is NameKind.ARGUMENT or kind is NameKind.OUTPUT:
            found.setdefault(name + suffix, SavedValue(name, name + suffix, to_cpp(node), kind))
    return tuple(found.values())
