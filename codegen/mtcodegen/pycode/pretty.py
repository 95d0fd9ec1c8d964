"""The usual pretty-printing algebra: text, lines, indentation, and groups that are on one line where they fit.

After P. Wadler, "A prettier printer" (2003), with what Black's style asks for beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "INDENT",
    "SOFT",
    "WIDTH",
    "Doc",
    "Group",
    "IfBreak",
    "Line",
    "Nest",
    "OrParentheses",
    "brackets",
    "commas",
    "group",
    "join",
    "listed",
    "render",
]

WIDTH = 120
INDENT = 4


@dataclass(frozen=True, eq=False)
class Line:
    """A place to break: nothing (``flat`` empty) or a space where the group fits on one line."""

    flat: str = " "


@dataclass(frozen=True, eq=False)
class IfBreak:
    """Text that is there only where the enclosing group is broken."""

    text: str


@dataclass(frozen=True, eq=False)
class Nest:
    """One level of indentation more at the line breaks within."""

    body: Doc


@dataclass(frozen=True, eq=False)
class Group:
    """``width`` is that of all in it on one line."""

    body: Doc
    width: int


@dataclass(frozen=True, eq=False)
class OrParentheses:
    """``bare``, or ``inside`` parentheses where not even what stands before its first break would fit."""

    bare: Doc
    inside: Doc


Doc = str | Line | IfBreak | Nest | Group | OrParentheses | tuple["Doc", ...]
SOFT = Line("")
_Item = tuple[int, bool, Doc]  # indentation, broken, document


def render(doc: Doc, indent: int) -> str:
    """The text of a document that begins in column ``indent``, broken where its groups do not fit."""
    out: list[str] = []
    column = indent
    stack: list[_Item] = [(indent, True, doc)]
    while stack:
        level, broken, item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            column += len(item)
        elif isinstance(item, tuple):
            stack += [(level, broken, part) for part in reversed(item)]
        elif isinstance(item, Nest):
            stack.append((level + INDENT, broken, item.body))
        elif isinstance(item, Group):
            stack.append((level, not _fits(item.width, stack, WIDTH - column), item.body))
        elif isinstance(item, OrParentheses):
            width, breaks = _before_break(item.bare)
            fits = _fits(width, [] if breaks else stack, WIDTH - column)
            stack.append((level, broken, item.bare if fits else ("(", Nest((SOFT, item.inside)), SOFT, ")")))
        elif isinstance(item, IfBreak):
            stack.append((level, broken, item.text if broken else ""))
        elif broken:
            out.append("\n" + " " * level)
            column = level
        else:
            stack.append((level, broken, item.flat))
    return "".join(out)


def _fits(width: int, rest: Sequence[_Item], room: int) -> bool:
    """Whether something and what stands before the next line break behind it fit in ``room`` columns."""
    room -= width
    for _, broken, item in reversed(rest):
        if room < 0:
            return False
        width, breaks = _before_break(item) if broken else (_width(item), False)
        room -= width
        if breaks:
            break
    return room >= 0


def _width(doc: Doc) -> int:
    """The width of a document on one line."""
    if isinstance(doc, str):
        return len(doc)
    if isinstance(doc, tuple):
        return sum(map(_width, doc))
    if isinstance(doc, Group):
        return doc.width
    if isinstance(doc, Nest):
        return _width(doc.body)
    if isinstance(doc, OrParentheses):
        return _width(doc.bare)
    return len(doc.flat) if isinstance(doc, Line) else 0


def _before_break(doc: Doc) -> tuple[int, bool]:
    """The width of what stands before the first place to break, and whether there is one."""
    if isinstance(doc, tuple):
        total = 0
        for part in doc:
            width, breaks = _before_break(part)
            total += width
            if breaks:
                return total, True
        return total, False
    if isinstance(doc, Nest | Group):
        return _before_break(doc.body)
    if isinstance(doc, Line | OrParentheses):
        return int(isinstance(doc, OrParentheses)), True
    return len(doc.text if isinstance(doc, IfBreak) else doc), False


def group(*body: Doc) -> Group:
    """What is on one line if it fits."""
    return Group(body, _width(body))


def join(items: Iterable[Doc], separator: Doc) -> tuple[Doc, ...]:
    """The items with ``separator`` between them."""
    result: list[Doc] = []
    for item in items:
        result += [separator, item] if result else [item]
    return tuple(result)


def listed(items: Sequence[Doc]) -> Doc:
    """Items on one line, or one a line with a comma after the last."""
    return (*join(items, (",", Line())), IfBreak(","))


def commas(items: Sequence[Doc]) -> Doc:
    """As `listed`, but one alone has no comma, in a call as in a list."""
    return items[0] if len(items) == 1 else listed(items)


def brackets(opening: str, body: Doc, closing: str) -> Doc:
    """``body`` in brackets, on lines of its own where it does not fit beside them."""
    return group(opening, Nest((SOFT, body)), SOFT, closing)
