"""An imported file through the generator's own checks: what it refuses was not carried over."""

from __future__ import annotations

from mtcodegen.diagnostics import Diagnostic
from mtcodegen.importer.model import Imported, Note
from mtcodegen.importer.render import Rendered
from mtcodegen.load import load
from mtcodegen.operators import operator_table
from mtcodegen.parse import parse
from mtcodegen.resolve import resolve
from mtcodegen.source import Source
from mtcodegen.validate import validate

_MARKERS = ("not_implemented", "not_differentiable")

__all__ = ["check_text", "withdraw_refused"]


def check_text(text: str, name: str = "imported.yaml") -> list[Diagnostic]:
    """What the generator has against a file."""
    document, found = load(Source(name, text))
    if document is None or found:
        return found
    found = validate(document)
    if found:
        return found
    file, found = parse(document)
    if found:
        return found
    return resolve(file, operator_table(file.ops, set()))[1]


def withdraw_refused(rendered: Rendered) -> bool:
    """Turn every formula that the generator refuses into ``not_implemented``, with a note; whether there was one."""
    refused: dict[int, Diagnostic] = {}
    for item in check_text(rendered.text):
        if item.span is not None:
            refused.setdefault(item.span.line, item)
    found = False
    for line, item in refused.items():
        if line in rendered.fakes:
            found |= _withdraw_fake(rendered.fakes[line], item)
        if line not in rendered.gradients:
            continue
        operator, gradient = rendered.gradients[line]
        if gradient.formula in _MARKERS:  # what is wrong is not the formula
            continue
        text = f"{', '.join(gradient.arguments)}: {gradient.original}"
        operator.notes.append(Note(text, item.message, gradient.span))
        gradient.formula = "not_implemented"
        found = True
    return found


def _withdraw_fake(operator: Imported, item: Diagnostic) -> bool:
    if operator.fake_span is None or not operator.fake:
        return False
    operator.notes.append(Note(f"fake: {'; '.join(operator.fake)}", item.message, operator.fake_span))
    operator.fake = ()
    return True
