"""Text of an expression -> tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.tokens import Token, bad_character, check_digits, cut
from mtcodegen.findings.codes import Code

__all__ = ["KEYWORDS", "tokenize"]

KEYWORDS = frozenset({"and", "or", "not", "if", "else", "is", "in", "None", "True", "False"})

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


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of ``text``, the last of kind END. Raises ExpressionError where it has something else."""
    return cut(text, _TOKEN, _CHECKS, KEYWORDS)


def _check_number(text: str, lexeme: str, offset: int) -> None:
    match = _NUMBER.match(lexeme)
    length = match.end() if match else 0
    if length != len(lexeme):
        suffix = lexeme[length:]
        hint = "C++ suffixes are not needed" if suffix.lower() in ("f", "l", "u", "ul", "ll", "ull") else None
        raise ExpressionError(f"`{lexeme[:40]}` is not a number", offset, len(lexeme), hint, Code.MT225)
    check_digits(lexeme, offset)
    if len(lexeme) > 1 and lexeme.isdigit() and lexeme[0] == "0" and lexeme.strip("0"):
        hint = f"write `{lexeme.lstrip('0')}`"
        raise ExpressionError(f"`{lexeme[:40]}` starts with a zero", offset, len(lexeme), hint, Code.MT225)


def _refuse_foreign(text: str, lexeme: str, offset: int) -> None:
    hint = _FOREIGN_HINTS.get(lexeme)
    raise ExpressionError(f"`{lexeme}` is not part of the language", offset, len(lexeme), hint, Code.MT201)


def _refuse_character(text: str, lexeme: str, offset: int) -> None:
    raise bad_character(text, offset, "\"'")


_CHECKS = {"number": _check_number, "foreign": _refuse_foreign, "bad": _refuse_character}
