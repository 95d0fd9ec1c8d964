"""Imported operators -> the model, as if they had been read from a file of ours.

Everything in it stands where it came from, so that what is generated names lines of the imported files. What the
generator's own checks refuse was not carried over: it is withdrawn, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mtcodegen.diagnostics import Diagnostic, without_suggestions
from mtcodegen.expr import OperatorTable
from mtcodegen.importer.keywords import with_keywords
from mtcodegen.importer.model import Gradient, Imported, Note, Tangent
from mtcodegen.model import Backward, Derivative, FakeRule, Formula, Forward, KernelSpec, OpSpec, PythonFunction
from mtcodegen.model import Tangent as TangentRule
from mtcodegen.operators import table_of
from mtcodegen.parse import read_formula
from mtcodegen.resolve import resolve_operator
from mtcodegen.source import Mapping as MappingNode
from mtcodegen.source import Node, Scalar, Span

__all__ = ["lower", "schema_table"]

_MARKERS = ("not_implemented", "not_differentiable")
_WORDS = ("auto_linear", "auto_element_wise", *_MARKERS)


def schema_table(operators: Iterable[Imported], namespace: str) -> OperatorTable:
    """What the formulas of ``operators`` may call: the operators themselves, and the built-in ones."""
    return table_of(
        [item.schema if item.schema.namespace else item.schema.in_namespace(namespace) for item in operators]
    )


def lower(
    operators: Iterable[Imported], namespace: str, table: OperatorTable
) -> tuple[tuple[OpSpec, ...], list[Diagnostic]]:
    """The operators as the generator has them, and what it has against them that could not be withdrawn."""
    found: list[Diagnostic] = []
    settled = []
    for operator in operators:
        operator.complete()
        item = _Lowering(operator, namespace)
        settled.append(item.settled(item.spec(), table))
        found += item.faults
    return tuple(settled), found


class _Lowering:
    """One operator; ``faults`` are those of the last reading."""

    def __init__(self, operator: Imported, namespace: str) -> None:
        self.operator = operator
        self.namespace = namespace
        self.line = operator.span.line
        self.faults: list[Diagnostic] = []
        self.named = False

    def settled(self, spec: OpSpec, table: OperatorTable) -> OpSpec:
        """The operator resolved, without what is refused."""
        with without_suggestions():  # notes have none
            resolved, found = resolve_operator(spec, table)
            self.faults += found
            while self.faults and (self.name_arguments(table) or self.withdraw()):
                self.faults = []
                resolved, found = resolve_operator(self.spec(), table)
                self.faults += found
        if self.faults:
            self.faults = []
            resolved, found = resolve_operator(self.spec(), table)
            self.faults += found
        return resolved

    def name_arguments(self, table: OperatorTable) -> bool:
        """Mend calls that give keyword-only arguments by position, as C++ does; whether there was one."""
        if self.named:
            return False
        self.named = True
        changed = False
        for gradient in self.operator.gradients:
            for item in (gradient, *gradient.by_device.values()):
                before, item.formula = item.formula, with_keywords(item.formula, table, self.namespace)
                changed |= item.formula != before
        forward = tuple(
            replace(item, formula=with_keywords(item.formula, table, self.namespace)) for item in self.operator.forward
        )
        changed |= forward != self.operator.forward
        self.operator.forward = forward
        return changed

    def withdraw(self) -> bool:
        """Turn formulas with a fault into ``not_implemented``, and drop such a shape rule; whether there was one."""
        found = [self.withdraw_one(item.span, item.message) for item in self.faults if item.span is not None]
        return any(found)

    def withdraw_one(self, span: Span, message: str) -> bool:
        operator = self.operator
        if operator.fake and operator.fake_span is not None and _covers(operator.fake_span, span):
            rules = "; ".join(
                f"{{{', '.join(f'{key}: {text}' for key, text in rule.items())}}}" for rule in operator.fake
            )
            operator.notes.append(Note(f"fake: {rules}", message, operator.fake_span))
            operator.fake = ()
            return True
        if any(_covers(place, span) for item in operator.forward for place in (item.key, item.span)):
            operator.drop_tangents(operator.forward, message)
            return True
        for gradient in operator.gradients:
            for device, other in gradient.by_device.items():
                if _covers(other.span, span):
                    operator.notes.append(Note(f"{', '.join(other.arguments)}: {other.original}", message, other.span))
                    del gradient.by_device[device]
                    return True
            if gradient.formula not in _MARKERS and _covers(gradient.span, span):
                text = f"{', '.join(gradient.arguments)}: {gradient.original}"
                operator.notes.append(Note(text, message, gradient.span))
                gradient.formula, gradient.by_device = "not_implemented", {}
                return True
        return False

    # ------------------------------------------------------------ the model

    def spec(self) -> OpSpec:
        """The operator as it is now; faults of its formulas are noted."""
        operator = self.operator
        schema = operator.schema
        if schema.namespace is None:
            schema = schema.in_namespace(self.namespace)
        func = self.scalar(operator.schema.qualname)  # findings point at nothing else of it
        place = self.scalar("")
        entries: dict[str, tuple[Scalar, Node]] = {"func": (place, func)}
        if operator.fake:
            fake = self.scalar("", operator.fake_span)
            entries["fake"] = fake, fake
        if operator.kernels:
            entries["kernels"] = place, place
        if operator.gradients or operator.backward:
            entries["backward"] = place, self.scalar(operator.backward)
        if operator.forward:
            key = self.scalar("", operator.forward[0].key)
            entries["forward"] = key, key
        if operator.output_differentiability:
            entries["output_differentiability"] = place, place
        node = MappingNode(place.source, place.start, place.end, place.line, entries)
        python = operator.fake[0].get("python") if operator.fake else None
        return OpSpec(
            node=node,
            func=func,
            schema=schema,
            tags=operator.tags,
            variants=operator.variants,
            fakes=() if python else tuple(map(self.fake, operator.fake)),
            fake_function=PythonFunction(self.scalar(python)) if python else None,
            kernels=tuple(
                KernelSpec(node, kernel.devices, kernel.dtypes, None, PythonFunction(self.scalar(kernel.python)))
                for kernel in operator.kernels
            ),
            backward=self.backward(node) if "backward" in entries else None,
            forward=self.forward(node) if "forward" in entries else None,
            output_differentiability=operator.output_differentiability,
            autogen=(self.scalar(", ".join(operator.autogen), operator.autogen_span),) if operator.autogen else (),
        )

    def backward(self, node: MappingNode) -> Backward:
        key, marker = node.entries["backward"]
        if self.operator.backward:
            return Backward(marker, key, marker=self.operator.backward)
        return Backward(node, key, tuple(map(self.derivative, self.operator.gradients)))

    def derivative(self, gradient: Gradient) -> Derivative:
        key = self.scalar(", ".join(gradient.arguments), gradient.span)
        marker = gradient.formula if gradient.formula in _MARKERS else ""
        formula = None if marker else self.formula(gradient.formula, gradient.span)
        others = {device: self.formula(item.formula, item.span) for device, item in gradient.by_device.items()}
        by_device = {device: other for device, other in others.items() if other is not None}
        return Derivative(key, gradient.arguments, formula, marker, by_device)

    def forward(self, node: MappingNode) -> Forward:
        return Forward(node, node.entries["forward"][0], tuple(map(self.tangent, self.operator.forward)))

    def tangent(self, tangent: Tangent) -> TangentRule:
        key = self.scalar(tangent.output, tangent.key)
        if tangent.formula in _WORDS:
            return TangentRule(key, tangent.output, None, tangent.formula)
        return TangentRule(key, tangent.output, self.formula(tangent.formula, tangent.span))

    def fake(self, rule: Mapping[str, str]) -> FakeRule:
        span = self.operator.fake_span
        formulas = {name: self.formula(text, span) for name, text in rule.items()}
        place = self.scalar("", span)
        node = MappingNode(place.source, place.start, place.end, place.line, dict.fromkeys(rule, (place, place)))
        return FakeRule(
            node, formulas.get("like"), formulas.get("shape"), formulas.get("dtype"), formulas.get("device")
        )

    def formula(self, text: str, span: Span | None) -> Formula | None:
        formula, found = read_formula(self.scalar(text, span))
        self.faults += found
        return formula

    # ------------------------------------------------------------ nodes at places of the imported file

    def scalar(self, value: str, span: Span | None = None) -> Scalar:
        span = span or self.operator.span
        line = self.line if span is self.operator.span else span.line
        return Scalar(span.source, span.offset, span.offset + span.length, line, value, "")


def _covers(outer: Span, inner: Span) -> bool:
    return outer.source is inner.source and outer.offset <= inner.offset < outer.offset + outer.length
