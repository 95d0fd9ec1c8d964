"""Imported operators -> the model, as if they had been read from a file of ours.

Everything in it stands where it came from, so that what is generated names lines of the imported files. What the
generator's own checks refuse was not carried over: it is withdrawn, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mtcodegen.check.operators import table_of
from mtcodegen.check.resolve import resolve_operator
from mtcodegen.document.nodes import Mapping as MappingNode
from mtcodegen.document.nodes import Node, Scalar
from mtcodegen.entries.model import (
    Backward,
    Derivative,
    FakeRule,
    Formula,
    Forward,
    KernelSpec,
    OpSpec,
    PythonFunction,
    default_device_check,
    default_overlap_check,
)
from mtcodegen.entries.model import Tangent as TangentRule
from mtcodegen.entries.parse import read_formula
from mtcodegen.expr import OperatorTable
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, without_suggestions
from mtcodegen.findings.source import Span
from mtcodegen.importer.keywords import with_keywords
from mtcodegen.importer.model import Gradient, Imported, Note, Tangent

__all__ = ["lower", "schema_table"]

_MARKERS = ("not_implemented", "not_differentiable")
_OF_ARGUMENTS = (Code.MT207, Code.MT208)  # what is wrong with a call that gives too many arguments by position
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
    found = [_Lowering(operator, namespace, table) for operator in operators]
    with without_suggestions():  # notes have none
        for item in found:
            item.settle()
    for item in found:
        if item.faults:
            item.resolve()
    return tuple(item.resolved for item in found), [fault for item in found for fault in item.faults]


class _Lowering:
    """One operator; ``faults`` are those of the last reading, and ``resolved`` is what came of it."""

    resolved: OpSpec

    def __init__(self, operator: Imported, namespace: str, table: OperatorTable) -> None:
        self.operator = operator
        self.namespace = namespace
        self.table = table
        self.place = _scalar(operator.schema.qualname, operator.span)
        self.faults: list[Diagnostic] = []
        self.named = False

    def settle(self) -> None:
        """Resolve the operator, without what is refused."""
        self.operator.complete()
        self.resolve()
        while self.faults and (self.name_arguments() or self.withdraw()):
            self.resolve()

    def resolve(self) -> None:
        """Resolve the operator as it is now."""
        self.faults = []
        self.resolved, found = resolve_operator(self.spec(), self.table)
        self.faults += found

    def name_arguments(self) -> bool:
        """Mend calls that give keyword-only arguments by position, as C++ does; whether there was one."""
        if self.named or not any(item.code in _OF_ARGUMENTS for item in self.faults):
            return False
        self.named = True
        changed = False
        for gradient in self.operator.gradients:
            for item in (gradient, *gradient.by_device.values()):
                before, item.formula = item.formula, with_keywords(item.formula, self.table, self.namespace)
                changed |= item.formula != before
        forward = tuple(
            replace(item, formula=with_keywords(item.formula, self.table, self.namespace))
            for item in self.operator.forward
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
        if operator.fake and operator.fake_span is not None and _stands_in(self.fake_place, span):
            rules = "; ".join(
                f"{{{', '.join(f'{key}: {text}' for key, text in rule.items())}}}" for rule in operator.fake
            )
            operator.notes.append(Note(f"fake: {rules}", message, operator.fake_span))
            operator.fake = ()
            return True
        if any(_stands_in(place, span) for item in operator.forward for place in (item.key, item.node)):
            operator.drop_tangents(operator.forward, message)
            return True
        for gradient in operator.gradients:
            for device, other in gradient.by_device.items():
                if self.is_refused(other, span, message):
                    del gradient.by_device[device]
                    return True
            if gradient.formula not in _MARKERS and self.is_refused(gradient, span, message):
                gradient.formula, gradient.by_device = "not_implemented", {}
                return True
        return False

    def is_refused(self, gradient: Gradient, span: Span, message: str) -> bool:
        """Whether a fault is one of a formula, which then is noted."""
        node = gradient.node
        if node is None or not _stands_in(node, span):
            return False
        self.operator.notes.append(Note(f"{', '.join(gradient.arguments)}: {node.value}", message, node.span))
        return True

    @property
    def fake_place(self) -> Scalar:
        """Where the shape rules stand: behind a key of their own, or with the operator."""
        span = self.operator.fake_span
        return self.place if span is None else _scalar("", span)

    # ------------------------------------------------------------ the model

    def spec(self) -> OpSpec:
        """The operator as it is now; faults of its formulas are noted."""
        operator = self.operator
        schema = operator.schema
        if schema.namespace is None:
            schema = self.table[f"{self.namespace}::{schema.qualname}"]
        place = self.place
        here = (place, place)  # findings point at nothing else of it
        entries: dict[str, tuple[Scalar, Node]] = {}
        if operator.fake:
            entries["fake"] = self.fake_place, self.fake_place
        if operator.kernels:
            entries["kernels"] = here
        if operator.gradients or operator.backward:
            entries["backward"] = here
        if operator.forward:
            key = operator.forward[0].key
            entries["forward"] = key, key
        if operator.output_differentiability:
            entries["output_differentiability"] = here
        node = MappingNode(place.source, place.start, place.end, place.line, entries)
        python = operator.fake[0].get("python") if operator.fake else None
        return OpSpec(
            node=node,
            func=place,
            schema=schema,
            tags=operator.tags,
            variants=operator.variants,
            device_check=operator.device_check or default_device_check(operator.tags),
            overlap_check=default_overlap_check(operator.tags),
            fakes=() if python else tuple(map(self.fake, operator.fake)),
            fake_function=PythonFunction(_at(place, python)) if python else None,
            kernels=tuple(
                [
                    KernelSpec(node, kernel.devices, kernel.dtypes, None, PythonFunction(_at(place, kernel.python)))
                    for kernel in operator.kernels
                ]
            ),
            backward=self.backward(node) if "backward" in entries else None,
            forward=self.forward(node) if operator.forward else None,
            output_differentiability=operator.output_differentiability,
            autogen=(_scalar(", ".join(operator.autogen), operator.autogen_span or operator.span),)
            if operator.autogen
            else (),
        )

    def backward(self, node: MappingNode) -> Backward:
        if self.operator.backward:
            return Backward(self.place, self.place, marker=self.operator.backward)
        return Backward(node, self.place, tuple(map(self.derivative, self.operator.gradients)))

    def derivative(self, gradient: Gradient) -> Derivative:
        node = gradient.node or self.place
        key = _at(node, ", ".join(gradient.arguments))
        if gradient.formula in _MARKERS:
            return Derivative(key, gradient.arguments, None, gradient.formula)
        by_device = {}
        for device, item in gradient.by_device.items():
            other = self.formula(item.formula, item.node or node)
            if other is not None:
                by_device[device] = other
        return Derivative(key, gradient.arguments, self.formula(gradient.formula, node), "", by_device)

    def forward(self, node: MappingNode) -> Forward:
        return Forward(node, node.entries["forward"][0], tuple(map(self.tangent, self.operator.forward)))

    def tangent(self, tangent: Tangent) -> TangentRule:
        key = _at(tangent.key, tangent.output)
        if tangent.formula in _WORDS:
            return TangentRule(key, tangent.output, None, tangent.formula)
        return TangentRule(key, tangent.output, self.formula(tangent.formula, tangent.node))

    def fake(self, rule: Mapping[str, str]) -> FakeRule:
        place = self.fake_place
        formulas = {name: self.formula(text, place) for name, text in rule.items()}
        node = MappingNode(place.source, place.start, place.end, place.line, dict.fromkeys(rule, (place, place)))
        return FakeRule(
            node, formulas.get("like"), formulas.get("shape"), formulas.get("dtype"), formulas.get("device")
        )

    def formula(self, text: str, place: Scalar) -> Formula | None:
        formula, found = read_formula(_at(place, text))
        self.faults += found
        return formula


# ---------------------------------------------------------------- nodes at places of the imported files


def _at(place: Scalar, value: str) -> Scalar:
    """Another text that stands where ``place`` does."""
    return Scalar(place.source, place.start, place.end, place.line, value, "")


def _scalar(value: str, span: Span) -> Scalar:
    return Scalar(span.source, span.offset, span.offset + span.length, span.line, value, "")


def _stands_in(node: Scalar, span: Span) -> bool:
    return node.source is span.source and node.start <= span.offset < node.end
