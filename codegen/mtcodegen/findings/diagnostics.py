"""What is wrong, where, and how to say it: the value every stage returns beside its result."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.source import Span
from mtcodegen.system.values import dataclass

__all__ = [
    "FORMATS",
    "MOST_FINDINGS",
    "Diagnostic",
    "Related",
    "in_source_order",
    "render_github",
    "render_json",
    "render_text",
    "suggest",
    "without_suggestions",
]

MOST_FINDINGS = 1000  # where a stage stops looking: a hostile file could have millions
_CONTEXT = 160  # characters of a source line that are shown; longer lines are cut around the caret


@dataclass(frozen=True)
class Related:
    """Another place that a finding is about, and what stands there: the first of two that are the same."""

    span: Span
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """A finding. ``span`` is None where there is no place to point at (a file that cannot be read)."""

    code: Code
    message: str
    span: Span | None
    hint: str = ""
    severity: Severity = Severity.ERROR
    path: str = ""
    related: tuple[Related, ...] = ()

    @property
    def file(self) -> str:
        """The file it is about, as the user named it."""
        return self.path if self.span is None else self.span.source.path


def in_source_order(diagnostics: Iterable[Diagnostic], paths: Sequence[str]) -> list[Diagnostic]:
    """Sorted by file in the order of ``paths``, then by position; a finding is listed once."""
    order = {path: i for i, path in enumerate(paths)}

    def key(item: Diagnostic) -> tuple[int, int, str, str]:
        return (
            order.get(item.file, len(order)),
            -1 if item.span is None else item.span.offset,
            item.code.name,
            item.message,
        )

    return sorted(dict.fromkeys(diagnostics), key=key)


def suggest(name: str, known: Iterable[str]) -> str:
    """``did you mean `near`?``, or nothing where no known name is near."""
    near = nearest(name, known)
    return f"did you mean `{near}`?" if near else ""


@contextlib.contextmanager
def without_suggestions() -> Iterator[None]:
    """For findings whose hints are not shown: looking for near names takes longer than all else."""
    _silent.append(True)
    try:
        yield
    finally:
        _silent.pop()


_silent: list[bool] = []


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` most likely was meant to be."""
    return None if _silent else _nearest(name, frozenset(known))


@functools.lru_cache(maxsize=256)  # a wrong name is often there many times
def _nearest(name: str, known: frozenset[str]) -> str | None:
    from opschema.hints import near

    return near(name, known)


_COLOURS = {
    "bold": "\x1b[1m",
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1;36m",
    "gutter": "\x1b[1;34m",
}


def _paint(text: str, style: str, colour: bool) -> str:
    return f"{_COLOURS[style]}{text}\x1b[0m" if colour and text else text


def render_text(diagnostics: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """The form people read: the place, the message, and the line with a caret under the fault."""
    return "".join([_render_one(item, colour) for item in diagnostics])


def _render_one(item: Diagnostic, colour: bool) -> str:
    label = _paint(f"{item.severity}[{item.code}]", item.severity.value, colour)
    if item.span is None:
        hint = f"\n   = {item.hint}" if item.hint else ""
        shown = f"{_paint(f'{item.file}:', 'bold', colour)} {label}: {item.message}{hint}\n"
    else:
        shown = _excerpt(item.span, f"{label}: {item.message}", item.hint, item.severity.value, colour)
    for other in item.related:
        note = _paint("note", "note", colour)
        shown += _excerpt(other.span, f"{note}: {other.message}", "", "note", colour)
    return shown


def _excerpt(span: Span, message: str, hint: str, style: str, colour: bool) -> str:
    """A place, what is said of it, and its line with a caret."""
    line, column = span.source.position(span.offset)
    text, before, length = _window(span.source.line(line), column - 1, span.length)
    place, number, bar, carets = f"{span.source.path}:{line}:{column}:", str(line), "|", "^" * length
    gutter = " " * (len(number) + 1)
    if colour:
        place, number, bar = _paint(place, "bold", True), _paint(number, "gutter", True), _paint(bar, "gutter", True)
        carets = _paint(carets, style, True)
    padding = re.sub(r"[^\t]", " ", text[:before]) if "\t" in text else " " * before
    hint = f" {hint}" if hint else ""
    return f"{place} {message}\n{gutter}{bar}\n{number} {bar} {text}\n{gutter}{bar} {padding}{carets}{hint}\n"


def _window(text: str, column: int, length: int) -> tuple[str, int, int]:
    """At most ``_CONTEXT`` characters of a line around the fault, its column there, and the caret's length."""
    text = text[: column + _CONTEXT]
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text)
    start = 0
    if column >= _CONTEXT - 20:
        start = column - _CONTEXT // 4
    shown = text[start : start + _CONTEXT]
    before = column - start
    return shown.rstrip(), before, max(1, min(length, _CONTEXT - before))


def render_json(diagnostics: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """A list of objects, one a finding; lines and columns count from 1."""
    del colour
    return json.dumps([_as_object(item) for item in diagnostics], indent=2) + "\n"


def _as_object(item: Diagnostic) -> dict[str, Any]:
    result: dict[str, Any] = {"code": item.code.name, "severity": item.severity.value, "file": item.file}
    if item.span is not None:
        result |= _place(item.span)
    related = [
        {"file": other.span.source.path, **_place(other.span), "message": other.message} for other in item.related
    ]
    return result | {"message": item.message, "hint": item.hint, "related": related}


def _place(span: Span) -> dict[str, int]:
    return {"line": span.line, "column": span.column, "length": span.length}


def render_github(diagnostics: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """Workflow commands that GitHub shows beside the line in a pull request."""
    del colour
    return "".join(line for item in diagnostics for line in _github_lines(item))


def _github_lines(item: Diagnostic) -> Iterator[str]:
    """The finding, which names the other places, and a notice at each of them."""
    places = [f"{other.message.removesuffix(' here')} at {_position(other.span)}" for other in item.related]
    more = "; ".join(text for text in (*places, item.hint) if text)
    yield _github_line(
        item.severity.value, item.code, item.file, item.span, item.message + (f" ({more})" if more else "")
    )
    for other in item.related:
        if not other.span.source.is_file:
            continue  # the text of a revision: there is no file to annotate
        where = "" if item.span is None else f" (see {_position(item.span)})"
        yield _github_line("notice", item.code, other.span.source.path, other.span, f"{other.message}{where}")


def _position(span: Span) -> str:
    return f"{span.source.path}:{span.line}:{span.column}"


def _github_line(command: str, code: Code, file: str, span: Span | None, message: str) -> str:
    where = f"file={_github_escape(file, property=True)}"
    if span is not None:
        where += f",line={span.line},col={span.column},endColumn={span.column + span.length}"
    return f"::{command} {where},title={code}::{_github_escape(message)}\n"


def _github_escape(text: str, *, property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property else text


FORMATS: dict[str, Callable[..., str]] = {"text": render_text, "json": render_json, "github": render_github}
