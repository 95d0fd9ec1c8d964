"""derivatives.yaml -> `backward`, `forward` and `output_differentiability` of imported operators."""

from __future__ import annotations

from collections.abc import Iterable

import opschema
from mtcodegen.entries.variants import functional_name
from mtcodegen.expr import ExpressionError, Name, parse_expression, walk
from mtcodegen.importer.devices import DEVICES
from mtcodegen.importer.formula import ConversionError, to_expression
from mtcodegen.importer.model import Gradient, Imported, Note, Tangent
from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula, FormulaKind, Variant
from mtcodegen.importer.pytorch.nodes import CppExpr

__all__ = ["DerivativeTable"]

_FORWARD = (FormulaKind.FORWARD, FormulaKind.AUTO_LINEAR, FormulaKind.AUTO_ELEMENT_WISE)


class DerivativeTable:
    """The entries of a derivatives.yaml by operator."""

    def __init__(self, entries: Iterable[Derivatives]) -> None:
        self.entries = {entry.schema.qualname: entry for entry in entries}

    def of(self, schema: opschema.Schema) -> Derivatives | None:
        """The entry of ``schema``; an in-place operator without one has that of its functional variant."""
        own = self.entries.get(schema.qualname)
        if own is None and schema.is_inplace_name:
            overload = f".{schema.overload}" if schema.overload else ""
            own = self.entries.get(functional_name(schema) + overload)
        if own is None or own.schema is schema:
            return own
        return own if _types(own.schema) == _types(schema) else None

    def unused(self, schemas: Iterable[opschema.Schema]) -> list[Note]:
        """The entries that are for none of ``schemas``."""
        differentiable = [schema for schema in schemas if schema.kind is not opschema.SchemaKind.OUT]
        used = [self.of(schema.in_namespace(None)) for schema in differentiable]
        return [
            Note(f"the gradients of {entry.name.value}", "no operator has this schema", entry.name.span)
            for entry in self.entries.values()
            if entry not in used
        ]

    def add_backward(self, imported: Imported, *, composite: bool) -> None:
        """Give ``imported`` its gradients. A ``composite`` operator without an entry has those of its parts."""
        schema = imported.schema
        if schema.kind is opschema.SchemaKind.OUT:
            return
        tensors = [item.name for item in schema.arguments if opschema.base_of(item.type).name == "Tensor"]
        if not tensors:
            return
        entry = self.of(schema)
        if entry is None:
            imported.backward = "" if composite else "not_implemented"
            return
        grad = _only_gradient(entry)
        for variant in sorted(entry.variants, key=lambda item: item.key != "Default"):
            if variant.key == "Default":
                _add_formulas(imported, variant, tensors, grad)
            else:
                _add_variant(imported, variant, grad)
        if not imported.gradients:  # all formulas were for devices that are not supported
            imported.backward = "not_implemented"
        _add_differentiability(imported, entry)

    def note_variant(self, imported: Imported, name: str) -> None:
        """Note the formulas of ``name``, a variant: it has the gradients of the operator that it is made of."""
        entry = self.entries.get(name)
        reason = f"{name} has the gradients of {imported.schema.qualname}"
        for variant in entry.variants if entry is not None else ():
            imported.notes += [Note(_described(formula), reason, formula.key.span) for formula in variant.formulas]


def _add_differentiability(imported: Imported, entry: Derivatives) -> None:
    """Which outputs have gradients, where that is said and matters."""
    flags = entry.differentiable_outputs
    if entry.condition is None and all(flags):
        return
    has_formula = any(item.formula != "not_differentiable" for item in imported.gradients)
    if entry.condition is not None:
        key = entry.place.key("output_differentiability")
        imported.notes.append(Note("output_differentiability", "a condition; every output may have a gradient", key))
    elif any(flags) and has_formula:
        imported.output_differentiability = flags
    else:
        imported.gradients, imported.forward, imported.backward = [], (), "not_differentiable"


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
        gradient = _gradient(imported, formula, tensors, grad)
        if gradient is not None:
            imported.gradients.append(gradient)
    others = [name for name in tensors if name not in given]
    imported.gradients += [Gradient((name,), "not_implemented") for name in others]
    _add_forward(imported, variant.of(*_FORWARD), _linear_call(imported.schema, variant) if others else "auto_linear")


def _linear_call(schema: opschema.Schema, variant: Variant) -> str:
    """What `auto_linear` is: here it would be about tensors without a formula, too, such as `indices`."""
    names = {
        item.name: f"{item.name}_t" if item.name in variant.differentiable else item.name for item in schema.arguments
    }
    keywords = [f"{item.name}={names[item.name]}" for item in schema.kwarg_only]
    return f"{functional_name(schema)}({', '.join([*(names[item.name] for item in schema.positional), *keywords])})"


def _add_forward(imported: Imported, formulas: tuple[Formula, ...], linear: str) -> None:
    """The tangents, where all can be carried over: without a rule, gradients are differentiated instead."""
    tangents = []
    for formula in formulas:
        try:
            if formula.expr is not None:
                text = _converted(formula.expr, formula, imported)
            else:
                text = linear if formula.kind is FormulaKind.AUTO_LINEAR else formula.kind.value
        except ConversionError as error:
            span = formula.text.locate(error.node.offset, error.node.length)
            imported.notes.append(Note(_described(formula), error.reason, span))
            continue
        for name in formula.names:
            tangents.append(Tangent(name, text, formula.key, formula.text))
    if any(len(formula.names) > 1 and formula.expr is not None for formula in formulas):
        imported.drop_tangents(tangents, "one formula for several outputs")
    elif len(tangents) < len(formulas):
        imported.drop_tangents(tangents, "the tangent of another output is not carried over")
    else:
        imported.forward = tuple(tangents)


def _add_variant(imported: Imported, variant: Variant, grad: str) -> None:
    """The formulas of a dispatch key beside the default ones."""
    device = DEVICES.get(variant.key.removeprefix("Autograd"))
    default = {item.arguments: item for item in imported.gradients}
    for formula in variant.formulas:
        own = default.get(formula.names)
        if device is None:
            reason = f"there is no device {variant.key.removeprefix('Autograd')}"
        elif own is None or formula.expr is None or own.formula in ("not_implemented", "not_differentiable"):
            reason = "there is no formula for the other devices"
        else:
            try:
                text = _renamed(_converted(formula.expr, formula, imported), "grad", grad)
                own.by_device[device] = Gradient(formula.names, text, formula.text)
                continue
            except ConversionError as error:
                reason = error.reason
        imported.notes.append(Note(f"{variant.key}: {_described(formula)}", reason, formula.key.span))


def _gradient(imported: Imported, formula: Formula, tensors: list[str], grad: str) -> Gradient | None:
    if formula.expr is None:
        names = tuple(name for name in formula.names if name in tensors)
        return Gradient(names, "not_differentiable", formula.text) if names else None
    try:
        text = _renamed(_converted(formula.expr, formula, imported), "grad", grad)
        return Gradient(formula.names, text, formula.text)
    except ConversionError as error:
        span = formula.text.locate(error.node.offset, error.node.length)
        imported.notes.append(Note(_described(formula), error.reason, span))
        return Gradient(formula.names, "not_implemented", formula.text)


def _converted(expr: CppExpr, formula: Formula, imported: Imported) -> str:
    """In our language. Raises ConversionError."""
    arguments = (
        imported.schema.arguments if "/" in formula.text.value else ()
    )  # only a division asks which operands are integers
    return to_expression(expr, [item.name for item in arguments if str(item.type).rstrip("?") in ("int", "SymInt")])


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
    return f"{', '.join(formula.names)}: {formula.text.value}"
