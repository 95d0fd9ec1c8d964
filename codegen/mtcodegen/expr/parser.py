"""Text of an expression -> syntax tree."""

from __future__ import annotations

import re

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.lexer import tokenize
from mtcodegen.expr.nodes import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Conditional,
    Expr,
    Index,
    Keyword,
    ListExpr,
    Literal,
    Name,
    Slice,
    Starred,
    Unary,
    children,
)
from mtcodegen.expr.pratt import PrattParser
from mtcodegen.expr.tokens import Token, TokenKind
from mtcodegen.findings.codes import Code

__all__ = ["MAX_DEPTH", "parse_expression"]

MAX_DEPTH = 60  # of the tree: every later stage may recurse over it

# How tightly an operator binds; the same table says where emitted source needs parentheses.
CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, POSTFIX, ATOM = range(1, 12)
BINARY = {
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "//": PRODUCT,
    "%": PRODUCT,
    "@": PRODUCT,
    "**": POWER,
}
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"})
_INFIX = (
    BINARY
    | dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "is", "in", "not"), COMPARISON)
    | {"and": AND, "or": OR, "if": CONDITIONAL, ".": POSTFIX, "(": POSTFIX, "[": POSTFIX}
)
_CLOSING = {"(": ")", "[": "]"}
_CONSTANTS = {"None": None, "True": True, "False": False}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.)", re.DOTALL)


def _character(escape: re.Match[str]) -> str | None:
    """The character that an escape stands for, None where it is not one."""
    digits = escape[1] or escape[2] or escape[3]
    if digits is None:
        return _ESCAPES.get(escape.group()[1])
    return chr(int(digits, 16)) if int(digits, 16) <= 0x10FFFF else None


def parse_expression(text: str) -> Expr:
    """Parse one expression. Raises ExpressionError with the place of the first fault."""
    return _Parser(text, tokenize(text)).parse()


class _Parser(PrattParser[Expr]):
    powers = _INFIX
    closing = _CLOSING
    max_depth = MAX_DEPTH
    noun = "expression"
    advice = "declare an operator for a part of it"

    def children(self, node: Expr) -> tuple[Expr, ...]:
        return children(node)

    def unexpected(self) -> ExpressionError:
        if self.token.text == "=":
            return self.error("`=` is not a comparison", "write `==`")
        self.refuse_foreign()
        return self.error(f"`{self.token.text[:40]}` is not expected here")

    def refuse_foreign(self) -> None:
        """``fused::op`` is how schemas write what is ``fused.op`` here; between brackets it is a slice."""
        offset = self.token.offset
        if self.text.startswith("::", offset):
            hint = "write `.`, as in `fused.op(x)`"
            raise ExpressionError("`::` is not part of the language", offset, 2, hint, Code.MT201)

    # ------------------------------------------------------------ what starts an expression

    def prefix(self) -> Expr:
        token = self.token
        kind = token.kind
        if kind is TokenKind.NAME:
            self.advance()
            return Name(token.text, offset=token.offset, length=len(token.text))
        if kind is TokenKind.NUMBER:
            return self._number()
        if kind is TokenKind.STRING:
            return self._string()
        if token.text in _CONSTANTS:
            self.advance()
            return Literal(_CONSTANTS[token.text], token.text, offset=token.offset, length=len(token.text))
        if token.text in ("-", "+", "not"):
            self.advance()
            operand = self.expression(NOT - 1 if token.text == "not" else SIGN - 1)
            return Unary(token.text, operand, offset=token.offset, length=self.last_end - token.offset)
        if token.text in ("(", "["):
            return self._group()
        raise self.no_value()

    def _number(self) -> Expr:
        token = self.advance()
        text = token.text
        is_float = text[:2] not in ("0x", "0X") and not text.isdigit()
        value = float(text) if is_float else int(text, 16 if "x" in text.lower() else 10)
        if (isinstance(value, int) and value >= 2**64) or value == float("inf"):
            raise ExpressionError(f"`{text[:40]}` does not fit in 64 bits", token.offset, len(text), None, Code.MT226)
        return Literal(value, text, offset=token.offset, length=len(text))

    def _string(self) -> Expr:
        token = self.advance()
        for escape in _ESCAPE.finditer(token.text):
            if _character(escape) is None:
                message = f"`{escape.group()}` is not an escape"
                raise ExpressionError(message, token.offset, len(token.text), None, Code.MT228)
        value = _ESCAPE.sub(lambda escape: _character(escape) or "", token.text[1:-1])
        return Literal(value, offset=token.offset, length=len(token.text))

    def _group(self) -> Expr:
        opening = self.advance()
        closing = _CLOSING[opening.text]
        items: list[Expr] = []
        comma = False
        while not self.at(closing):
            items.append(self._item())
            comma = self.accept(",")
            if not comma:
                break
        self.close(opening)
        if opening.text == "(" and len(items) == 1 and not comma and not isinstance(items[0], Starred):
            return items[0]
        return ListExpr(tuple(items), offset=opening.offset, length=self.last_end - opening.offset)

    def _item(self) -> Expr:
        star = self.token
        if not self.accept("*"):
            return self.expression(0)
        value = self.expression(0)
        return Starred(value, offset=star.offset, length=self.last_end - star.offset)

    # ------------------------------------------------------------ what continues one

    def infix(self, left: Expr, power: int, start: int) -> Expr:
        text = self.token.text
        if power == POSTFIX:
            return self._postfix(left, start)
        if power == COMPARISON:
            return self._comparison(left, start)
        if text == "if":
            return self._conditional(left, start)
        if text in ("and", "or"):
            return self._bool_op(left, text, power, start)
        self.advance()
        # `**` binds to the right, and its exponent may have a sign: `2 ** -x ** y`.
        right = self.expression(SIGN - 1 if text == "**" else power)
        return Binary(text, left, right, offset=start, length=self.last_end - start)

    def _bool_op(self, left: Expr, text: str, power: int, start: int) -> Expr:
        values = [left]
        while self.accept(text):
            values.append(self.expression(power))
        return BoolOp(text, tuple(values), offset=start, length=self.last_end - start)

    def _comparison(self, left: Expr, start: int) -> Expr:
        rest: list[tuple[str, Expr]] = []
        while _INFIX.get(self.token.text) == COMPARISON:
            op = self._comparison_operator()
            rest.append((op, self.expression(COMPARISON)))
        return Compare(left, tuple(rest), offset=start, length=self.last_end - start)

    def _comparison_operator(self) -> str:
        op = self.advance().text
        if op == "is" and self.accept("not"):
            return "is not"
        if op == "not":
            if not self.accept("in"):
                raise self.error("expected `in` after `not`")
            return "not in"
        return op

    def _conditional(self, body: Expr, start: int) -> Expr:
        self.advance()
        condition = self.expression(CONDITIONAL)
        if not self.accept("else"):
            raise self.error("expected `else`", "write `a if condition else b`")
        orelse = self.expression(CONDITIONAL - 1)
        return Conditional(condition, body, orelse, offset=start, length=self.last_end - start)

    def _postfix(self, left: Expr, start: int) -> Expr:
        opening = self.advance()
        if opening.text == ".":
            name = self.token
            if name.kind is not TokenKind.NAME:
                raise self.error("expected a name after `.`")
            self.advance()
            return Attribute(left, name.text, name.offset, offset=start, length=self.last_end - start)
        if opening.text == "(":
            return self._call(left, opening, start)
        index = self._index(opening)
        self.close(opening)
        return Index(left, index, offset=start, length=self.last_end - start)

    def _call(self, function: Expr, opening: Token, start: int) -> Expr:
        arguments: list[Expr] = []
        keywords: list[Keyword] = []
        while not self.at(")"):
            item = self._item()
            if self.at("="):
                keywords.append(self._keyword(item))
            elif keywords:
                message = "a positional argument follows a keyword one"
                raise ExpressionError(message, item.offset, item.length)
            else:
                arguments.append(item)
            if not self.accept(","):
                break
        self.close(opening)
        length = self.last_end - start
        return Call(function, tuple(arguments), tuple(keywords), offset=start, length=length)

    def _keyword(self, name: Expr) -> Keyword:
        if not isinstance(name, Name):
            raise self.error("`=` is not a comparison", "write `==`")
        self.advance()
        value = self.expression(0)
        return Keyword(name.id, value, offset=name.offset, length=self.last_end - name.offset)

    def _index(self, opening: Token) -> Expr:
        if self.at("]"):
            raise ExpressionError("an index is missing", opening.offset, self.token.offset + 1 - opening.offset)
        items = [self._slice()]
        comma = False
        while comma := self.accept(","):
            if self.at("]"):
                break
            items.append(self._slice())
        if len(items) == 1 and not comma:
            return items[0]
        return ListExpr(tuple(items), offset=items[0].offset, length=self.last_end - items[0].offset)

    def _slice(self) -> Expr:
        start = self.token.offset
        parts: list[Expr | None] = [None]
        if not self.at(":"):
            parts[0] = self.expression(0)
        while len(parts) < 3 and self.accept(":"):
            empty = self.at(":") or self.at("]") or self.at(",")
            parts.append(None if empty else self.expression(0))
        if len(parts) == 1 and parts[0] is not None:
            return parts[0]
        return Slice(*parts, offset=start, length=self.last_end - start)
