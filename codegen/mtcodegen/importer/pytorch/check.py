"""The formulas of derivatives.yaml against their operators: names, counts, and how gradients are called."""

from __future__ import annotations

from collections.abc import Iterable

from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.importer.pytorch.derivatives import Derivatives, Formula, FormulaKind, Variant
from mtcodegen.importer.pytorch.nodes import CppExpr, Name
from mtcodegen.importer.pytorch.reads import reads
from mtcodegen.importer.pytorch.resolve import gradient_counts, resolve
from mtcodegen.importer.pytorch.scope import NameKind, Scope, Words, backward_scope, forward_scope

__all__ = ["check_derivatives"]

_FORWARD = (FormulaKind.FORWARD, FormulaKind.AUTO_LINEAR, FormulaKind.AUTO_ELEMENT_WISE)


def check_derivatives(entries: Iterable[Derivatives], words: Words) -> list[Diagnostic]:
    """Everything that is wrong with the formulas of ``entries``."""
    found: list[Diagnostic] = []
    for entry in entries:
        for variant in entry.variants:
            found += _Checker(entry, variant, words).check()
    return found


class _Checker:
    def __init__(self, entry: Derivatives, variant: Variant, words: Words) -> None:
        self.entry = entry
        self.variant = variant
        self.words = words
        self.found: list[Diagnostic] = []

    def fault(self, code: Code, message: str, formula: Formula, node: CppExpr, hint: str = "") -> None:
        span = formula.text.locate(node.offset, node.length)
        self.found.append(Diagnostic(code, message, span, hint))

    def check(self) -> list[Diagnostic]:
        backward = backward_scope(self.entry.schema, self.entry.differentiable_outputs)
        forward: Scope | None = None
        for formula in self.variant.formulas:
            if formula.expr is None:
                continue
            if formula.kind is FormulaKind.BACKWARD:
                self.check_names(formula, formula.expr, backward.with_mask(len(formula.names)))
                self.check_count(formula, formula.expr)
            else:
                forward = forward or forward_scope(self.entry.schema, self.variant.differentiable)
                self.check_names(formula, formula.expr, forward)
                self.check_primals(formula, formula.expr)
        self.check_gradient_names(backward)
        self.check_markers()
        return self.found

    def check_names(self, formula: Formula, expr: CppExpr, scope: Scope) -> None:
        for error in resolve(expr, scope, self.words):
            span = formula.text.locate(error.offset, error.length)
            self.found.append(Diagnostic(error.code, error.message, span, error.hint or ""))

    def check_count(self, formula: Formula, expr: CppExpr) -> None:
        wanted = len(formula.names)
        wrong = gradient_counts(expr, self.words) - {wanted} if wanted > 1 else set()
        if wrong:
            given = "one value" if 1 in wrong else f"{min(wrong)} values"
            message = f"{given} for {wanted} gradients: `{formula.key.value}`"
            self.fault(
                Code.MT602, message, formula, expr, "write a formula for each, or call a function that returns all"
            )

    def check_primals(self, formula: Formula, expr: CppExpr) -> None:
        differentiable = set(self.variant.differentiable)
        found = [(name, node) for name, _, node in reads(expr) if name in differentiable]
        if not found:
            return
        lists = {argument.name for argument in self.entry.schema.arguments if str(argument.type).endswith("[]")}
        for name, node in found:
            if name not in lists:
                hint = f"write `{name}_p` for its value, `{name}_t` for its tangent"
                self.fault(Code.MT605, f"`{name}` is ambiguous in a forward-mode formula", formula, node, hint)

    def check_gradient_names(self, scope: Scope) -> None:
        used: dict[str, tuple[Formula, CppExpr]] = {}
        for formula in self.variant.of(FormulaKind.BACKWARD):
            for name, _, node in reads(formula.expr or Name("")):
                kind = scope.names.get(name)
                if kind is NameKind.GRADIENTS:
                    used.setdefault("grads", (formula, node))
                elif kind is NameKind.GRADIENT:
                    used.setdefault("grad" if name == "grad" else "grad_<return>", (formula, node))
        if len(used) > 1:
            formula, node = [*used.values()][1]
            first, second = [*used][:2]
            self.fault(Code.MT604, f"`{second}` beside `{first}`, which another part of the entry uses", formula, node)

    def check_markers(self) -> None:
        forward = self.variant.of(*_FORWARD)
        for formula in forward:
            alone = len(forward) == 1 and len(formula.names) == 1
            message = ""
            if formula.kind is FormulaKind.AUTO_LINEAR and not (alone and self.variant.differentiable):
                message = "`auto_linear` needs one differentiable output, and an argument with a formula"
            elif formula.kind is FormulaKind.AUTO_ELEMENT_WISE and not (
                alone and len(self.variant.differentiable) == 1
            ):
                message = "`auto_element_wise` needs one differentiable argument with a formula, and one output"
            if message:
                self.found.append(Diagnostic(Code.MT609, message, formula.text.span))
