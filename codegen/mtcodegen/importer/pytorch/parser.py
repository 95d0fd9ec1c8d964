"""Tokens of a C++ formula -> syntax tree, by operator precedence (Pratt)."""

from __future__ import annotations

import functools
import re

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.findings.codes import Code
from mtcodegen.importer.pytorch.lexer import Token, TokenKind, tokenize
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
_OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# Types whose names no value can have: after `(double)` comes the operand of a cast.
_BUILT_IN = frozenset({"bool", "char", "double", "float", "int", "int64_t", "long", "size_t", "unsigned"})
_TYPE_OPERATORS = frozenset({"<", ">", "::", ",", "*", "&"})
_LONGEST_TEMPLATE = 64  # tokens to look ahead for the end of template arguments
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")


@functools.lru_cache(maxsize=4096)  # a tree is a value, and many operators say `zeros_like(grad)`
def parse_formula(text: str) -> CppExpr:
    """Parse one C++ expression. Raises ExpressionError (MT200, MT201, MT202) with the place of the first fault."""
    parser = _Parser(tokenize(text))
    tree = parser.expression(0)
    parser.expect_end()
    if len(parser.tokens) > MAX_DEPTH:  # no level of a tree is without a token of its own
        _check_depth(tree)
    return tree


def _check_depth(tree: CppExpr) -> None:
    level: list[CppExpr] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise _too_deep(level[0].offset)


def _too_deep(offset: int) -> ExpressionError:
    hint = "write a function for a part of it"
    return ExpressionError(f"the formula is nested more than {MAX_DEPTH} levels deep", offset, 1, hint, Code.MT202)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.token = tokens[0]
        self.last_end = 0
        self.depth = 0

    def expression(self, binding: int) -> CppExpr:
        """An expression of operators that bind tighter than ``binding``."""
        self._enter()
        left = self._prefix()
        while (power := self._infix_power()) > binding:
            left = self._infix(left, power)
        self.depth -= 1
        return left

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.token.offset)

    def _infix_power(self) -> int:
        text = self.token.text
        if text == ">" and self.tokens[self.position + 1][1:] == (">", self.token.offset + 1):
            return SHIFT
        return _INFIX.get(text, 0)

    def expect_end(self) -> None:
        if self.token.kind is TokenKind.END:
            return
        if self.token.text in (")", "]", "}"):
            raise self._error(f"`{self.token.text}` closes nothing")
        if self.token.text == "=":
            raise self._error("a formula assigns nothing", "write `==` to compare")
        raise self._error(f"`{self.token.text[:40]}` is not expected here")

    def _error(self, message: str, hint: str | None = None) -> ExpressionError:
        return ExpressionError(message, self.token.offset, len(self.token.text), hint)

    def _advance(self) -> Token:
        token = self.token
        self.last_end = token.offset + len(token.text)
        self.position += 1
        self.token = self.tokens[self.position]
        return token

    def _at(self, text: str) -> bool:
        """Whether an operator comes next: no other token is like one, strings have quotes."""
        return self.token.text == text

    def _accept(self, text: str) -> bool:
        if self.token.text == text:
            self._advance()
            return True
        return False

    def _close(self, opening: Token) -> None:
        wanted = _OPENING[opening.text]
        if self._accept(wanted):
            return
        if self.token.kind is TokenKind.END:
            raise ExpressionError(f"`{opening.text}` is never closed", opening.offset, 1)
        raise self._error(f"expected `{wanted}` before `{self.token.text[:40]}`")

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(f"expected `{text}`")

    # ------------------------------------------------------------ what starts an expression

    def _prefix(self) -> CppExpr:
        token = self.token
        kind = token.kind
        if kind is TokenKind.NAME or token.text == "::":
            return self._name()
        if kind is TokenKind.NUMBER:
            self._advance()
            return Literal(_number(token), token.text, offset=token.offset, length=len(token.text))
        if kind is TokenKind.STRING:
            self._advance()
            return Literal(token.text[1:-1], token.text, offset=token.offset, length=len(token.text))
        if kind is TokenKind.COMMENT:
            self._advance()
            value = self.expression(PREFIX - 1)
            return Comment(token.text[2:-2], value, offset=token.offset, length=self.last_end - token.offset)
        if kind is TokenKind.END:
            message = "the formula is empty" if self.position == 0 else "the formula ends too early"
            raise ExpressionError(message, self.last_end, 1)
        if token.text in _PREFIX:
            self._advance()
            operand = self.expression(PREFIX - 1)
            return Prefix(token.text, operand, offset=token.offset, length=self.last_end - token.offset)
        if token.text == "(":
            return self._group()
        if token.text == "{":
            items = self._items()
            return Braces(None, items, offset=token.offset, length=self.last_end - token.offset)
        if token.text == "[":
            return self._lambda()
        raise self._error(f"expected a value before `{token.text}`")

    def _name(self) -> CppExpr:
        name = self._scoped_name()
        if isinstance(name, Name) and name.id in ("true", "false"):
            return Literal(name.id == "true", name.id, offset=name.offset, length=name.length)
        return self._template(name) if self.token.text == "<" and self._opens_template() else name

    def _scoped_name(self) -> Name | Scoped:
        first = self.token
        if first.kind is TokenKind.NAME:
            self._advance()
        elif first.text != "::":
            raise self._error("expected a name")
        if self.token.text != "::":
            return Name(first.text, offset=first.offset, length=len(first.text))
        parts = [first.text if first.kind is TokenKind.NAME else ""]
        while self._accept("::"):
            parts.append(self._identifier())
        return Scoped(tuple(parts), offset=first.offset, length=self.last_end - first.offset)

    def _identifier(self) -> str:
        if self.token.kind is not TokenKind.NAME:
            raise self._error("expected a name")
        return self._advance().text

    def _opens_template(self) -> bool:
        """Whether ``<`` opens template arguments: they close, and a call follows. Such a comparison means nothing."""
        depth = 0
        for i in range(self.position, min(self.position + _LONGEST_TEMPLATE, len(self.tokens) - 1)):
            token = self.tokens[i]
            depth += (token.text == "<") - (token.text == ">")
            if depth == 0:
                return self.tokens[i + 1].text in ("(", "{")
            if token.kind is TokenKind.OPERATOR and token.text not in _TYPE_OPERATORS:
                return False
        return False

    def _template(self, name: Name | Scoped) -> Template:
        opening = self._advance()
        arguments = [self._type()]
        while self._accept(","):
            arguments.append(self._type())
        self._close(opening)
        return Template(name, tuple(arguments), offset=name.offset, length=self.last_end - name.offset)

    def _type(self) -> CppExpr:
        """A type, or a number among template arguments."""
        self._enter()
        start = self.token.offset
        before = ("const",) if self.token.text == "const" else ()
        if before:
            self._advance()
        if self.token.kind is TokenKind.NUMBER:
            type_ = self._prefix()
        else:
            name = self._scoped_name()
            type_ = self._template(name) if self._at("<") else name
        after: list[str] = []
        while self._at("&") or self._at("*"):
            after.append(self._advance().text)
        self.depth -= 1
        if not before and not after:
            return type_
        return Qualified(before, type_, tuple(after), offset=start, length=self.last_end - start)

    def _group(self) -> CppExpr:
        opening = self._advance()
        value = self.expression(0)
        self._close(opening)
        if isinstance(value, Name) and value.id in _BUILT_IN:
            operand = self.expression(PREFIX - 1)
            return Cast(value, operand, offset=opening.offset, length=self.last_end - opening.offset)
        return Group(value, offset=opening.offset, length=self.last_end - opening.offset)

    def _items(self) -> tuple[CppExpr, ...]:
        """What stands between the brackets that open here, with commas between."""
        opening = self._advance()
        items: list[CppExpr] = []
        if not self._at(_OPENING[opening.text]):
            items.append(self.expression(0))
            while self._accept(","):
                items.append(self.expression(0))
        self._close(opening)
        return tuple(items)

    def _lambda(self) -> Lambda:
        opening = self._advance()
        capture = self._advance().text if self._at("&") or self._at("=") else ""
        self._close(opening)
        parameters: list[tuple[CppExpr, str]] = []
        opening = self.token
        self._expect("(")
        while not self._at(")"):
            parameters.append((self._type(), self._identifier()))
            if not self._accept(","):
                break
        self._close(opening)
        opening_brace = self.token
        self._expect("{")
        if self.token.text != "return":
            raise self._error("expected `return`", "a lambda in a formula is one expression")
        self._advance()
        body = self.expression(0)
        self._expect(";")
        self._close(opening_brace)
        return Lambda(capture, tuple(parameters), body, offset=opening.offset, length=self.last_end - opening.offset)

    # ------------------------------------------------------------ what continues one

    def _infix(self, left: CppExpr, power: int) -> CppExpr:
        token = self.token
        match token.text:
            case "(":
                return Call(left, self._items(), offset=left.offset, length=self.last_end - left.offset)
            case "{":
                return self._initialiser(left)
            case "." | "->":
                return self._member(left)
            case "[":
                self._advance()
                index = self.expression(0)
                self._close(token)
                return Subscript(left, index, offset=left.offset, length=self.last_end - left.offset)
            case "?":
                return self._ternary(left)
        self._advance()
        op = token.text + (self._advance().text if power == SHIFT and token.text == ">" else "")
        right = self.expression(power)
        return Infix(op, left, right, offset=left.offset, length=self.last_end - left.offset)

    def _initialiser(self, type_: CppExpr) -> Braces:
        if not isinstance(type_, (Name, Scoped, Template)):
            raise self._error("`{` follows something that is not a type")
        items = self._items()
        return Braces(type_, items, offset=type_.offset, length=self.last_end - type_.offset)

    def _member(self, value: CppExpr) -> Member:
        arrow = self._advance().text == "->"
        name = self.token
        if name.kind is not TokenKind.NAME:
            raise self._error(f"expected a name after `{'->' if arrow else '.'}`")
        self._advance()
        length = self.last_end - value.offset
        return Member(value, name.text, arrow, name.offset, offset=value.offset, length=length)

    def _ternary(self, condition: CppExpr) -> Ternary:
        self._advance()
        body = self.expression(0)
        if not self._accept(":"):
            raise self._error("expected `:`", "write `condition ? a : b`")
        orelse = self.expression(TERNARY - 1)
        length = self.last_end - condition.offset
        return Ternary(condition, body, orelse, offset=condition.offset, length=length)


def _number(token: Token) -> int | float:
    if integer := _INTEGER.fullmatch(token.text):
        digits = integer.group(1)
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
        return int(digits, base)
    return float(token.text.rstrip("fFlL"))
