"""What a forward-mode formula needs of its operator's arguments: tangents and primals."""

from __future__ import annotations

from dataclasses import dataclass

import opschema
from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula, FormulaKind, Variant
from mtcodegen.importer.pytorch.reads import reads
from mtcodegen.importer.pytorch.scope import cpp_arguments

__all__ = ["ForwardInputs", "forward_inputs"]


@dataclass(frozen=True)
class ForwardInputs:
    """The arguments whose tangents and whose values a forward-mode formula reads."""

    tangents: frozenset[str]
    primals: frozenset[str]


def forward_inputs(entry: Derivatives, variant: Variant, formula: Formula) -> ForwardInputs:
    """The inputs of ``formula``, which is of one of the forward-mode kinds."""
    differentiable = frozenset(variant.differentiable)
    if formula.kind is FormulaKind.AUTO_LINEAR:
        # The operator itself, called on the tangents.
        return ForwardInputs(differentiable, frozenset())
    if formula.kind is FormulaKind.AUTO_ELEMENT_WISE:
        # The gradient formula on the tangent, whether or not it reads the gradient.
        backward = variant.of(FormulaKind.BACKWARD)[0]
        return ForwardInputs(frozenset(cpp_arguments(entry.schema)), differentiable & _names(backward))
    # A function of a list of tensors looks for the tangents itself.
    single = {argument.name for argument in entry.schema.arguments if not isinstance(argument.type, opschema.ListType)}
    own = differentiable if entry.schema.name.startswith("_foreach_") else differentiable & single
    names = _names(formula)
    return ForwardInputs(
        frozenset(name for name in own if f"{name}_t" in names),
        frozenset(name for name in own if f"{name}_p" in names),
    )


def _names(formula: Formula) -> frozenset[str]:
    return frozenset() if formula.expr is None else frozenset(name for name, _, _ in reads(formula.expr))
