"""Identifiers of generated code: never a keyword, never one that something else has."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence

from opschema import BaseType, ListType, Schema, Type

__all__ = [
    "BUILTINS",
    "CONTEXT",
    "IMPORTED",
    "KEYWORDS",
    "RESERVED",
    "Names",
    "Parameters",
    "annotation",
    "return_annotation",
]

# What a generated module imports, and `getattr`, by which it reads what is named as a keyword. An operator or argument
# of such a name is spelled with an underscore at its end.
IMPORTED = frozenset(
    {"Any", "Sequence", "Tensor", "annotations", "builtins", "getattr", "library", "math", "npu", "torch", "warnings"}
)
# Builtins that generated code calls. An operator may be exported under such a name; the code then says `builtins.min`.
BUILTINS = frozenset(
    {"FutureWarning", "NotImplementedError"}
    | {"abs", "any", "float", "frozenset", "int", "len", "max", "min", "sum", "tuple", "zip"}
)

KEYWORDS = frozenset({*keyword.kwlist, "__debug__"})  # nothing can be assigned to them
# What no parameter or variable of generated code is called.
RESERVED = IMPORTED | BUILTINS | KEYWORDS | {"_"}  # which is what nobody reads

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
    """The names that are taken in some scope, or ``reserved`` as in others, and new ones beside them."""

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


class Parameters:
    """An operator's arguments as parameters of Python functions: how each is ``spelled``, and as text.

    A keyword-only argument is passed by its own name, so one that cannot be a parameter's name comes in ``**kwargs``.
    ``unbound`` has them all as plain parameters. ``declared`` is the parameter list, ``unpacked`` are statements that
    take out of ``**kwargs`` what has no parameter, and ``passed`` is what a call gives that passes them all on.
    ``result`` is a local variable for what it returns.
    """

    def __init__(self, schema: Schema) -> None:
        names = Names(reserved=RESERVED)
        wanted = [arg.name for arg in schema.arguments]
        if RESERVED.isdisjoint(wanted):  # nearly always
            self.spelled: Mapping[str, str] = names.each(wanted)
        else:  # by keyword they are passed by their own names, which no other one may get
            found = names.each([arg.name for arg in sorted(schema.arguments, key=lambda arg: not arg.kwarg_only)])
            self.spelled = {name: found[name] for name in wanted}
        self._kwargs = ""
        self.unbound: list[str] = []
        self.declared: list[str] = []
        self.unpacked: list[str] = []
        passed, odd = [], []
        for arg in schema.arguments:
            spelled = self.spelled[arg.name]
            parameter = f"{spelled}: {annotation(arg.type)}"
            self.unbound.append(parameter)
            if not arg.kwarg_only:
                self.declared.append(parameter)
                passed.append(spelled)
            elif spelled == arg.name:
                self.declared += [parameter] if "*" in self.declared else ["*", parameter]
                passed.append(f"{spelled}={spelled}")
            else:
                self._kwargs = self._kwargs or names.unique("kwargs")
                self.unpacked.append(f'{spelled} = {self._kwargs}["{arg.name}"]')
                odd.append(f'"{arg.name}": {spelled}')
        if odd:
            self.declared.append(f"**{self._kwargs}: Any")
            passed.append(f"**{{{', '.join(odd)}}}")
        self.passed = ", ".join(passed)
        self.result = names.unique("result")

    def local_names(self) -> Names:
        """Names for the local variables of a function with these parameters."""
        return Names((*self.spelled.values(), self._kwargs), reserved=RESERVED)


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


def annotation(type_: Type) -> str:
    """The Python type of a schema's type, of an argument that is bound."""
    if isinstance(type_, BaseType):
        return _ANNOTATIONS.get(type_.name, "Any")
    inner = annotation(type_.elem)
    return f"Sequence[{inner}]" if isinstance(type_, ListType) else _optional(inner)


def _optional(inner: str) -> str:
    return inner if inner == "Any" else f"{inner} | None"


def return_annotation(schema: Schema) -> str:
    """The Python type of what an operator returns."""
    parts = [_returned(ret.type) for ret in schema.returns]
    if len(parts) == 1:
        return parts[0]
    return f"tuple[{', '.join(parts)}]" if parts else "None"


def _returned(type_: Type) -> str:
    if isinstance(type_, BaseType):
        return annotation(type_)
    inner = _returned(type_.elem)
    return f"list[{inner}]" if isinstance(type_, ListType) else _optional(inner)
