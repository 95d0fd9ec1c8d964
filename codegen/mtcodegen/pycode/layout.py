"""Line breaking: what ``ruff format`` would make of the lines of a rendered module that are too long.

Templates write a statement on one line. Lines that fit are left as they are; a longer one is parsed and laid out again
with the usual pretty-printing algebra (text, line, indent, group), by the rules of Black's style.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mtcodegen.pycode.pretty import INDENT, WIDTH, render
from mtcodegen.pycode.statements import LONGEST, statement

__all__ = ["wrap"]


def wrap(text: str) -> str:
    """``text`` with each statement that is too long for its line laid out over several."""
    return "\n".join([_wrap_line(line) if len(line) > WIDTH else line for line in text.split("\n")])


def _wrap_line(line: str) -> str:
    code = line.lstrip(" ")
    indent = len(line) - len(code)
    if code.startswith(("#", '"')):
        return line
    simple = _one_bracket(code, indent)
    if simple is not None:
        return simple
    try:
        doc = statement(code)
    except SyntaxError:  # a line of a statement that is laid out already, with a name or a type that fits on none
        return line
    return line if doc is None else " " * indent + render(doc, indent)


# Most long lines have one pair of brackets to break in, and items between them that fit on a line each: a function's
# signature, a call, a list of names. They need no parser, which would take twenty times as long.
_PLAIN_TEXT = r"""[^()'"\\{}=]"""
_OPENING = re.compile(
    rf"(?:def \w+|(?:@|return |raise )?(?:\w+(?:, \w+)*(?:: {_PLAIN_TEXT}+)? = )?[\w.]+)\(|__all__ = \[", re.ASCII
)
_CLOSING = re.compile(rf"[)\]]|\) -> {_PLAIN_TEXT}+:(?: \.\.\.)?")
_MORE_THAN_COMMAS = re.compile(r"""[()'"\\{}]|\[[^\]]*,""")
_MARK = re.compile(rf""""[^"\\]{{0,{LONGEST - 2}}}"|(\w?)([(\[{{])|[)\]}}'"\\]|, """, re.ASCII)


def _one_bracket(code: str, indent: int) -> str | None:
    """The items on a line of their own, or each on one; None where there is more to it."""
    opening = _OPENING.match(code)
    if opening is None or indent + opening.end() > WIDTH:
        return None
    start, end = opening.end(), max(code.rfind(")"), code.rfind("]")) if code[-1] in ")]" else code.rfind(")")
    items = _items(code[start:end]) if _CLOSING.fullmatch(code, max(end, 0)) else None
    return _broken(code[:start], code[start:end], items, code[end:], indent) if items else None


def _broken(opening: str, text: str, items: Sequence[str], closing: str, indent: int) -> str | None:
    """``text``, which is ``items`` with commas between, on one line or each on one; None where that is too long."""
    room = WIDTH - indent - INDENT
    inner = "\n" + " " * (indent + INDENT)
    if opening[-1] != "(" or len(text) > room:
        if max(map(len, items)) >= room:
            return None
        text = f",{inner}".join(items) + ","
    return f"{' ' * indent}{opening}{inner}{text}\n{' ' * indent}{closing}"


def _items(text: str) -> list[str] | None:
    """What stands between the commas; None where brackets do not match, or some could go."""
    if _MORE_THAN_COMMAS.search(text) is None:  # most signatures
        return text.split(", ")
    found: list[str] = []
    start = 0
    open_: list[tuple[str, bool]] = []  # the brackets around, and whether there has to be a comma in them
    for mark in _MARK.finditer(text):
        word = mark[0]
        if mark[2]:
            open_.append((_CLOSERS[mark[2]], mark[2] == "(" and not mark[1]))
        elif word == ", ":
            if open_:
                open_[-1] = open_[-1][0], False
            else:
                found.append(text[start : mark.start()])
                start = mark.end()
        elif word in ")]}":
            closer, needs_comma = open_.pop() if open_ else ("", False)
            if closer != word or (needs_comma and text[mark.start() - 1] != ","):
                return None
        elif len(word) == 1:  # a quote or a backslash
            return None
    return None if open_ else [*found, text[start:]]


_CLOSERS = {"(": ")", "[": "]", "{": "}"}
