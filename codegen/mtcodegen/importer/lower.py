"""Imported operators -> the model, as if they had been read from a file of ours.

Everything in it stands where it came from, so that what is generated names lines of the imported files. What the
generator's own checks refuse was not carried over: it is withdrawn, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mtcodegen.check.operators import table_of
from mtcodegen.check.resolve import resolve_operator
from mtcodegen.entries.model import (
    Backward,
    Derivative,
    FakeRule,
    File,
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
from mtcodegen.entries.variants import expand
from mtcodegen.expr import OperatorTable
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, without_suggestions
from mtcodegen.findings.source import Place, Span, Text
from mtcodegen.importer.keywords import with_keywords
from mtcodegen.importer.model import Gradient, Imported, Note, Tangent

__all__ = ["lower", "schema_table", "settle"]

_MARKERS = ("not_implemented", "not_differentiable")
_OF_ARGUMENTS = (Code.MT207, Code.MT229)  # the faults of a call with too many positional arguments
_WORDS = ("auto_linear", "auto_element_wise", *_MARKERS)


def schema_table(operators: Iterable[Imported], namespace: str) -> OperatorTable:
    """What the formulas of ``operators`` may call: the operators themselves, and the built-in ones."""
    return table_of(
        [item.schema if item.schema.namespace else item.schema.in_namespace(namespace) for item in operators]
    )


def settle(operators: Iterable[Imported], namespace: str, table: OperatorTable) -> list[_Lowering]:
    """The operators as the generator reads them, after formulas with faults were withdrawn, each with a note."""
    found = [_Lowering(operator, namespace, table) for operator in operators]
    with without_suggestions():  # withdrawn formulas become notes, which show no suggestions
        for item in found:
            item.settle()
    return found


def lower(
    operators: Iterable[Imported], name: str, namespace: str, table: OperatorTable
) -> tuple[File, list[Diagnostic]]:
    """The operators and their variants as a resolved file called ``name``, and the faults that are left."""
    found = settle(operators, namespace, table)
    for item in found:
        if item.faults:
            item.resolve()  # again, with suggestions
    file, faults = expand(File(name, tuple(item.declared for item in found)))
    resolved = {id(item.declared): item.resolved for item in found}
    ops = tuple(resolved.get(id(spec)) or resolve_operator(spec, table)[0] for spec in file.ops)
    return replace(file, ops=ops), [*(fault for item in found for fault in item.faults), *faults]


class _Lowering:
    """One operator; ``declared``, ``resolved`` and ``faults`` are those of the last reading."""

    declared: OpSpec
    resolved: OpSpec

    def __init__(self, operator: Imported, namespace: str, table: OperatorTable) -> None:
        self.operator = operator
        self.namespace = namespace
        self.table = table
        self.here = Text.at(operator.span, operator.schema.qualname)
        self.faults: list[Diagnostic] = []
        self.named = False

    def settle(self) -> None:
        """Resolve the operator, withdrawing formulas that have faults."""
        self.resolve()
        while self.faults and (self.name_arguments() or self.withdraw()):
            self.resolve()

    def resolve(self) -> None:
        """Resolve the operator as it is now."""
        self.faults = []
        self.declared = self.spec()
        self.resolved, found = resolve_operator(self.declared, self.table)
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
        if operator.fake and operator.fake_span is not None and _stands_in(self.fake_text, span):
            rules = "; ".join(
                f"{{{', '.join(f'{key}: {text}' for key, text in rule.items())}}}" for rule in operator.fake
            )
            operator.notes.append(Note(f"fake: {rules}", message, operator.fake_span))
            operator.fake = ()
            return True
        if any(_stands_in(text, span) for item in operator.forward for text in (item.key, item.text)):
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
        text = gradient.text
        if text is None or not _stands_in(text, span):
            return False
        self.operator.notes.append(Note(f"{', '.join(gradient.arguments)}: {text.value}", message, text.span))
        return True

    @property
    def fake_text(self) -> Text:
        """Where the shape rules stand: behind a key of their own, or with the operator."""
        span = self.operator.fake_span
        return self.here if span is None else Text.at(span, "")

    # ------------------------------------------------------------ the model

    def spec(self) -> OpSpec:
        """The operator as it is now; faults of its formulas are noted."""
        operator = self.operator
        schema = operator.schema
        if schema.namespace is None:
            schema = self.table[f"{self.namespace}::{schema.qualname}"]
        here = self.here  # findings point at nothing else of it
        keys: dict[str, Text] = {}
        if operator.fake:
            keys["fake"] = self.fake_text
        if operator.kernels:
            keys["kernels"] = here
        if operator.output_differentiability:
            keys["output_differentiability"] = here
        place = Place(here.span, keys)
        python = operator.fake[0].get("python") if operator.fake else None
        return OpSpec(
            place=place,
            func=here,
            schema=schema,
            tags=operator.tags,
            variants=operator.variants,
            device_check=operator.device_check or default_device_check(operator.tags),
            overlap_check=default_overlap_check(operator.tags),
            fakes=() if python else tuple(map(self.fake, operator.fake)),
            fake_function=PythonFunction(here.saying(python)) if python else None,
            kernels=tuple(
                [
                    KernelSpec(place, kernel.devices, kernel.dtypes, None, PythonFunction(here.saying(kernel.python)))
                    for kernel in operator.kernels
                ]
            ),
            backward=self.backward() if operator.gradients or operator.backward else None,
            forward=self.forward() if operator.forward else None,
            output_differentiability=operator.output_differentiability,
            autogen=(Text.at(operator.autogen_span or operator.span, ", ".join(operator.autogen)),)
            if operator.autogen
            else (),
        )

    def backward(self) -> Backward:
        if self.operator.backward:
            return Backward(self.here, marker=self.operator.backward)
        return Backward(self.here, tuple(map(self.derivative, self.operator.gradients)))

    def derivative(self, gradient: Gradient) -> Derivative:
        text = gradient.text or self.here
        key = text.saying(", ".join(gradient.arguments))
        if gradient.formula in _MARKERS:
            return Derivative(key, gradient.arguments, None, gradient.formula)
        by_device = {}
        for device, item in gradient.by_device.items():
            other = self.formula(item.formula, item.text or text)
            if other is not None:
                by_device[device] = other
        return Derivative(key, gradient.arguments, self.formula(gradient.formula, text), "", by_device)

    def forward(self) -> Forward:
        return Forward(self.operator.forward[0].key, tuple(map(self.tangent, self.operator.forward)))

    def tangent(self, tangent: Tangent) -> TangentRule:
        key = tangent.key.saying(tangent.output)
        if tangent.formula in _WORDS:
            return TangentRule(key, tangent.output, None, tangent.formula)
        return TangentRule(key, tangent.output, self.formula(tangent.formula, tangent.text))

    def fake(self, rule: Mapping[str, str]) -> FakeRule:
        here = self.fake_text
        formulas = {name: self.formula(text, here) for name, text in rule.items()}
        place = Place(here.span, dict.fromkeys(rule, here))
        return FakeRule(
            place, formulas.get("like"), formulas.get("shape"), formulas.get("dtype"), formulas.get("device")
        )

    def formula(self, text: str, original: Text) -> Formula | None:
        formula, found = read_formula(original.saying(text))
        self.faults += found
        return formula


def _stands_in(text: Text, span: Span) -> bool:
    """Whether a fault is one of what was made of ``text``."""
    return text.source is span.source and text.start <= span.offset < text.end
