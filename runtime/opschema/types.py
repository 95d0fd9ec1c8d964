"""Types of a schema: a base type, or an optional or a list of a type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .errors import SchemaError
from .hints import type_hint

BASE_TYPES = frozenset(
    {
        "Tensor",
        "int",
        "bool",
        "SymInt",
        "SymBool",
        "Scalar",
        "float",
        "complex",
        "str",
        "ScalarType",
        "Device",
        "DeviceIndex",
        "Layout",
        "MemoryFormat",
        "QScheme",
        "Generator",
        "Storage",
        "Stream",
    }
)
MAX_SUFFIXES = 8


@dataclass(frozen=True, slots=True)
class BaseType:
    """One of ``BASE_TYPES``."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in BASE_TYPES:
            hint = type_hint(self.name, BASE_TYPES)
            raise SchemaError(f"unknown type specifier `{self.name}`", 0, len(self.name), hint)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionalType:
    """``elem?``: a value or None."""

    elem: Type

    def __post_init__(self) -> None:
        if isinstance(self.elem, OptionalType):
            raise SchemaError(f"`{self.elem}?` is optional twice", 0, len(str(self.elem)) + 1, f"write `{self.elem}`")

    def __str__(self) -> str:
        return f"{self.elem}?"


@dataclass(frozen=True, slots=True)
class ListType:
    """``elem[]``, or ``elem[size]``: a list whose scalar default stands for ``size`` equal elements."""

    elem: Type
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.elem}[{'' if self.size is None else self.size}]"


Type = BaseType | OptionalType | ListType


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias annotation such as ``(a)``, ``(a!)`` or ``(a -> *)``.

    ``before`` and ``after`` are the sets a tensor belongs to before and after the call; ``("*",)`` is any.
    ``write`` says that the operator writes to it.
    """

    before: tuple[str, ...]
    write: bool = False
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.before:
            raise SchemaError("an alias annotation names at least one set")

    def __str__(self) -> str:
        after = f" -> {'|'.join(self.after)}" if self.after else ""
        return f"({'|'.join(self.before)}{'!' if self.write else ''}{after})"


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """An annotation in PyTorch's form: the sets before and after the call, equal where none is named for after."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool


def alias_info(type_: Type, alias: Alias | None) -> AliasInfo | None:
    """An annotation as sets; of a list they are empty, because its elements belong to them and not the list."""
    if alias is None:
        return None
    if isinstance(type_, ListType):
        return AliasInfo(frozenset(), frozenset(), alias.write)
    return AliasInfo(frozenset(alias.before), frozenset(alias.after or alias.before), alias.write)


def size_of(type_: Type) -> int | None:
    """The length in ``int[2]``, None elsewhere."""
    while isinstance(type_, OptionalType):
        type_ = type_.elem
    return type_.size if isinstance(type_, ListType) else None


def base_of(type_: Type) -> BaseType:
    """The innermost type: ``Tensor`` of ``Tensor?[]``."""
    while not isinstance(type_, BaseType):
        type_ = type_.elem
    return type_


def annotated(type_: Type, alias: Alias | None) -> str:
    """``type_`` as text, with the annotation behind its base type: ``Tensor(a!)[]``."""
    if alias is None:
        return str(type_)
    name = base_of(type_).name
    return f"{name}{alias}{str(type_)[len(name) :]}"


_BASE = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_ALIAS = re.compile(r"\(([^()]*)\)")
_ALIAS_PARTS = re.compile(r"(\w+(?:\|\w+)*)(!?)(?: -> (\*|\w+(?:\|\w+)*))?", re.ASCII)
_SUFFIX = re.compile(r"\?|\[(0|[1-9]\d{0,3})?\]", re.ASCII)  # a default may stand for that many elements


@lru_cache(maxsize=4096)
def parse_type(text: str) -> tuple[Type, Alias | None]:
    """Read one type with its alias annotation. Raises SchemaError with an offset in ``text``."""
    base = _BASE.match(text)
    if base is None:
        raise SchemaError(f"`{text}` is not a type", 0, max(len(text), 1))
    type_: Type = BaseType(base.group())
    position = base.end()
    alias = None
    if match := _ALIAS.match(text, position):
        alias = _parse_alias(match, base.group())
        position = match.end()
    suffixes = 0
    while match := _SUFFIX.match(text, position):
        type_ = _suffixed(type_, match, text)
        position = match.end()
        suffixes += 1
        if suffixes > MAX_SUFFIXES:
            raise SchemaError(f"a type has at most {MAX_SUFFIXES} suffixes", 0, len(text))
    if position != len(text):
        raise _trailing(text, position)
    return type_, alias


def _suffixed(type_: Type, match: re.Match[str], text: str) -> Type:
    if match.group() != "?":
        return ListType(type_, int(match.group(1)) if match.group(1) else None)
    try:
        return OptionalType(type_)
    except SchemaError as error:
        raise SchemaError(error.message, 0, len(text), error.hint) from None


def _parse_alias(match: re.Match[str], base: str) -> Alias:
    offset, length = match.start(), match.end() - match.start()
    if base != "Tensor":
        raise SchemaError(f"only a Tensor can be annotated, and this is {base}", offset, length)
    parts = _ALIAS_PARTS.fullmatch(match.group(1))
    if parts is None:
        hint = "write `(a)`, `(a!)`, `(a|b)` or `(a -> *)`"
        raise SchemaError(f"`{match.group()}` is not an alias annotation", offset, length, hint)
    before, write, after = parts.groups()
    return Alias(tuple(before.split("|")), bool(write), tuple(after.split("|")) if after else ())


def _trailing(text: str, position: int) -> SchemaError:
    rest = text[position:]
    if rest.startswith("!"):
        return SchemaError("a mutated tensor needs a named set", position, 1, "write `Tensor(a!)`")
    if rest.startswith("["):
        return SchemaError(
            "the size of a list is a number below 10000", position, len(rest), "write `[]` or, say, `[2]`"
        )
    if rest.startswith("("):
        hint = "the annotation stands behind the base type, as in `Tensor(a!)[]`"
        return SchemaError("an alias annotation in the wrong place", position, len(rest), hint)
    return SchemaError(f"`{rest}` does not belong to a type", position, len(rest))
