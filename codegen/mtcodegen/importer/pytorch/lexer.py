"""Text of a C++ formula -> tokens."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code

__all__ = ["Token", "TokenKind", "tokenize"]

_SPACE = " \t\r\n"
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
_MAX_DIGITS = 400


class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    OPERATOR = "operator"
    COMMENT = "comment"
    END = "end"


class Token(NamedTuple):
    """A token, and where it stands in the text."""

    kind: TokenKind
    text: str
    offset: int


_KINDS = {kind.value: kind for kind in TokenKind}


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``, the last of kind END. Raises ExpressionError (MT201)."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text, len(text) - len(text.lstrip(_SPACE))):
        group, position = match.lastgroup or "", match.start()
        if group == "bad":
            raise _bad_character(text, position)
        lexeme = match[group]
        if group == "number":
            _check_number(lexeme, position)
        tokens.append(Token(_KINDS[group], lexeme, position))
    tokens.append(Token(TokenKind.END, "", len(text)))
    return tokens


def _check_number(lexeme: str, position: int) -> None:
    if len(lexeme) > _MAX_DIGITS:
        raise ExpressionError("a number with too many digits", position, len(lexeme), None, Code.MT201)
    if not _NUMBER.fullmatch(lexeme):
        raise ExpressionError(f"`{lexeme[:40]}` is not a number", position, len(lexeme), None, Code.MT201)


def _bad_character(text: str, position: int) -> ExpressionError:
    if text.startswith("/*", position):
        return ExpressionError("a comment without its closing `*/`", position, 2, None, Code.MT201)
    if text[position] == '"':
        return ExpressionError("a string without its closing quote", position, len(text) - position, None, Code.MT201)
    shown = text[position] if text[position].isprintable() else f"U+{ord(text[position]):04X}"
    hint = 'C++ strings stand in "double quotes"' if shown == "'" else None
    return ExpressionError(f"`{shown}` is not part of the language", position, 1, hint, Code.MT201)
