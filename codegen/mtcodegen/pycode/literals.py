"""String literals, as ``ruff format`` would leave them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

__all__ = ["pieces", "quoted", "requoted", "strings"]

# A word with the space or `\n` behind it; a field of a formatted string, with any spaces in it, is part of one word.
_WORD = re.compile(r"(?=.)(?:\\[^n]|[^ \\])*(?:\\n| |$)")
_FORMATTED_WORD = re.compile(r"(?=.)(?:\{\{|\}\}|\{[^{}]*\}|\\[^n]|[^ \\{])*(?:\\n| |$)")
_FIELD = re.compile(r"(?<!\{)(?:\{\{)*\{(?!\{)")


def quoted(text: str) -> str:
    """A string literal in the quotes that the formatter prefers."""
    literal = repr(text)
    if literal[0] == "'" and text.count('"') <= text.count("'"):
        return '"' + literal[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return literal


def requoted(body: str) -> str:
    """What stands between double quotes as a literal, in single ones where that saves it its backslashes."""
    if '\\"' in body and "'" not in body:
        return "'" + body.replace('\\"', '"') + "'"
    return f'"{body}"'


def strings(values: Sequence[str]) -> str:
    """A tuple of string literals."""
    items = [quoted(value) for value in values]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def pieces(literal: str, room: int) -> list[str]:
    """``literal`` cut into literals that are at most ``room`` wide, where there are spaces to cut at."""
    formatted = literal[0] == "f"
    found = [""]
    for word in (_FORMATTED_WORD if formatted else _WORD).findall(literal[1 + formatted : -1]):
        if found[-1] and (found[-1].endswith("\\n") or len(_literal(found[-1] + word, literal)) > room):
            found.append("")
        found[-1] += word
    return [_literal(part, literal) for part in found]


def _literal(part: str, literal: str) -> str:
    """``part`` of the text of ``literal`` as a literal."""
    if literal[0] == '"' and "\\" not in part:
        return f'"{part}"'
    if literal[0] != "f":
        return quoted(ast.literal_eval(literal[0] + part + literal[0]))
    if _FIELD.search(part):
        return "f" + (requoted(part.replace('"', '\\"')) if literal[1] == "'" else f'"{part}"')
    return _literal(part.replace("{{", "{").replace("}}", "}"), literal[1:])
