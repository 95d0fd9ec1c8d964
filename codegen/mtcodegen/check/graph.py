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
    if not spec.graph_update:
        return
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


def _read_by(rule: FakeRule) -> Iterator[str]:
    """The names whose values the rule reads; properties of tensors stay what they were at capture."""
    shape = rule.shape if isinstance(rule.shape, tuple) else (rule.shape,)
    for formula in (*shape, rule.dtype, rule.device):
        if isinstance(formula, Formula):
            yield from (read.name for read in reads(formula.expr) if read.property is None)
