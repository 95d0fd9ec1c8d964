"""One operator under resolution: its scopes, the findings so far, and questions about its schema."""

from __future__ import annotations

import re

import opschema
from mtcodegen.diagnostics import Diagnostic, Related
from mtcodegen.expr import (
    Checked,
    Expr,
    Literal,
    Name,
    OperatorTable,
    Purpose,
    Scope,
    ValueType,
    analyze,
    scope_for,
)
from mtcodegen.expr.nodes import Index, map_children
from mtcodegen.model import Formula, OpSpec
from mtcodegen.parse import expression_fault
from mtcodegen.source import Scalar, Span

__all__ = [
    "OpScope",
    "aliased_argument",
    "argument_span",
    "fresh_returns",
    "is_tensor",
    "is_tensor_list",
    "no_method",
    "tensor_arguments",
]


class OpScope:
    """Checks formulas of one operator and collects what is wrong with it."""

    def __init__(self, spec: OpSpec, table: OperatorTable) -> None:
        self.spec = spec
        self.schema = spec.schema
        self.table = table
        self.diagnostics: list[Diagnostic] = []
        self._scopes: dict[Purpose, Scope] = {}

    def scope(self, purpose: Purpose) -> Scope:
        """What an expression of this operator may name."""
        if purpose not in self._scopes:
            self._scopes[purpose] = scope_for(self.schema, purpose, self.table)
        return self._scopes[purpose]

    def formula(self, formula: Formula, purpose: Purpose, expected: ValueType | None = None) -> Formula:
        """The formula with its operators looked up; its faults are noted."""
        return self.note(formula, self.analyze(formula, purpose, expected))

    def optional(self, formula: Formula | None, purpose: Purpose, expected: ValueType | None = None) -> Formula | None:
        """As ``formula``, where there may be none."""
        return None if formula is None else self.formula(formula, purpose, expected)

    def analyze(self, formula: Formula, purpose: Purpose, expected: ValueType | None = None) -> Checked:
        """The formula's meaning and faults."""
        expr = _gradients_first(formula.expr, self.schema) if purpose is Purpose.BACKWARD else formula.expr
        return analyze(expr, self.scope(purpose), expected)

    def note(self, formula: Formula, checked: Checked) -> Formula:
        """Take over the faults, and the resolved expression."""
        self.diagnostics += [expression_fault(formula.node, error) for error in checked.errors]
        return formula if checked.expr is formula.expr else Formula(formula.node, checked.expr)

    def fault(self, code: str, message: str, span: Span, hint: str = "", *related: Related) -> None:
        """Note a finding."""
        self.diagnostics.append(Diagnostic(code, message, span, hint, related=related))

    def argument_span(self, name: str) -> Span:
        """Where the schema names an argument."""
        return argument_span(self.spec.func, name)

    @property
    def name_span(self) -> Span:
        """Where the schema names the operator."""
        return self.spec.func.locate(0, len(self.spec.func.value.partition("(")[0]))


def argument_span(func: Scalar, name: str) -> Span:
    """Where a schema names an argument: behind its type."""
    found = re.compile(rf"(?<=\s){re.escape(name)}(?=[,)=])").search(func.value, func.value.find("("))
    return func.span if found is None else func.locate(found.start(), len(name))


def _gradients_first(expr: Expr, schema: opschema.Schema) -> Expr:
    """``grad`` is always the output's gradient, also for an operator that has an argument of that name."""
    if len(schema.returns) != 1 or all(argument.name != "grad" for argument in schema.arguments):
        return expr
    if isinstance(expr, Name) and expr.id == "grad":
        grads = Name("grads", offset=expr.offset, length=expr.length)
        return Index(grads, Literal(0), offset=expr.offset, length=expr.length)
    return map_children(expr, lambda child: _gradients_first(child, schema))


def is_tensor(type_: opschema.Type) -> bool:
    """``Tensor``, neither optional nor a list."""
    return isinstance(type_, opschema.BaseType) and type_.name == "Tensor"


def is_tensor_list(type_: opschema.Type) -> bool:
    """A list of tensors, of optional ones too, or an optional list."""
    if isinstance(type_, opschema.OptionalType):
        return is_tensor_list(type_.elem)
    return isinstance(type_, opschema.ListType) and opschema.base_of(type_).name == "Tensor"


def tensor_arguments(schema: opschema.Schema) -> list[opschema.Argument]:
    """Arguments that are one tensor and always there, the ones written to included."""
    return [argument for argument in schema.arguments if is_tensor(argument.type)]


def no_method(schema: opschema.Schema) -> str:
    """Why an operator cannot be a method of tensors, which is called on `self`, or on the first argument; or empty."""
    if not schema.positional:
        return "it has no positional argument"
    called_on = next((item for item in schema.positional if item.name == "self"), schema.positional[0])
    if opschema.base_of(called_on.type).name == "Tensor" and not is_tensor_list(called_on.type):
        return ""
    return f"`{called_on.name}` is {called_on.type}"


def aliased_argument(schema: opschema.Schema, ret: opschema.Return) -> opschema.Argument | None:
    """The mutated argument that a return hands back."""
    if ret.alias is None or not ret.alias.write:
        return None
    return next((argument for argument in schema.arguments if argument.alias == ret.alias), None)


def fresh_returns(schema: opschema.Schema) -> list[int]:
    """Positions of the returns that are new values, not a mutated argument."""
    return [i for i, ret in enumerate(schema.returns) if aliased_argument(schema, ret) is None]
