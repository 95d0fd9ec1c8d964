"""Names, types and completeness: what every entry means, and whether nothing is missing from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mtcodegen.check.backward import resolve_backward
from mtcodegen.check.examples import resolve_examples
from mtcodegen.check.forward import resolve_forward
from mtcodegen.check.graph import check_graph
from mtcodegen.check.kernels import resolve_fakes, resolve_kernels
from mtcodegen.check.scopes import OpScope
from mtcodegen.entries.model import Check, File, OpSpec, Variant
from mtcodegen.entries.schemas import no_method
from mtcodegen.entries.variants import calling, is_variant, variant_name
from mtcodegen.expr import BOOL, OperatorTable, Purpose
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related
from mtcodegen.findings.source import Span

__all__ = ["duplicates", "resolve", "resolve_operator"]

_MOST_ARGUMENTS = 63  # the runtime binds them into slots that it does not allocate


def resolve(file: File, table: OperatorTable) -> tuple[File, list[Diagnostic]]:
    """The file with every formula checked and its operators looked up."""
    diagnostics: list[Diagnostic] = []
    ops = []
    for spec in file.ops:
        resolved, found = resolve_operator(spec, table)
        ops.append(resolved)
        diagnostics += found
    return replace(file, ops=tuple(ops)), diagnostics


def resolve_operator(spec: OpSpec, table: OperatorTable) -> tuple[OpSpec, list[Diagnostic]]:
    """One operator with its formulas checked, and what is wrong with it."""
    if is_variant(spec):
        return _resolve_variant(spec, table), []
    return _resolve_entry(spec, table)


def _resolve_variant(spec: OpSpec, table: OperatorTable) -> OpSpec:
    """A variant with the entry's kernels, or one that calls the entry if they have faults, which are reported there."""
    if any(isinstance(kernel.body, Variant) for kernel in spec.kernels):
        return spec
    resolved, found = _resolve_entry(spec, table)
    return calling(spec) if found else resolved


def _resolve_entry(spec: OpSpec, table: OperatorTable) -> tuple[OpSpec, list[Diagnostic]]:
    scope = OpScope(spec, table)
    _check_method(spec, scope)
    _check_count(spec, scope)
    if spec.checks:
        spec = replace(spec, checks=tuple(_resolve_check(check, scope) for check in spec.checks))
    spec = resolve_fakes(spec, scope)
    spec = resolve_kernels(spec, scope)
    check_graph(spec, scope)
    backward, forward = resolve_backward(spec, scope), resolve_forward(spec, scope)
    if backward is not spec.backward or forward is not spec.forward:
        spec = replace(spec, backward=backward, forward=forward)
    return resolve_examples(spec, scope), scope.diagnostics


def _resolve_check(check: Check, scope: OpScope) -> Check:
    condition = scope.formula(check.condition, Purpose.CHECK, BOOL)
    message = [part if isinstance(part, str) else scope.formula(part, Purpose.CHECK) for part in check.message]
    return replace(check, condition=condition, message=tuple(message))


def _check_method(spec: OpSpec, scope: OpScope) -> None:
    reason = no_method(spec.schema) if "method" in spec.variants else ""
    if reason:
        message = f"{spec.schema.qualname} cannot be a method of tensors: {reason}"
        hint = "call a tensor `self`, or make it the first argument; or remove `method`"
        scope.fault(Code.MT131, message, scope.name_span, hint)


def _check_count(spec: OpSpec, scope: OpScope) -> None:
    count = len(spec.schema.arguments)
    if count > _MOST_ARGUMENTS:
        message = f"{spec.schema.qualname} has {count} arguments, and a call binds at most {_MOST_ARGUMENTS}"
        span = scope.argument_span(spec.schema.arguments[_MOST_ARGUMENTS].name)
        scope.fault(Code.MT132, message, span, "pass several as one list, such as `int[]`")


def duplicates(files: Sequence[File]) -> list[Diagnostic]:
    """Operators that are declared more than once, in one file or in two."""
    first: dict[str, OpSpec] = {}
    found = []
    for spec in (spec for file in files for spec in file.ops):
        name = spec.schema.qualname
        earlier = first.setdefault(name, spec)
        if earlier is not spec:
            first_there = Related(_name_span(earlier), "first declared here")
            hint = "remove one, or give one another overload: `name.overload(...)`"
            message = f"{name} is declared twice"
            found.append(Diagnostic(Code.MT120, message, _name_span(spec), hint, related=(first_there,)))
    return found


def _name_span(spec: OpSpec) -> Span:
    """The name in the schema, or that of a variant where it is asked for."""
    if is_variant(spec):
        return spec.func.locate_item(variant_name(spec.schema))
    return spec.func.locate(0, len(spec.func.value.partition("(")[0]))
