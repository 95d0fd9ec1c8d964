"""Text -> Schema, in one pass from left to right."""

from __future__ import annotations

import re

from .defaults import DEFAULT
from .errors import SchemaError
from .model import Argument, Return, Schema
from .types import Alias, Type, parse_type

_NAME = re.compile(r"(?:([A-Za-z_]\w*)::)?([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Wide on purpose: what is not a type is found by `parse_type`, which can say what is wrong with it.
_TYPE = re.compile(r"[^\s(),=\[\]?]+(?:\([^()]*\)|\[[^\[\]()]*\]|\?)*")
_WORD = re.compile(r"[^\s(),=]+")
_Span = tuple[int, int]


def parse_schema(text: str) -> Schema:
    """Read ``text`` in the grammar of PyTorch's ``native_functions.yaml``.

    ``str()`` of the result is ``text``, without the parentheses around a single return.
    Raises SchemaError with the offset and length of what is wrong. Spaces count: one after each comma, none elsewhere.
    """
    return _Parser(text).schema()


class _Parser:
    __slots__ = ("pos", "spans", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.spans: dict[tuple[str, int], _Span] = {}

    def schema(self) -> Schema:
        namespace, name, overload = self._name()
        arguments = self._arguments()
        self._arrow()
        returns = self._returns()
        self._end("the returns")
        try:
            return Schema(namespace, name, overload, arguments, returns)
        except SchemaError as error:
            offset, length = self.spans[error.part or ("name", 0)]
            also = None if error.other is None else self.spans[error.other]
            raise error.moved(offset, self.text, length, also) from None

    def _end(self, what: str) -> None:
        if self.pos != len(self.text):
            raise self._error(f"nothing may follow {what}", self.pos, len(self.text) - self.pos)

    def _error(self, message: str, offset: int, length: int = 1, hint: str | None = None) -> SchemaError:
        return SchemaError(message, offset, max(length, 1), hint, text=self.text)

    def _name(self) -> tuple[str | None, str, str]:
        match = _NAME.match(self.text)
        end = match.end() if match else 0
        if match is None or not self.text.startswith("(", end):
            raise self._bad_name(end)
        self.spans["name", 0] = (0, end)
        self.pos = end + 1
        namespace, name, overload = match.groups()
        return namespace, name, overload or ""

    def _bad_name(self, end: int) -> SchemaError:
        paren = self.text.find("(")
        if paren < 0:
            hint = "a schema looks like `name(Tensor x) -> Tensor`"
            return self._error("expected `(` after the operator's name", end, 1, hint)
        name = self.text[:paren]
        if not name:
            return self._error("the operator has no name", 0)
        hint = "letters, digits and `_`, not a digit first; `namespace::name.overload`"
        return self._error(f"`{name}` is not an operator's name", 0, paren, hint)

    def _arguments(self) -> tuple[Argument, ...]:
        text = self.text
        arguments: list[Argument] = []
        if text.startswith(")", self.pos):
            self.pos += 1
            return ()
        kwarg_only = False
        while True:
            if text.startswith("*", self.pos):
                if kwarg_only:
                    raise self._error("`*` is there twice", self.pos)
                kwarg_only = True
                star = self.pos
                self.pos += 1
                if text.startswith(")", self.pos):
                    raise self._error("no argument follows `*`", star)
            else:
                start = self.pos
                argument = self._argument(kwarg_only)
                self.spans["argument", len(arguments)] = (start, self.pos - start)
                arguments.append(argument)
            if text.startswith(", ", self.pos):
                self.pos += 2
            elif text.startswith(")", self.pos):
                self.pos += 1
                return tuple(arguments)
            else:
                raise self._bad_separator("arguments")

    def _argument(self, kwarg_only: bool) -> Argument:
        text = self.text
        start = self.pos
        type_, alias = self._type("an argument")
        if not text.startswith(" ", self.pos):
            raise self._error("an argument has a type and a name", start, self.pos - start, "as in `Tensor x`")
        self.pos += 1
        name = self._identifier("an argument")
        default = self._default() if text.startswith("=", self.pos) else None
        try:
            return Argument(name, type_, default, kwarg_only, alias)
        except SchemaError as error:
            raise error.moved(start, text) from None

    def _default(self) -> str:
        self.pos += 1
        match = DEFAULT.match(self.text, self.pos)
        if match is None:
            raise self._error("expected a default after `=`", self.pos)
        self.pos = match.end()
        return match.group()

    def _type(self, of: str) -> tuple[Type, Alias | None]:
        match = _TYPE.match(self.text, self.pos)
        if match is None:
            raise self._no_type(of)
        try:
            result = parse_type(match.group())
        except SchemaError as error:
            raise error.moved(self.pos, self.text) from None
        self.pos = match.end()
        return result

    def _no_type(self, of: str) -> SchemaError:
        if self.text.startswith(" ", self.pos):
            return self._error("expected one space only", self.pos)
        return self._error(f"expected the type of {of}", self.pos)

    def _identifier(self, of: str) -> str:
        match = _IDENTIFIER.match(self.text, self.pos)
        word = _WORD.match(self.text, self.pos)
        if match is None or word is None or word.end() != match.end():
            if word is None:
                raise self._error(f"expected the name of {of}", self.pos)
            hint = "letters, digits and `_`, not a digit first"
            raise self._error(f"`{word.group()}` is not a name", self.pos, len(word.group()), hint)
        self.pos = match.end()
        return match.group()

    def _bad_separator(self, what: str) -> SchemaError:
        rest = self.text[self.pos : self.pos + 1]
        if not rest:
            return self._error(f"the list of {what} is not closed", self.pos, 1, "expected `)`")
        if rest == ",":
            return self._error("expected a space after `,`", self.pos)
        return self._error(f"expected `, ` or `)` between {what}", self.pos)

    def _arrow(self) -> None:
        if not self.text.startswith(" -> ", self.pos):
            rest = self.text[self.pos :]
            hint = (
                "write ` -> `, with one space before and after" if "->" in rest[:8] else "a schema ends in ` -> Tensor`"
            )
            raise self._error("expected ` -> ` and what the operator returns", self.pos, min(len(rest), 4), hint)
        self.pos += 4

    def _returns(self) -> tuple[Return, ...]:
        text = self.text
        if not text.startswith("(", self.pos):
            return (self._return(0),)
        self.pos += 1
        if text.startswith(")", self.pos):
            self.pos += 1
            return ()
        returns: list[Return] = []
        while True:
            returns.append(self._return(len(returns)))
            if text.startswith(", ", self.pos):
                self.pos += 2
            elif text.startswith(")", self.pos):
                self.pos += 1
                return tuple(returns)
            else:
                raise self._bad_separator("returns")

    def _return(self, index: int) -> Return:
        start = self.pos
        type_, alias = self._type("a return")
        name = None
        if self.text.startswith(" ", self.pos):
            self.pos += 1
            name = self._identifier("a return")
        self.spans["return", index] = (start, self.pos - start)
        return Return(type_, name, alias)
