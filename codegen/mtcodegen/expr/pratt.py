"""Tokens -> tree, by binding powers (Pratt): shared by the parsers of our expressions and of PyTorch's.

A language is a table of binding powers, and two methods: ``prefix`` reads what begins an expression, ``infix`` what
continues one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.nodes import Node
from mtcodegen.expr.tokens import Token, TokenKind
from mtcodegen.findings.codes import Code

__all__ = ["PrattParser"]

T = TypeVar("T", bound=Node)


class PrattParser(ABC, Generic[T]):
    """Reads one text; ``token`` is the next one, ``last_end`` where the one before ended."""

    powers: ClassVar[Mapping[str, int]]  # how tightly what continues an expression binds, by the text of its token
    closing: ClassVar[Mapping[str, str]]  # the bracket that closes another
    max_depth: ClassVar[int]  # of the tree: every later stage may recurse over it
    noun: ClassVar[str]  # what a text of the language is called
    advice: ClassVar[str]  # what to do about a tree that is too deep

    def __init__(self, text: str, tokens: Iterator[Token]) -> None:
        self.text = text
        self.count = 0  # of tokens so far
        self.last_end = 0
        self._rest = tokens
        self._ahead: deque[Token] = deque()  # what was looked at already
        self._depth = 0
        self.token = next(tokens)

    # ------------------------------------------------------------ the language

    @abstractmethod
    def prefix(self) -> T:
        """What stands at the beginning of an expression: a name, a literal, something in brackets, a sign."""

    @abstractmethod
    def infix(self, left: T, power: int, start: int) -> T:
        """What goes on from ``left`` with the token that comes next; the whole begins at ``start``."""

    @abstractmethod
    def children(self, node: T) -> Sequence[T]:
        """The nodes directly below one."""

    @abstractmethod
    def unexpected(self) -> ExpressionError:
        """What is wrong with a token after which nothing more is expected."""

    def power(self) -> int:
        """How tightly the next token binds what stands before it; 0 where it does not go on from there."""
        return self.powers.get(self.token.text, 0)

    # ------------------------------------------------------------ reading

    def parse(self) -> T:
        """The tree of the whole text. Raises ExpressionError with the place of the first fault."""
        tree = self.expression(0)
        if self.token.kind is not TokenKind.END:
            raise self.unexpected()
        if self.count > self.max_depth:  # no level of a tree is without a token of its own
            self._check_depth(tree)
        return tree

    def expression(self, binding: int) -> T:
        """An expression of operators that bind tighter than ``binding``."""
        self.enter()
        start = self.token.offset  # of a parenthesis too, which may have no node: what follows one begins with it
        left = self.prefix()
        while (power := self.power()) > binding:
            left = self.infix(left, power, start)
        self.leave()
        return left

    def enter(self) -> None:
        """One level deeper. Raises ExpressionError (MT202) where there are too many."""
        self._depth += 1
        if self._depth > self.max_depth:
            raise self._too_deep(self.token.offset)

    def leave(self) -> None:
        """Back from where ``enter`` went."""
        self._depth -= 1

    def _check_depth(self, tree: T) -> None:
        level = [tree]
        for _ in range(self.max_depth):
            level = [child for node in level for child in self.children(node)]
            if not level:
                return
        raise self._too_deep(level[0].offset)

    def _too_deep(self, offset: int) -> ExpressionError:
        message = f"the {self.noun} is nested more than {self.max_depth} levels deep"
        return ExpressionError(message, offset, 1, self.advice, Code.MT202)

    # ------------------------------------------------------------ tokens

    def advance(self) -> Token:
        """Take the next token."""
        token = self.token
        self.last_end = token.offset + len(token.text)
        self.token = self._ahead.popleft() if self._ahead else next(self._rest)
        self.count += 1
        return token

    def ahead(self) -> Iterator[Token]:
        """The next token and those behind it, up to the end; none is taken."""
        yield self.token
        yield from self._ahead
        for token in self._rest:
            self._ahead.append(token)
            yield token

    def at(self, text: str) -> bool:
        """Whether an operator or a keyword comes next: names are none, and strings have quotes."""
        return self.token.text == text

    def accept(self, text: str) -> bool:
        """Take an operator or a keyword if it comes next; whether it did."""
        if self.token.text == text:
            self.advance()
            return True
        return False

    def close(self, opening: Token) -> None:
        """Take the bracket that closes ``opening``."""
        wanted = self.closing[opening.text]
        if self.accept(wanted):
            return
        if self.token.kind is TokenKind.END:
            raise ExpressionError(f"`{opening.text}` is never closed", opening.offset, 1)
        self.refuse_foreign()
        raise self.error(f"expected `{wanted}` before `{self.token.text[:40]}`")

    def refuse_foreign(self) -> None:
        """Raise ExpressionError (MT201) where what comes next belongs to another language: there are no such tokens."""

    # ------------------------------------------------------------ faults

    def error(self, message: str, hint: str | None = None) -> ExpressionError:
        """A fault of the next token."""
        return ExpressionError(message, self.token.offset, len(self.token.text), hint)

    def no_value(self) -> ExpressionError:
        """What is wrong where a value should begin, and something else comes next."""
        if self.token.kind is not TokenKind.END:
            return self.error(f"expected a value before `{self.token.text}`")
        state = "is empty" if self.last_end == 0 else "ends too early"
        return ExpressionError(f"the {self.noun} {state}", self.last_end, 1)
