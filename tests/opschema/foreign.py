"""Schemas of others: whatever TorchScript prints, read and printed back, with no rule but the grammar.

``torch._C._jit_get_all_schemas()`` has more than operators may have here: type variables, dictionaries, tuples,
futures, classes, any number of arguments (``...``), sets on every type (``int[](a!)``, ``t(*)``), defaults as numbers
of an enumeration. ``parse_foreign`` reads them all, to look at or to compare; ``parse_schema`` stays the one way to
declare an operator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from opschema.defaults import DEFAULT
from opschema.errors import SchemaError
from opschema.types import Alias

__all__ = ["ForeignArgument", "ForeignReturn", "ForeignSchema", "ForeignType", "parse_foreign"]


@dataclass(frozen=True, slots=True)
class ForeignType:
    """A type as written. ``name`` is that of a base type, a class, a type variable or a container.

    ``parameters`` are what a container holds: ``Dict(str, t)``; of a tuple, whose name is empty, its elements.
    ``suffixes`` are ``?``, ``[]`` and ``[2]`` from left to right. ``aliases`` has the set behind the name, and behind
    each suffix, or None.
    """

    name: str
    parameters: tuple[ForeignType, ...] = ()
    suffixes: tuple[str, ...] = ()
    aliases: tuple[Alias | None, ...] = (None,)

    def __str__(self) -> str:
        is_container = not self.name or self.name in _CONTAINERS
        head = f"{self.name}({', '.join(map(str, self.parameters))})" if is_container else self.name
        parts = zip((head, *self.suffixes), self.aliases, strict=True)
        return "".join(f"{text}{alias or ''}" for text, alias in parts)


@dataclass(frozen=True, slots=True)
class ForeignArgument:
    """One argument; ``default`` is the text of its default, None where it has none."""

    name: str
    type: ForeignType
    default: str | None = None
    kwarg_only: bool = False

    def __str__(self) -> str:
        return f"{self.type} {self.name}{'' if self.default is None else f'={self.default}'}"


@dataclass(frozen=True, slots=True)
class ForeignReturn:
    """One returned value."""

    type: ForeignType
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.type} {self.name}" if self.name else str(self.type)


@dataclass(frozen=True, slots=True)
class ForeignSchema:
    """A whole schema; ``is_vararg`` and ``is_varret``: any number of further arguments, of returns."""

    namespace: str | None
    name: str
    overload: str
    arguments: tuple[ForeignArgument, ...]
    returns: tuple[ForeignReturn, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def qualname(self) -> str:
        """``ns::name.overload``, without the parts that are absent."""
        namespace = f"{self.namespace}::" if self.namespace else ""
        return f"{namespace}{self.name}{f'.{self.overload}' if self.overload else ''}"

    def __str__(self) -> str:
        first_keyword = next((i for i, argument in enumerate(self.arguments) if argument.kwarg_only), None)
        arguments = [str(argument) for argument in self.arguments]
        if first_keyword is not None:
            arguments.insert(first_keyword, "*")
        arguments += ["..."] if self.is_vararg else []
        return f"{self.qualname}({', '.join(arguments)}) -> {self._returned()}"

    def _returned(self) -> str:
        texts = [str(ret) for ret in self.returns]
        if self.is_varret:
            return ", ".join([*texts, "..."])
        return texts[0] if len(texts) == 1 and not texts[0].startswith("(") else f"({', '.join(texts)})"


_CONTAINERS = frozenset({"Dict", "Future", "RRef", "Await", "Union"})
_MAX_DEPTH = 32
_NAME = re.compile(r"(?:(\w+)::)?(\w+)(?:\.(\w+))?\(", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TYPE_NAME = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_SUFFIX = re.compile(r"\?|\[\d{0,9}\]", re.ASCII)
_SET = r"(?:\*|\w+(?:\|\w+)*)"
_ALIAS = re.compile(rf"\(({_SET})(!?)(?: -> ({_SET}))?\)", re.ASCII)


def parse_foreign(text: str) -> ForeignSchema:
    """Read a schema as TorchScript prints it; ``str()`` of the result is ``text``.

    Raises SchemaError with the offset of what is not of the grammar.
    """
    return _Parser(text).schema()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.depth = 0

    def schema(self) -> ForeignSchema:
        match = _NAME.match(self.text)
        if match is None:
            raise self.error("expected `namespace::name.overload(`")
        self.pos = match.end()
        namespace, name, overload = match.groups()
        arguments, is_vararg = self.arguments()
        self.expect(" -> ")
        returns, is_varret = self.returns()
        if self.pos != len(self.text):
            raise self.error("nothing may follow the returns")
        return ForeignSchema(namespace, name, overload or "", arguments, returns, is_vararg, is_varret)

    def error(self, message: str) -> SchemaError:
        return SchemaError(message, self.pos, 1, text=self.text)

    def take(self, token: str) -> bool:
        """Whether ``token`` stands here; it is then behind."""
        found = self.text.startswith(token, self.pos)
        self.pos += len(token) if found else 0
        return found

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.error(f"expected `{token}`")

    def word(self) -> str:
        match = _WORD.match(self.text, self.pos)
        if match is None:
            raise self.error("expected a name")
        self.pos = match.end()
        return match.group()

    def arguments(self) -> tuple[tuple[ForeignArgument, ...], bool]:
        found: list[ForeignArgument] = []
        kwarg_only = False
        if self.take(")"):
            return (), False
        while True:
            if self.take("..."):
                self.expect(")")
                return tuple(found), True
            if not kwarg_only and self.take("*"):
                kwarg_only = True
            else:
                found.append(self.argument(kwarg_only))
            if self.take(")"):
                return tuple(found), False
            self.expect(", ")

    def argument(self, kwarg_only: bool) -> ForeignArgument:
        type_ = self.type()
        self.expect(" ")
        name = self.word()
        default = None
        if self.take("="):
            match = DEFAULT.match(self.text, self.pos)
            if match is None:
                raise self.error("expected a default after `=`")
            self.pos, default = match.end(), match.group()
        return ForeignArgument(name, type_, default, kwarg_only)

    def returns(self) -> tuple[tuple[ForeignReturn, ...], bool]:
        if self.take("..."):
            return (), True
        if not self.take("("):
            return (self.one_return(),), False
        found: list[ForeignReturn] = []
        if self.take(")"):
            return (), False
        while True:
            found.append(self.one_return())
            if self.take(")"):
                return tuple(found), False
            self.expect(", ")

    def one_return(self) -> ForeignReturn:
        type_ = self.type()
        return ForeignReturn(type_, self.word() if self.take(" ") else None)

    def type(self) -> ForeignType:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(f"types nested more than {_MAX_DEPTH} deep")
        name = ""
        if not self.text.startswith("(", self.pos):
            match = _TYPE_NAME.match(self.text, self.pos)
            if match is None:
                raise self.error("expected a type")
            self.pos, name = match.end(), match.group()
        parameters = self.parameters() if not name or name in _CONTAINERS else ()
        suffixes: list[str] = []
        aliases = [self.alias()]
        while match := _SUFFIX.match(self.text, self.pos):
            self.pos = match.end()
            suffixes.append(match.group())
            aliases.append(self.alias())
        self.depth -= 1
        return ForeignType(name, parameters, tuple(suffixes), tuple(aliases))

    def parameters(self) -> tuple[ForeignType, ...]:
        self.expect("(")
        found: list[ForeignType] = []
        if self.take(")"):
            return ()
        while True:
            found.append(self.type())
            if self.take(")"):
                return tuple(found)
            self.expect(", ")

    def alias(self) -> Alias | None:
        match = _ALIAS.match(self.text, self.pos)
        if match is None:
            return None
        self.pos = match.end()
        before, write, after = match.groups()
        return Alias(tuple(before.split("|")), bool(write), tuple(after.split("|")) if after else ())
