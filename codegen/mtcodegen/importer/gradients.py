"""derivatives.yaml -> the `backward` of imported operators."""

from __future__ import annotations

from collections.abc import Iterable

import opschema
from mtcodegen.expr import ExpressionError, Name, parse_expression, walk
from mtcodegen.importer.formula import ConversionError, to_expression
from mtcodegen.importer.model import Gradient, Imported, Note
from mtcodegen.torchyaml.derivatives import Derivatives, Formula, FormulaKind, Variant

__all__ = ["DerivativeTable"]

_FORWARD = (FormulaKind.FORWARD, FormulaKind.AUTO_LINEAR, FormulaKind.AUTO_ELEMENT_WISE)


class DerivativeTable:
    """The entries of a derivatives.yaml by operator."""

    def __init__(self, entries: Iterable[Derivatives]) -> None:
        self.entries = {entry.schema.qualname: entry for entry in entries}

    def of(self, schema: opschema.Schema) -> Derivatives | None:
        """The entry of ``schema``; an in-place operator without one has that of its functional variant."""
        own = self.entries.get(schema.qualname)
        if own is None and schema.kind is opschema.SchemaKind.INPLACE and schema.name.endswith("_"):
            overload = f".{schema.overload}" if schema.overload else ""
            own = self.entries.get(schema.name[:-1] + overload)
            if own is not None and _types(own.schema) != _types(schema):
                return None
        return own

    def add_backward(self, imported: Imported, *, composite: bool) -> None:
        """Give ``imported`` its gradients. A ``composite`` operator without an entry has those of its parts."""
        schema = imported.schema
        tensors = [item.name for item in schema.arguments if opschema.base_of(item.type).name == "Tensor"]
        if schema.kind is opschema.SchemaKind.OUT or not tensors:
            return
        entry = self.of(schema)
        if entry is None:
            imported.backward = "" if composite else "not_implemented"
            return
        for variant in entry.variants:
            if variant.key == "Default":
                _add_formulas(imported, variant, tensors, _only_gradient(entry))
            else:
                reason = "gradients are the same on every device"
                _note_variant(imported, variant, reason)
        if entry.condition is not None or not all(entry.differentiable_outputs):
            key = entry.node.entries["output_differentiability"][0]
            imported.notes.append(Note("output_differentiability", "every output may have a gradient", key.span))


def _types(schema: opschema.Schema) -> list[tuple[str, opschema.Type]]:
    return [(argument.name, argument.type) for argument in schema.arguments]


def _only_gradient(entry: Derivatives) -> str:
    """What `grad` is here: with several outputs, the gradient of the first differentiable one."""
    if len(entry.schema.returns) == 1 or any(argument.name == "grad" for argument in entry.schema.arguments):
        return "grad"
    flags = entry.differentiable_outputs
    return f"grads[{flags.index(True)}]" if True in flags else "grad"


def _add_formulas(imported: Imported, variant: Variant, tensors: list[str], grad: str) -> None:
    given = {name for formula in variant.formulas for name in formula.names}
    for formula in variant.of(FormulaKind.BACKWARD, FormulaKind.NON_DIFFERENTIABLE):
        imported.gradients += [item for item in [_gradient(imported, formula, tensors, grad)] if item is not None]
    for name in tensors:
        if name not in given:
            imported.gradients.append(Gradient((name,), "not_implemented", "", imported.span))
    for formula in variant.of(*_FORWARD):
        names = ", ".join(formula.names)
        text = f"{names}: {formula.node.value}"
        imported.notes.append(Note(text, "a forward-mode formula", formula.key.span))


def _gradient(imported: Imported, formula: Formula, tensors: list[str], grad: str) -> Gradient | None:
    span = formula.node.span
    if formula.expr is None:
        names = tuple(name for name in formula.names if name in tensors)
        return Gradient(names, "not_differentiable", "", span) if names else None
    try:
        text = _renamed(to_expression(formula.expr), "grad", grad)
        return Gradient(formula.names, text, formula.node.value, span)
    except ConversionError as error:
        span = formula.node.locate(error.node.offset, error.node.length)
        imported.notes.append(Note(_described(formula), error.reason, span))
        return Gradient(formula.names, "not_implemented", "", span)


def _renamed(text: str, name: str, new: str) -> str:
    """An expression with another ``name``; one that does not parse as it is."""
    if name == new:
        return text
    try:
        tree = parse_expression(text)
    except ExpressionError:
        return text
    places = [node.offset for node in walk(tree) if isinstance(node, Name) and node.id == name]
    for place in sorted(places, reverse=True):
        text = text[:place] + new + text[place + len(name) :]
    return text


def _described(formula: Formula) -> str:
    return f"{', '.join(formula.names)}: {formula.node.value}"


def _note_variant(imported: Imported, variant: Variant, reason: str) -> None:
    for formula in variant.formulas:
        imported.notes.append(Note(f"{variant.key}: {_described(formula)}", reason, formula.key.span))
