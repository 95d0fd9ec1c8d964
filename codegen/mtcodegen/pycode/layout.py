"""Where lines break: what ``ruff format`` makes of the lines of a rendered module that are too long.

Templates write a statement on one line, and what fits is left as it is. A longer one is broken at some of its brackets,
commas and operators, by the rules of Black's style. Nothing is spelled anew, but texts that are cut into several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from keyword import iskeyword

from mtcodegen.pycode.literals import pieces
from mtcodegen.pycode.marks import OF_NUMBERS, STRING, Brackets, Span, read_marks

__all__ = ["WIDTH", "wrap"]

WIDTH = 120
_INDENT = 4

_FIRST = re.compile(r"@|\w+")
_DECLARATION = re.compile(r"[\w.]+: ")
_NAME_OR_TEXT = re.compile(rf"\w+|f?(?:{STRING})")
_TEXT = re.compile(rf"(\w+=)?(f?(?:{STRING}))")
_SIGN = re.compile(r"[-+~]|not ")


def wrap(text: str) -> str:
    """``text`` with each statement that is too long for its line laid out over several."""
    lines = []
    in_docstring = False
    for line in text.split("\n"):
        if '"""' in line and (in_docstring or line.lstrip(" ").startswith('"""')):
            in_docstring = not in_docstring and line.count('"""') == 1
            lines.append(line)
        else:
            lines.append(_broken(line) if len(line) > WIDTH and not in_docstring else line)
    return "\n".join(lines)


def _broken(line: str) -> str:
    code = line.lstrip(" ")
    indent = len(line) - len(code)
    marks = None if code.startswith("#") else read_marks(code)
    return line if marks is None else line[:indent] + _Statement(code, indent).broken(marks)


class _Statement:
    """A statement that begins in column ``indent``.

    Of a span of it, ``indent`` is the column of the lines that it is broken into, ``column`` where the first of them
    goes on, and ``behind`` the width of what has to follow on the last.
    """

    def __init__(self, text: str, indent: int) -> None:
        self.text, self.indent = text, indent

    def broken(self, marks: Brackets) -> str:
        """Its lines; unchanged where it is of a kind that generated code does not have."""
        end = len(self.text) if marks.comment < 0 else marks.comment
        whole = Span(self.text, marks, 0, end)
        found = _FIRST.match(self.text)
        first = found[0] if found else ""
        if first == "@":
            lines = self._in_brackets(whole, self.indent, self.indent, 0)
        elif first in ("def", "class"):
            lines = self._header(whole)
        elif first == "from":
            lines = self._import(end)
        elif first in ("if", "elif", "return", "raise"):
            lines = self._with_value(whole, len(first) + 1)
        elif iskeyword(first):
            lines = str(whole)
        elif equals := whole.assignments():
            lines = self._assignment(whole, equals)
        elif _DECLARATION.match(self.text):
            lines = str(whole)
        else:
            lines = self._value(whole, self.indent, 0)
        return lines + self.text[end:]

    # ------------------------------------------------------------ statements

    def _header(self, whole: Span) -> str:
        """``def`` or ``class``: broken between its parentheses, never in the annotation behind them."""
        inner = whole.within.inner
        end = inner[0].closing + 1 if inner else whole.high
        head = Span(self.text, whole.within, 0, end)
        return self._in_brackets(head, self.indent, self.indent, whole.high - end) + self.text[end : whole.high]

    def _import(self, end: int) -> str:
        """``from module import names``: the names in brackets, one a line."""
        start = self.text.index(" import ") + len(" import ")
        names = _Statement(f"{self.text[:start]}({self.text[start:end]},)", self.indent)
        marks = read_marks(names.text)
        return names.text if marks is None else names._header(Span(names.text, marks, 0, len(names.text)))

    def _with_value(self, whole: Span, start: int) -> str:
        """``return value``, ``if value:``."""
        colon = int(self.text[whole.high - 1] == ":")
        end = whole.high - colon
        value = self._value(Span(self.text, whole.within, start, end), self.indent + start, colon)
        return self.text[:start] + value + self.text[end : whole.high]

    def _assignment(self, whole: Span, equals: Sequence[tuple[int, int]]) -> str:
        """``target = value``, or several targets, of which the first may be broken, too."""
        first, last = equals[0], equals[-1]
        target, between = self.text[: first[0]], self.text[first[0] : last[1]]
        value = Span(self.text, whole.within, last[1], whole.high)
        if ": " not in target:
            behind = len(between) + (value.width if self._is_plain(value) else 1)
            target = self._value(Span(self.text, whole.within, 0, first[0]), self.indent, behind)
        column = self.indent + len(target) if "\n" not in target else len(target) - target.rindex("\n") - 1
        return target + between + self._value(value, column + len(between), 0)

    # ------------------------------------------------------------ what ends a statement

    def _value(self, span: Span, column: int, behind: int) -> str:
        """Split inside its own brackets, or else inside added parentheses."""
        if column + span.width + behind <= WIDTH or self._is_plain(span):
            return str(span)
        inner = self._breakable(span)
        before = inner[0].opening + 1 - span.low if inner else span.width + behind  # up to the first possible break
        if self._splits_in_brackets(span) and column + before <= WIDTH:
            return self._in_brackets(span, self.indent, column, behind)
        return f"({self._between(span, self.indent)})"

    def _is_plain(self, span: Span) -> bool:
        """Whether it is a name or a constant, which parentheses would not make shorter."""
        return _NAME_OR_TEXT.fullmatch(self.text, span.low, span.high) is not None

    def _splits_in_brackets(self, span: Span) -> bool:
        """Whether it is a call, a list, or two operands of which the first begins or the last ends with brackets."""
        if len(span.items()) > 1:
            return False
        priorities = [item.priority for item in span.operators()]
        if not priorities:
            sign = _SIGN.match(self.text, span.low, span.high)
            return self.text[span.high - 1] in ")]}" and (sign is None or self._ends_in_brackets(span, sign.end()))
        loosest = min(priorities)
        if loosest < OF_NUMBERS or priorities.count(loosest) > 1:
            return False
        return self._begins_in_brackets(span) or self._ends_in_brackets(span, span.operators()[-1].end)

    def _begins_in_brackets(self, span: Span) -> bool:
        """Whether its first operand is something in parentheses."""
        first = next(iter(span.brackets()), None)
        return first is not None and first.opening == span.low and first.closing + 1 == span.operators()[0].start

    def _ends_in_brackets(self, span: Span, start: int) -> bool:
        """Whether the last operand, which begins at ``start``, is a call or something in parentheses."""
        last = next(iter(reversed(span.brackets())), None)
        is_last = last is not None and last.closing == span.high - 1 and self.text[last.closing] == ")"
        return is_last and _SIGN.match(self.text, start, span.high) is None

    # ------------------------------------------------------------ expressions

    def _expression(self, span: Span, indent: int, column: int, behind: int) -> str:
        """An expression within brackets: broken before its loosest operators; without any, inside its own brackets."""
        if column + span.width + behind <= WIDTH:
            return str(span)
        operators = span.operators()
        if operators:
            loosest = min(item.priority for item in operators)
            first, *others = span.split([(i.start, i.start + 1) for i in operators if i.priority == loosest])
            parts = [self._expression(first, indent, column, 0)]
            parts += [self._expression(part, indent, indent, 0) for part in others[:-1]]
            return _lines([*parts, self._expression(others[-1], indent, indent, behind)], indent)
        text = _TEXT.fullmatch(self.text, span.low, span.high)
        return self._in_brackets(span, indent, column, behind) if text is None else _cut(text[1], text[2], indent)

    def _in_brackets(self, span: Span, indent: int, column: int, behind: int) -> str:
        """Broken inside each bracket that does not fit in the line, together with the text up to the next bracket."""
        parts, low = [], span.low
        inner = self._breakable(span)
        for item, following in zip(inner, [*inner[1:], None], strict=False):
            end = item.closing + 1
            column += item.opening - low
            until = span.high + behind if following is None else following.opening + 1
            if column + until - item.opening <= WIDTH:
                parts.append(self.text[low:end])
                column += end - item.opening
            else:
                parts += [self.text[low : item.opening + 1], self._inside(item, indent), self.text[item.closing]]
                column = indent + 1
            low = end
        return "".join([*parts, self.text[low : span.high]])

    def _breakable(self, span: Span) -> list[Brackets]:
        return [item for item in span.brackets() if not self._is_slice(item)]

    def _is_slice(self, brackets: Brackets) -> bool:
        """Whether they have a slice or several indices in them."""
        if self.text[brackets.opening] != "[" or not self._follows(brackets):
            return False
        return bool(brackets.commas) or ":" in self.text[brackets.opening : brackets.closing]

    def _follows(self, brackets: Brackets) -> bool:
        """Whether they are part of a call or a subscript."""
        return brackets.opening > 0 and self.text[brackets.opening - 1] not in " =([{*-+~"

    def _inside(self, brackets: Brackets, indent: int) -> str:
        """The content of brackets on lines of its own: arguments on one line where they fit, else one item a line."""
        span = Span(self.text, brackets, brackets.opening + 1, brackets.closing)
        inner = indent + _INDENT
        if self.text[brackets.opening] == "(" and self._follows(brackets) and inner + span.width <= WIDTH:
            return f"\n{' ' * inner}{span!s}\n{' ' * indent}"
        return self._between(span, indent)

    def _between(self, span: Span, indent: int) -> str:
        """The content of brackets, one item a line."""
        inner = indent + _INDENT
        items = span.items()
        if items[-1].high == span.high and len(items) == 1:
            lines = [self._expression(span, inner, inner, 0)]
        else:
            lines = [f"{self._expression(item, inner, inner, 1)}," for item in items]
        return f"\n{' ' * inner}{_lines(lines, inner)}\n{' ' * indent}"


def _cut(name: str | None, text: str, indent: int) -> str:
    """A string literal as several, one a line; in parentheses where it is passed by name."""
    if name is None:
        return _lines(pieces(text, WIDTH - indent - 1), indent)
    inner = indent + _INDENT
    return f"{name}(\n{' ' * inner}{_lines(pieces(text, WIDTH - inner), inner)}\n{' ' * indent})"


def _lines(parts: Sequence[str], indent: int) -> str:
    return f"\n{' ' * indent}".join(parts)
