"""String literals, as ``ruff format`` would leave them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

__all__ = ["pieces", "quoted", "strings"]


def quoted(text: str) -> str:
    """A string literal in the quotes that the formatter prefers."""
    literal = repr(text)
    if literal[0] == "'" and text.count('"') <= text.count("'"):
        return '"' + literal[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return literal


def strings(values: Sequence[str]) -> str:
    """A tuple of string literals."""
    return _strings(tuple(values))


@functools.lru_cache(maxsize=1024)  # operators have few different sets of tags
def _strings(values: tuple[str, ...]) -> str:
    items = [quoted(value) for value in values]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def pieces(text: str, room: int) -> list[str]:
    """Literals that together make ``text``, each at most ``room`` wide where there are spaces to break at."""
    if quoted(text) == f'"{text}"':  # and so is each part of it
        return [f'"{part}"' for part in _cut(text, room - 2)]
    found: list[str] = []
    current = ""
    for word in re.findall(r"[^ \n]*(?:\n|[ ]|$)", text):
        if current and (len(quoted(current + word)) > room or current.endswith("\n")):
            found.append(quoted(current))
            current = ""
        current += word
    return [*found, quoted(current)] if current else found


def _cut(text: str, room: int) -> Iterator[str]:
    """Parts of ``text``, each up to the last space that there is room for."""
    start = 0
    while len(text) - start > room:
        end = text.rfind(" ", start, start + room) + 1 or text.find(" ", start) + 1 or len(text)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
