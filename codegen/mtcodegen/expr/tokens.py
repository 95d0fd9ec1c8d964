"""Text -> tokens: shared by the lexers of our expressions and of PyTorch's, which differ in their patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code

__all__ = ["Token", "TokenKind", "bad_character", "check_digits", "cut"]

_SPACE = " \t\r\n"
_MAX_DIGITS = 400  # a float has at most some 330; Python refuses to read very long integers


class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    OPERATOR = "operator"
    KEYWORD = "keyword"
    COMMENT = "comment"
    END = "end"


class Token(NamedTuple):
    """A token, and where it stands in the text."""

    kind: TokenKind
    text: str
    offset: int


_KINDS = {kind.value: kind for kind in TokenKind}


def cut(
    text: str, pattern: re.Pattern[str], checks: Mapping[str, Callable[[str, str, int], None]], keywords: frozenset[str]
) -> Iterator[Token]:
    """The tokens of ``text``, the last of kind END.

    ``pattern`` matches any token and the space behind it; its groups are named after the kinds. ``checks`` are called
    with the text, a token of their group and its place, and raise ExpressionError where it is none.
    """
    for match in pattern.finditer(text, len(text) - len(text.lstrip(_SPACE))):
        group, offset = match.lastgroup or "", match.start()
        lexeme = match[group]
        if group in checks:
            checks[group](text, lexeme, offset)
        yield Token(TokenKind.KEYWORD if lexeme in keywords else _KINDS[group], lexeme, offset)
    yield Token(TokenKind.END, "", len(text))


def check_digits(lexeme: str, offset: int) -> None:
    """Refuse a number that is longer than any that there is."""
    if len(lexeme) > _MAX_DIGITS:
        raise ExpressionError("a number with too many digits", offset, len(lexeme), None, Code.MT226)


def bad_character(text: str, offset: int, quotes: str, hint: str | None = None) -> ExpressionError:
    """What is wrong where no token begins; one of ``quotes`` begins a string."""
    char = text[offset]
    if char in quotes:
        line_end = text.find("\n", offset)
        length = (line_end if line_end >= 0 else len(text)) - offset
        return ExpressionError("a string without its closing quote", offset, length, None, Code.MT227)
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    return ExpressionError(f"`{shown}` is not part of the language", offset, 1, hint, Code.MT201)
