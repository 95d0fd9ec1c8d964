"""The names that a module exports: one for each operator, whichever of its overloads are in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import opschema
from mtcodegen.pycode.names import IMPORTED, KEYWORDS, Names

__all__ = ["exported_names", "has_odd_names", "sorted_names"]

_NUMBER = re.compile(r"(\d+)")


def exported_names(schemas: Sequence[opschema.Schema]) -> dict[tuple[str, str], str]:
    """The name of every operator, by its namespace and its own."""
    names = Names(reserved=KEYWORDS | IMPORTED)
    found: dict[tuple[str, str], str] = {}
    for schema in schemas:
        base = schema.namespace or "", schema.name
        if base not in found:
            found[base] = names.unique(schema.name)
    return found


def sorted_names(names: Iterable[str]) -> list[str]:
    """In the order linters want for ``__all__``: constants, classes, then the rest, numbers by value."""

    def key(name: str) -> tuple[int, list[Any]]:
        kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
        parts: list[Any] = _NUMBER.split(name)  # numbers in every other place
        parts[1::2] = map(int, parts[1::2])
        return kind, parts

    return sorted(names, key=key)


def has_odd_names(schemas: Sequence[opschema.Schema]) -> bool:
    """Whether names break the linter's rules: upper-case arguments, operators like `__and__`."""
    arguments = {argument.name for schema in schemas for argument in schema.arguments}
    return any(name != name.lower() for name in arguments) or any(s.name.startswith("__") for s in schemas)
