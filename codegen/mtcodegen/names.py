"""Identifiers of generated code: never a keyword, never one that something else has."""

from __future__ import annotations

import functools
import keyword
from collections.abc import Iterable, Mapping
from functools import cached_property

import opschema

__all__ = ["BUILTINS", "CONTEXT", "IMPORTED", "Names", "Parameters", "annotation", "return_annotation"]

# What a generated module imports; an operator or argument of such a name is spelled with an underscore at its end.
IMPORTED = frozenset(
    {"Any", "Sequence", "Tensor", "annotations", "builtins", "library", "math", "npu", "torch", "warnings"}
)
# Builtins that generated code calls. An operator may be exported under such a name; the code then says `builtins.min`.
BUILTINS = frozenset(
    {"FutureWarning", "NotImplementedError", "abs", "any", "float", "int", "len", "max", "min", "sum", "tuple"}
)

_TAKEN = IMPORTED | BUILTINS
_KEYWORDS = frozenset(keyword.kwlist)

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

# What `ctx` has already; a saved value of such a name gets an underscore.
CONTEXT = frozenset(
    {
        "function",
        "mark_dirty",
        "mark_non_differentiable",
        "materialize_grads",
        "metadata",
        "name",
        "needs_input_grad",
        "next_functions",
        "register_hook",
        "register_prehook",
        "save_for_backward",
        "save_for_forward",
        "saved_tensors",
        "set_materialize_grads",
    }
)


class Names:
    """The names that are taken in some scope, and new ones beside them."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken}

    def unique(self, wanted: str) -> str:
        """``wanted``, or where that is taken or a keyword, the first of ``wanted_``, ``wanted_2``, ... that is not."""
        name, number = wanted, 1
        while name in self._taken or name in _KEYWORDS:
            name = f"{wanted}_" if number == 1 else f"{wanted}_{number}"
            number += 1
        self._taken.add(name)
        return name


class Parameters:
    """An operator's arguments as parameters of Python functions.

    A keyword-only argument is passed by its own name, so one that cannot be a parameter's name comes in ``**kwargs``.
    """

    def __init__(self, schema: opschema.Schema) -> None:
        self.schema = schema
        names = Names(_TAKEN)
        self.spelled: Mapping[str, str] = {arg.name: names.unique(arg.name) for arg in schema.arguments}
        self._renamed = [arg for arg in schema.arguments if arg.kwarg_only and self.spelled[arg.name] != arg.name]
        self._kwargs = names.unique("kwargs") if self._renamed else ""

    def local_names(self) -> Names:
        """Names for the local variables of a function with these parameters."""
        return Names((*_TAKEN, *self.spelled.values(), self._kwargs))

    @cached_property
    def result(self) -> str:
        """A local variable for what a call returns."""
        return self.local_names().unique("result")

    @cached_property
    def unbound(self) -> list[str]:
        """All arguments as plain parameters."""
        return [f"{self.spelled[arg.name]}: {annotation(arg.type)}" for arg in self.schema.arguments]

    @cached_property
    def declared(self) -> list[str]:
        """The parameter list, with keyword-only arguments as keyword-only parameters."""
        count = sum(not arg.kwarg_only for arg in self.schema.arguments)
        if count == len(self.unbound):
            return self.unbound
        keywords = zip(self.schema.arguments[count:], self.unbound[count:], strict=True)
        plain = [text for arg, text in keywords if arg not in self._renamed]
        kwargs = [f"**{self._kwargs}: Any"] if self._kwargs else []
        return [*self.unbound[:count], *(["*", *plain] if plain else []), *kwargs]

    @cached_property
    def unpacked(self) -> list[str]:
        """Statements that take the arguments out of ``**kwargs`` that have no parameter."""
        return [f'{self.spelled[arg.name]} = {self._kwargs}["{arg.name}"]' for arg in self._renamed]

    @cached_property
    def passed(self) -> str:
        """The arguments of a call that passes them all on."""
        spelled, renamed = self.spelled, self._renamed
        parts = [
            f"{arg.name}={spelled[arg.name]}" if arg.kwarg_only else spelled[arg.name]
            for arg in self.schema.arguments
            if arg not in renamed
        ]
        odd = ", ".join([f'"{arg.name}": {spelled[arg.name]}' for arg in renamed])
        return ", ".join([*parts, f"**{{{odd}}}"] if odd else parts)


_ANNOTATIONS = {
    "Tensor": "Tensor",
    "int": "int",
    "SymInt": "int",
    "DeviceIndex": "int",
    "float": "float",
    "Scalar": "float",
    "complex": "complex",
    "bool": "bool",
    "SymBool": "bool",
    "str": "str",
    "ScalarType": "torch.dtype",
    "Device": "torch.device",
}


@functools.lru_cache(maxsize=4096)  # there are few types
def annotation(type_: opschema.Type, *, called: bool = False) -> str:
    """The Python type of a schema's type: of a bound argument, or (``called``) of what a caller may pass."""
    if isinstance(type_, opschema.OptionalType):
        inner = annotation(type_.elem, called=called)
        return inner if inner == "Any" else f"{inner} | None"
    if isinstance(type_, opschema.ListType):
        elem = annotation(type_.elem, called=called)
        return f"{elem} | Sequence[{elem}]" if called and type_.size is not None else f"Sequence[{elem}]"
    if called and type_.name == "Device":
        return "torch.device | str"
    return _ANNOTATIONS.get(type_.name, "Any")


def return_annotation(schema: opschema.Schema) -> str:
    """The Python type of what an operator returns."""
    return _returned_together(tuple(ret.type for ret in schema.returns))


@functools.lru_cache(maxsize=4096)
def _returned_together(types: tuple[opschema.Type, ...]) -> str:
    parts = list(map(_returned, types))
    if len(parts) == 1:
        return parts[0]
    return f"tuple[{', '.join(parts)}]" if parts else "None"


def _returned(type_: opschema.Type) -> str:
    if isinstance(type_, opschema.ListType):
        return f"list[{_returned(type_.elem)}]"
    if isinstance(type_, opschema.OptionalType):
        inner = _returned(type_.elem)
        return inner if inner == "Any" else f"{inner} | None"
    return annotation(type_)
