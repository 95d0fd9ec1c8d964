"""Text of a C++ formula -> syntax tree."""

from __future__ import annotations

import re
from itertools import islice

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.pratt import PrattParser
from mtcodegen.expr.tokens import Token, TokenKind
from mtcodegen.importer.pytorch.lexer import tokenize
from mtcodegen.importer.pytorch.nodes import (
    Braces,
    Call,
    Cast,
    Comment,
    CppExpr,
    Group,
    Infix,
    Lambda,
    Literal,
    Member,
    Name,
    Prefix,
    Qualified,
    Scoped,
    Subscript,
    Template,
    Ternary,
    children,
)

__all__ = ["MAX_DEPTH", "parse_formula"]

MAX_DEPTH = 80  # of the tree: every later stage may recurse over it

# How tightly an operator binds, by C++'s table.
TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUALITY, RELATION, SHIFT, SUM, PRODUCT, PREFIX, POSTFIX = range(1, 14)
_INFIX = {
    "?": TERNARY,
    "||": OR,
    "&&": AND,
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    "==": EQUALITY,
    "!=": EQUALITY,
    "<": RELATION,
    ">": RELATION,
    "<=": RELATION,
    ">=": RELATION,
    "<<": SHIFT,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "%": PRODUCT,
    ".": POSTFIX,
    "->": POSTFIX,
    "(": POSTFIX,
    "[": POSTFIX,
    "{": POSTFIX,
}
_PREFIX = frozenset("-+!~*&")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# Types whose names no value can have: after `(double)` comes the operand of a cast.
_BUILT_IN = frozenset({"bool", "char", "double", "float", "int", "int64_t", "long", "size_t", "unsigned"})
_TYPE_OPERATORS = frozenset({"<", ">", "::", ",", "*", "&"})
_LONGEST_TEMPLATE = 64  # tokens to look ahead for the end of template arguments
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")


def parse_formula(text: str) -> CppExpr:
    """Parse one C++ expression. Raises ExpressionError with the place of the first fault."""
    return _Parser(text, tokenize(text)).parse()


class _Parser(PrattParser[CppExpr]):
    powers = _INFIX
    closing = _CLOSING
    max_depth = MAX_DEPTH
    noun = "formula"
    advice = "write a function for a part of it"

    def children(self, node: CppExpr) -> tuple[CppExpr, ...]:
        return children(node)

    def unexpected(self) -> ExpressionError:
        if self.token.text in (")", "]", "}"):
            return self.error(f"`{self.token.text}` closes nothing")
        if self.token.text == "=":
            return self.error("a formula assigns nothing", "write `==` to compare")
        return self.error(f"`{self.token.text[:40]}` is not expected here")

    def power(self) -> int:
        return SHIFT if self.token.text == ">" and self._is_right_shift() else super().power()

    def _is_right_shift(self) -> bool:
        """Whether the ``>`` that comes next is the first half of ``>>``."""
        first, second = islice(self.ahead(), 2)
        return second.text == ">" and second.offset == first.offset + 1

    def _expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected `{text}`")

    # ------------------------------------------------------------ what starts an expression

    def prefix(self) -> CppExpr:
        token = self.token
        kind = token.kind
        if kind is TokenKind.NAME or token.text == "::":
            return self._name()
        if kind is TokenKind.NUMBER:
            self.advance()
            return Literal(_number(token), token.text, offset=token.offset, length=len(token.text))
        if kind is TokenKind.STRING:
            self.advance()
            return Literal(token.text[1:-1], token.text, offset=token.offset, length=len(token.text))
        if kind is TokenKind.COMMENT:
            self.advance()
            value = self.expression(PREFIX - 1)
            return Comment(token.text[2:-2], value, offset=token.offset, length=self.last_end - token.offset)
        if token.text in _PREFIX:
            self.advance()
            operand = self.expression(PREFIX - 1)
            return Prefix(token.text, operand, offset=token.offset, length=self.last_end - token.offset)
        if token.text == "(":
            return self._group()
        if token.text == "{":
            items = self._items()
            return Braces(None, items, offset=token.offset, length=self.last_end - token.offset)
        if token.text == "[":
            return self._lambda()
        raise self.no_value()

    def _name(self) -> CppExpr:
        name = self._scoped_name()
        if isinstance(name, Name) and name.id in ("true", "false"):
            return Literal(name.id == "true", name.id, offset=name.offset, length=name.length)
        return self._template(name) if self.token.text == "<" and self._opens_template() else name

    def _scoped_name(self) -> Name | Scoped:
        first = self.token
        if first.kind is TokenKind.NAME:
            self.advance()
        elif first.text != "::":
            raise self.error("expected a name")
        if self.token.text != "::":
            return Name(first.text, offset=first.offset, length=len(first.text))
        parts = [first.text if first.kind is TokenKind.NAME else ""]
        while self.accept("::"):
            parts.append(self._identifier())
        return Scoped(tuple(parts), offset=first.offset, length=self.last_end - first.offset)

    def _identifier(self) -> str:
        if self.token.kind is not TokenKind.NAME:
            raise self.error("expected a name")
        return self.advance().text

    def _opens_template(self) -> bool:
        """Whether ``<`` opens template arguments: they close, and a call follows. Such a comparison means nothing."""
        depth = 0
        tokens = islice(self.ahead(), _LONGEST_TEMPLATE)
        for token in tokens:
            depth += (token.text == "<") - (token.text == ">")
            if depth == 0:
                return next(tokens, token).text in ("(", "{")
            if token.kind is TokenKind.OPERATOR and token.text not in _TYPE_OPERATORS:
                return False
        return False

    def _template(self, name: Name | Scoped) -> Template:
        opening = self.advance()
        arguments = [self._type()]
        while self.accept(","):
            arguments.append(self._type())
        self.close(opening)
        return Template(name, tuple(arguments), offset=name.offset, length=self.last_end - name.offset)

    def _type(self) -> CppExpr:
        """A type, or a number among template arguments."""
        self.enter()
        start = self.token.offset
        before = ("const",) if self.token.text == "const" else ()
        if before:
            self.advance()
        if self.token.kind is TokenKind.NUMBER:
            type_ = self.prefix()
        else:
            name = self._scoped_name()
            type_ = self._template(name) if self.at("<") else name
        after: list[str] = []
        while self.at("&") or self.at("*"):
            after.append(self.advance().text)
        self.leave()
        if not before and not after:
            return type_
        return Qualified(before, type_, tuple(after), offset=start, length=self.last_end - start)

    def _group(self) -> CppExpr:
        opening = self.advance()
        value = self.expression(0)
        self.close(opening)
        if isinstance(value, Name) and value.id in _BUILT_IN:
            operand = self.expression(PREFIX - 1)
            return Cast(value, operand, offset=opening.offset, length=self.last_end - opening.offset)
        return Group(value, offset=opening.offset, length=self.last_end - opening.offset)

    def _items(self) -> tuple[CppExpr, ...]:
        """What stands between the brackets that open here, with commas between."""
        opening = self.advance()
        items: list[CppExpr] = []
        if not self.at(self.closing[opening.text]):
            items.append(self.expression(0))
            while self.accept(","):
                items.append(self.expression(0))
        self.close(opening)
        return tuple(items)

    def _lambda(self) -> Lambda:
        opening = self.advance()
        capture = self.advance().text if self.at("&") or self.at("=") else ""
        self.close(opening)
        parameters: list[tuple[CppExpr, str]] = []
        opening = self.token
        self._expect("(")
        while not self.at(")"):
            parameters.append((self._type(), self._identifier()))
            if not self.accept(","):
                break
        self.close(opening)
        opening_brace = self.token
        self._expect("{")
        if self.token.text != "return":
            raise self.error("expected `return`", "a lambda in a formula is one expression")
        self.advance()
        body = self.expression(0)
        self._expect(";")
        self.close(opening_brace)
        return Lambda(capture, tuple(parameters), body, offset=opening.offset, length=self.last_end - opening.offset)

    # ------------------------------------------------------------ what continues one

    def infix(self, left: CppExpr, power: int, start: int) -> CppExpr:
        token = self.token
        match token.text:
            case "(":
                return Call(left, self._items(), offset=start, length=self.last_end - start)
            case "{":
                return self._initialiser(left)
            case "." | "->":
                return self._member(left)
            case "[":
                self.advance()
                index = self.expression(0)
                self.close(token)
                return Subscript(left, index, offset=start, length=self.last_end - start)
            case "?":
                return self._ternary(left)
        self.advance()
        op = token.text + (self.advance().text if power == SHIFT and token.text == ">" else "")
        right = self.expression(power)
        return Infix(op, left, right, offset=start, length=self.last_end - start)

    def _initialiser(self, type_: CppExpr) -> Braces:
        if not isinstance(type_, (Name, Scoped, Template)):
            raise self.error("`{` follows something that is not a type")
        items = self._items()
        return Braces(type_, items, offset=type_.offset, length=self.last_end - type_.offset)

    def _member(self, value: CppExpr) -> Member:
        arrow = self.advance().text == "->"
        name = self.token
        if name.kind is not TokenKind.NAME:
            raise self.error(f"expected a name after `{'->' if arrow else '.'}`")
        self.advance()
        length = self.last_end - value.offset
        return Member(value, name.text, arrow, name.offset, offset=value.offset, length=length)

    def _ternary(self, condition: CppExpr) -> Ternary:
        self.advance()
        body = self.expression(0)
        if not self.accept(":"):
            raise self.error("expected `:`", "write `condition ? a : b`")
        orelse = self.expression(TERNARY - 1)
        length = self.last_end - condition.offset
        return Ternary(condition, body, orelse, offset=condition.offset, length=length)


def _number(token: Token) -> int | float:
    if integer := _INTEGER.fullmatch(token.text):
        digits = integer.group(1)
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
        return int(digits, base)
    return float(token.text.rstrip("fFlL"))
