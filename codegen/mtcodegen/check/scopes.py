"""One operator under resolution: its scopes, and the findings so far."""

from __future__ import annotations

from dataclasses import replace

import opschema
from mtcodegen.entries.model import Formula, OpSpec
from mtcodegen.entries.parse import expression_fault
from mtcodegen.entries.schemas import argument_span
from mtcodegen.expr import Checked, Expr, Literal, Name, OperatorTable, Purpose, Scope, ValueType, analyze, scope_for
from mtcodegen.expr.nodes import Index, map_children
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related
from mtcodegen.findings.source import Span

__all__ = ["OpScope"]


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
            scope = scope_for(self.schema, purpose, self.table)
            # In the gradient that a variant has of its entry an argument is what it was before the call.
            self._scopes[purpose] = scope if self.spec.made_of is None else replace(scope, overwritten={})
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
        self.diagnostics += [expression_fault(formula.text, error) for error in checked.errors]
        return formula if checked.expr is formula.expr else Formula(formula.text, checked.expr)

    def fault(self, code: Code, message: str, span: Span, hint: str = "", *related: Related) -> None:
        """Note a finding."""
        self.diagnostics.append(Diagnostic(code, message, span, hint, related=related))

    def argument_span(self, name: str) -> Span:
        """Where the schema names an argument."""
        return argument_span(self.spec.func, name)

    @property
    def name_span(self) -> Span:
        """Where the schema names the operator."""
        return self.spec.func.locate(0, len(self.spec.func.value.partition("(")[0]))


def _gradients_first(expr: Expr, schema: opschema.Schema) -> Expr:
    """``grad`` is always the output's gradient, also for an operator that has an argument of that name."""
    if len(schema.returns) != 1 or all(argument.name != "grad" for argument in schema.arguments):
        return expr
    if isinstance(expr, Name) and expr.id == "grad":
        grads = Name("grads", offset=expr.offset, length=expr.length)
        return Index(grads, Literal(0), offset=expr.offset, length=expr.length)
    return map_children(expr, lambda child: _gradients_first(child, schema))
