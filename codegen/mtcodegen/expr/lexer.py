"""Text -> tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code

__all__ = ["KEYWORDS", "Token", "TokenKind", "tokenize"]

KEYWORDS = frozenset({"and", "or", "not", "if", "else", "is", "in", "None", "True", "False"})
_MAX_DIGITS = 400  # a float has at most some 330; Python refuses to read very long integers

_SPACE = " \t\r\n"
_TOKEN = re.compile(
    r"""
  (?:
    (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[A-Za-z0-9_]*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<foreign>->|&&|\|\||&|\||\^|~|!(?!=)|;|\{|\}|\?|<<|>>|\$|`)
  | (?P<operator>\*\*|//|==|!=|<=|>=|[-+*/%@<>=.,:()\[\]])
  | (?P<bad>[\s\S])
  ) [ \t\r\n]*
    """,
    re.VERBOSE | re.ASCII,
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

# Spellings of C++ and NumPy, and what to write here.
_FOREIGN_HINTS = {
    "->": "write `.`",
    "&&": "write `and`",
    "||": "write `or`",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "?": "write `a if condition else b`",
    "^": "a power is `**`",
    ";": "an expression is one value",
}


class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    OPERATOR = "operator"
    KEYWORD = "keyword"
    END = "end"


class Token(NamedTuple):
    """A token, and where it stands in the text."""

    kind: TokenKind
    text: str
    offset: int


_KINDS = {kind.value: kind for kind in TokenKind}


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of ``text``, the last of kind END. Raises ExpressionError (MT200, MT201)."""
    for match in _TOKEN.finditer(text, len(text) - len(text.lstrip(_SPACE))):
        group, position = match.lastgroup or "", match.start()
        if group == "bad":
            raise _bad_character(text, position)
        lexeme = match[group]
        if group == "foreign":
            hint = _FOREIGN_HINTS.get(lexeme)
            raise ExpressionError(f"`{lexeme}` is not part of the language", position, len(lexeme), hint, Code.MT201)
        if group == "number":
            _check_number(lexeme, position)
        yield Token(TokenKind.KEYWORD if lexeme in KEYWORDS else _KINDS[group], lexeme, position)
    yield Token(TokenKind.END, "", len(text))


def _check_number(lexeme: str, position: int) -> None:
    match = _NUMBER.match(lexeme)
    length = match.end() if match else 0
    if length != len(lexeme):
        suffix = lexeme[length:]
        hint = "C++ suffixes are not needed" if suffix.lower() in ("f", "l", "u", "ul", "ll", "ull") else None
        raise ExpressionError(f"`{lexeme[:40]}` is not a number", position, len(lexeme), hint, Code.MT201)
    if len(lexeme) > _MAX_DIGITS:
        raise ExpressionError("a number with too many digits", position, len(lexeme), None, Code.MT201)
    if len(lexeme) > 1 and lexeme.isdigit() and lexeme[0] == "0" and lexeme.strip("0"):
        hint = f"write `{lexeme.lstrip('0')}`"
        raise ExpressionError(f"`{lexeme[:40]}` starts with a zero", position, len(lexeme), hint, Code.MT201)


def _bad_character(text: str, position: int) -> ExpressionError:
    char = text[position]
    if char in "\"'":
        line_end = text.find("\n", position)
        length = (line_end if line_end >= 0 else len(text)) - position
        return ExpressionError("a string without its closing quote", position, length, None, Code.MT201)
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    return ExpressionError(f"`{shown}` is not part of the language", position, 1, None, Code.MT201)
