"""Text of a C++ formula -> tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.tokens import Token, bad_character, check_digits, cut
from mtcodegen.findings.codes import Code

__all__ = ["tokenize"]

# `>` is a token of its own even in `>>`, which may close two template argument lists.
_TOKEN = re.compile(
    r"""
  (?:
    (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[A-Za-z0-9_]*)
  | (?P<comment>/\*(?:[^*]|\*(?!/))*\*/)
  | (?P<operator>->|::|&&|\|\||==|!=|<=|>=|<<|/(?!\*)|[-+*%<>&|^~!?:.,;=(){}\[\]])
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<bad>[\s\S])
  ) [ \t\r\n]*
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F]+(?:[uU]?[lL]{0,2})|(?:0[0-7]*|[1-9][0-9]*)[uU]?[lL]{0,2}"
    r"|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?[fFlL]?"
)


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of ``text``, the last of kind END. Raises ExpressionError where it has something else."""
    return cut(text, _TOKEN, _CHECKS, frozenset())


def _check_number(text: str, lexeme: str, offset: int) -> None:
    check_digits(lexeme, offset)
    if not _NUMBER.fullmatch(lexeme):
        raise ExpressionError(f"`{lexeme[:40]}` is not a number", offset, len(lexeme), None, Code.MT225)


def _refuse_character(text: str, lexeme: str, offset: int) -> None:
    if text.startswith("/*", offset):
        raise ExpressionError("a comment without its closing `*/`", offset, 2, None, Code.MT227)
    raise bad_character(text, offset, '"', 'C++ strings stand in "double quotes"' if lexeme == "'" else None)


_CHECKS = {"number": _check_number, "bad": _refuse_character}
