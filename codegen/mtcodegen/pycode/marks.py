"""Where a line of Python can be broken: its brackets, commas and operators, found without a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["OF_NUMBERS", "STRING", "Brackets", "Operator", "Span", "read_marks"]

STRING = r""""[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'"""  # brackets in a string are none
_TARGETS = r"for [\w, ]+? in"  # of a comprehension: commas in it separate nothing else
_BRACKET = re.compile(rf"{STRING}| {_TARGETS} |[()\[\]{{}}]|, *|  #.*")
_ASSIGNMENT = re.compile(r" (?:[-+*/%@&|^]|//|\*\*|<<|>>)?= ")
_OPERATOR = re.compile(
    rf"{STRING}| ({_TARGETS}|if|else|or|and|not in|in|is not|is|[=!]=|[<>]=?|\||\^|&|<<|>>|[-+*/%@]|//) "
)
_FIRST_OPERATOR = re.compile(rf"(?:{_TARGETS}|not in|is not) ")  # which has spaces in it, where a part begins with it
# From the loosest to the tightest. ``for name in`` of a comprehension counts as one operator.
_WORDS = ("for", "if else", "or", "and", "in not is == != < <= > >=", "|", "^", "&", "<< >>", "+ -", "* / // % @")
_PRIORITIES = {word: priority for priority, words in enumerate(_WORDS) for word in words.split()}
OF_NUMBERS = _PRIORITIES["|"]  # arithmetic and bitwise operators have this priority or a higher one


class Operator(NamedTuple):
    """An operator and the spaces around it."""

    start: int
    end: int
    priority: int


class Brackets:
    """A pair of brackets and what stands directly in it. The outermost stands for the whole line."""

    def __init__(self, opening: int) -> None:
        self.opening, self.closing = opening, -1
        self.commas: list[tuple[int, int]] = []  # each with the spaces behind it
        self.inner: list[Brackets] = []
        self.comment = -1  # the position of the two spaces before it; -1 for none


class Span(NamedTuple):
    """The part of ``text`` from ``low`` to ``high``, which stands in the brackets ``within``."""

    text: str
    within: Brackets
    low: int
    high: int

    def __str__(self) -> str:
        return self.text[self.low : self.high]

    @property
    def width(self) -> int:
        """Its width on one line."""
        return self.high - self.low

    def brackets(self) -> list[Brackets]:
        """The brackets directly in it that are not empty."""
        low, high = self.low, self.high
        return [b for b in self.within.inner if low <= b.opening and b.closing < high and b.closing > b.opening + 1]

    def operators(self) -> list[Operator]:
        """The operators directly in it, but for one that it begins with."""
        first = _FIRST_OPERATOR.match(self.text, self.low, self.high)
        part = self if first is None else self._replace(low=first.end() - 1)
        found = (item for low, high in part._gaps() for item in _OPERATOR.finditer(self.text, low, high) if item[1])
        return [Operator(*item.span(), _PRIORITIES[item[1].partition(" ")[0]]) for item in found]

    def assignments(self) -> list[tuple[int, int]]:
        """The places of ` = ` directly in it."""
        return [item.span() for low, high in self._gaps() for item in _ASSIGNMENT.finditer(self.text, low, high)]

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """The ranges of it that are outside all brackets in it."""
        low = self.low
        for item in self.within.inner:
            if self.low <= item.opening < self.high:
                yield low, item.opening
                low = item.closing + 1
        yield low, self.high

    def items(self) -> list[Span]:
        """The parts between commas."""
        return self.split([comma for comma in self.within.commas if self.low <= comma[0] < self.high])

    def split(self, places: list[tuple[int, int]]) -> list[Span]:
        """The parts between ``places``, which are ranges of the text."""
        lows = [self.low, *(end for _, end in places)]
        highs = [*(start for start, _ in places), self.high]
        return [Span(self.text, self.within, low, high) for low, high in zip(lows, highs, strict=True) if low < high]


def read_marks(text: str) -> Brackets | None:
    """The brackets and commas of a line; None where its brackets do not match."""
    current = Brackets(-1)
    around: list[Brackets] = []
    for mark in _BRACKET.finditer(text):
        start = mark.start()
        char = text[start]
        if char == ",":
            current.commas.append(mark.span())
        elif char in "([{":
            around.append(current)
            current = Brackets(start)
            around[-1].inner.append(current)
        elif char in ")]}":
            if not around:
                return None
            current.closing = start
            current = around.pop()
        elif mark[0].startswith("  #") and not around:
            current.comment = start
    return None if around else current
