"""Docstrings: any text as a docstring whose lines fit."""

from __future__ import annotations

import re
import textwrap

from mtcodegen.pycode.layout import WIDTH

__all__ = ["docstring"]

# Characters that Python refuses in a source (NUL), or that would end a line where none ends.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def docstring(doc: str) -> tuple[str, ...]:
    """The lines of a docstring, with its quotes; none for no text."""
    if not doc:
        return ()
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    first, *rest = [part for line in text.split("\n") for part in _folded(line.rstrip())]
    if rest:
        return f'"""{first}', *rest, '"""'
    return (f'"""{first}{" " if first.endswith(chr(34)) else ""}"""',)


def _folded(line: str) -> list[str]:
    """A line of a docstring as lines that fit."""
    if len(line) <= WIDTH - 12:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, WIDTH - 12, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]
