"""Identifiers of generated code: never a keyword, never one that something else has."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Sequence

__all__ = [
    "BUILTINS",
    "IMPORTED",
    "KEYWORDS",
    "RESERVED",
    "Names",
]

# What a generated module imports, and `getattr`, by which it reads attributes whose names are keywords. An operator or
# argument of such a name is spelled with an underscore at its end.
IMPORTED = frozenset(
    {"Any", "Sequence", "Tensor", "annotations", "builtins", "getattr", "library", "math", "npu", "torch", "warnings"}
)
# Builtins that generated code calls. An operator may be exported under such a name; the code then says `builtins.min`.
BUILTINS = frozenset(
    {"FutureWarning", "NotImplementedError"}
    | {"abs", "any", "float", "frozenset", "int", "len", "max", "min", "sum", "tuple", "zip"}
)

KEYWORDS = frozenset({*keyword.kwlist, "__debug__"})  # no variable can have these names
# Names that no parameter or variable of generated code gets; `_` is for values that are not used.
RESERVED = IMPORTED | BUILTINS | KEYWORDS | {"_"}

# What every object of Python has, in any version: no operator can be looked up under such a name.
OBJECT_ATTRIBUTES = frozenset(
    f"__{name}__"
    for name in (
        *("annotations", "class", "delattr", "dict", "dir", "doc", "eq", "firstlineno", "format", "ge", "getattr"),
        *("getattribute", "getstate", "gt", "hash", "init", "init_subclass", "le", "lt", "module", "name", "ne", "new"),
        *("qualname", "reduce", "reduce_ex", "repr", "setattr", "sizeof", "slots", "static_attributes", "str"),
        *("subclasshook", "weakref"),
    )
)
_OVERLOADS = frozenset({"_qualified_op_name", "namespace", "overloads"})  # what the object of an operator has
_NAMESPACES = frozenset({"_", "prim"})  # the runtime's own


def taken(namespace: str, name: str = "", overload: str = "") -> tuple[str, str] | None:
    """Of ``namespace::name.overload`` the part that cannot be called so, and what it names."""
    if namespace in _NAMESPACES or namespace.startswith("__"):
        return namespace, "a namespace"
    if name in OBJECT_ATTRIBUTES:
        return name, "an operator"
    return (overload, "an overload") if overload in _OVERLOADS else None


class Names:
    """Gives unique names in one scope: none that is ``taken`` there or ``reserved`` everywhere."""

    def __init__(self, taken: Iterable[str] = (), *, reserved: frozenset[str] = KEYWORDS) -> None:
        self._taken = {*taken}
        self._reserved = reserved

    def unique(self, wanted: str) -> str:
        """``wanted``, or where that is taken, the first of ``wanted_``, ``wanted_2``, ``wanted_3``, ... that is not."""
        name, number = wanted, 1
        while name in self._taken or name in self._reserved:
            name = f"{wanted}_" if number == 1 else f"{wanted}_{number}"
            number += 1
        self._taken.add(name)
        return name

    def each(self, wanted: Sequence[str]) -> dict[str, str]:
        """A unique name for each of ``wanted``, no two of which are the same."""
        if self._taken.isdisjoint(wanted) and self._reserved.isdisjoint(wanted):  # nearly always
            self._taken.update(wanted)
            return dict(zip(wanted, wanted, strict=True))
        return {name: self.unique(name) for name in wanted}
