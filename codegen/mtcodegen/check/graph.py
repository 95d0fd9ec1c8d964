"""What a captured graph may update: arguments that the host reads at a launch, and that decide no memory."""

from __future__ import annotations

from collections.abc import Iterator

from mtcodegen.check.scopes import OpScope
from mtcodegen.entries.model import FakeRule, Formula, OpSpec
from mtcodegen.expr import reads
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Related, suggest
from mtcodegen.findings.source import Text
from opschema import update_fault

__all__ = ["check_graph"]


def check_graph(spec: OpSpec, scope: OpScope) -> None:
    """Check ``graph``: every name can be updated and stands there once, and there is something to capture."""
    if not spec.graph_update and not spec.graph_hooks:
        return
    _check_prepare(spec, scope)
    if not any("npu" in kernel.devices for kernel in spec.kernels):
        span = spec.place.key("graph")
        scope.fault(Code.MT324, "there is no kernel for npu, whose launch a graph captures", span, "add one")
    known = {argument.name: argument for argument in spec.schema.arguments}
    deciding = {name: rule for rule in spec.fakes for name in _read_by(rule)}
    given: dict[str, Text] = {}
    for asked in spec.graph_update:
        name = asked.value
        fault = update_fault(known[name]) if name in known else None
        if name not in known:
            updatable = [argument.name for argument in known.values() if update_fault(argument) is None]
            hint = suggest(name, updatable)
            scope.fault(Code.MT312, f"`{name}` is not an argument of {spec.schema.qualname}", asked.span, hint)
        elif fault is not None:
            scope.fault(Code.MT321, fault, asked.span, "remove it")
        elif name in given:
            first = Related(given[name].span, "the first is here")
            scope.fault(Code.MT323, f"`{name}` is there twice", asked.span, "remove one of them", first)
        elif name in deciding:
            message = f"`{name}` decides what an output looks like, whose memory a captured graph keeps"
            rule = Related(deciding[name].place.span, "this rule reads it")
            scope.fault(Code.MT322, message, asked.span, "remove it, or give the output's shape without it", rule)
        given.setdefault(name, asked)


def _check_prepare(spec: OpSpec, scope: OpScope) -> None:
    """What is captured in the operator's place is there, and has what is updated."""
    hook = spec.graph_hooks.get("prepare")
    if hook is None or hook.value != "out":
        return
    schema = spec.schema
    targets = scope.table.overloads(schema.namespace or "aten", schema.name, "out")
    if not targets or schema.overload == "out":
        hint = f"declare {schema.namespace}::{schema.name}.out, or leave `prepare` out"
        scope.fault(Code.MT331, f"there is no other overload `out` of {schema.qualname} to capture", hook.span, hint)
        return
    known = {argument.name for argument in targets[0].arguments}
    for asked in spec.graph_update:
        if asked.value not in known and asked.value in {argument.name for argument in schema.arguments}:
            message = f"`{asked.value}` is not an argument of {targets[0].qualname}, which is captured in its place"
            scope.fault(Code.MT331, message, asked.span, "add it there")


def _read_by(rule: FakeRule) -> Iterator[str]:
    """The names whose values the rule reads; properties of tensors stay what they were at capture."""
    shape = rule.shape if isinstance(rule.shape, tuple) else (rule.shape,)
    for formula in (*shape, rule.dtype, rule.device):
        if isinstance(formula, Formula):
            yield from (read.name for read in reads(formula.expr) if read.property is None)
