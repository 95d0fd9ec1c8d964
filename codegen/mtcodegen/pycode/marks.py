"""Where a line of Python can be broken: its brackets, commas and operators, found without a parser."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["OF_NUMBERS", "Brackets", "Operator", "Span", "read_marks"]

_MARK = re.compile(
    r"""
    "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*'  # what stands in a text is no mark
  | (?P<opening>[(\[{])
  | (?P<closing>[)\]}])
  | (?P<comma>,)
  | [ ](?P<assignment>(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=)[ ]
  | [ ](?P<operator>for[ ][\w, ]+?[ ]in|if|else|or|and|not[ ]in|in|is[ ]not|is
        |[=!]=|[<>]=?|\||\^|&|<<|>>|[-+*/%@]|//)[ ]
  | [ ][ ](?P<comment>\#.*)
    """,
    re.VERBOSE,
)
# From what binds least to what binds most. Of a comprehension, ``for name in`` is one mark.
_WORDS = ("for", "if else", "or", "and", "in not is == != < <= > >=", "|", "^", "&", "<< >>", "+ -", "* / // % @")
_PRIORITIES = {word: priority for priority, words in enumerate(_WORDS) for word in words.split()}
OF_NUMBERS = _PRIORITIES["|"]  # the priority of what computes, or a higher one


class Operator(NamedTuple):
    """An operator, from the space before it to behind the space after it."""

    start: int
    end: int
    priority: int


class Brackets:
    """What stands directly in the brackets at ``opening`` and ``closing``; a whole line has none around it."""

    def __init__(self, opening: int) -> None:
        self.opening, self.closing = opening, -1
        self.commas: list[int] = []
        self.operators: list[Operator] = []
        self.inner: list[Brackets] = []
        self.assignments: list[tuple[int, int]] = []  # as operators
        self.comment = -1  # where one begins, with the spaces before it


class Span(NamedTuple):
    """A part of a line in some brackets, from ``low`` to ``high``."""

    within: Brackets
    low: int
    high: int

    @property
    def width(self) -> int:
        """Of all of it on one line."""
        return self.high - self.low

    def operators(self) -> list[Operator]:
        """Those that stand directly in it."""
        return [item for item in self.within.operators if self.low <= item.start and item.end <= self.high]

    def brackets(self) -> list[Brackets]:
        """Those that stand directly in it, with something in them."""
        inner = self.within.inner
        return [b for b in inner if self.low <= b.opening and b.closing < self.high and b.closing > b.opening + 1]

    def split(self, places: list[tuple[int, int]]) -> list[Span]:
        """The parts between some places, each from where it begins to where the next part does."""
        lows = [self.low, *(end for _, end in places)]
        highs = [*(start for start, _ in places), self.high]
        return [Span(self.within, low, high) for low, high in zip(lows, highs, strict=True) if low < high]

    def items(self) -> list[Span]:
        """The parts between commas."""
        return self.split([(comma, comma + 2) for comma in self.within.commas if self.low <= comma < self.high])


def read_marks(text: str) -> Brackets | None:
    """The marks of a line; None where its brackets do not match."""
    current = Brackets(-1)
    around: list[Brackets] = []
    for mark in _MARK.finditer(text):
        kind = mark.lastgroup
        if kind == "operator":
            current.operators.append(Operator(*mark.span(), _PRIORITIES[mark[kind].partition(" ")[0]]))
        elif kind == "comma":
            current.commas.append(mark.start())
        elif kind == "opening":
            around.append(current)
            current = Brackets(mark.start())
            around[-1].inner.append(current)
        elif kind == "closing":
            if not around:
                return None
            current.closing = mark.start()
            current = around.pop()
        elif kind == "assignment":
            current.assignments.append(mark.span())
        elif kind == "comment" and not around:
            current.comment = mark.start()
    return None if around else current
