"""Questions about an operator's schema that several stages ask."""

from __future__ import annotations

import re

import opschema
from mtcodegen.findings.source import Span, Text

__all__ = [
    "aliased_argument",
    "argument_span",
    "fresh_returns",
    "is_tensor",
    "is_tensor_list",
    "no_method",
    "tensor_arguments",
]


def argument_span(func: Text, name: str) -> Span:
    """Where a schema names an argument: behind its type."""
    found = re.compile(rf"(?<=\s){re.escape(name)}(?=[,)=])").search(func.value, func.value.find("("))
    return func.span if found is None else func.locate(found.start(), len(name))


def is_tensor(type_: opschema.Type) -> bool:
    """``Tensor``, neither optional nor a list."""
    return isinstance(type_, opschema.BaseType) and type_.name == "Tensor"


def is_tensor_list(type_: opschema.Type) -> bool:
    """A list of tensors, of optional ones too, or an optional list."""
    if isinstance(type_, opschema.OptionalType):
        return is_tensor_list(type_.elem)
    return isinstance(type_, opschema.ListType) and opschema.base_of(type_).name == "Tensor"


def tensor_arguments(schema: opschema.Schema) -> list[opschema.Argument]:
    """Arguments of the type ``Tensor``, neither optional nor lists; those written to are included."""
    return [argument for argument in schema.arguments if is_tensor(argument.type)]


def no_method(schema: opschema.Schema) -> str:
    """Why an operator cannot be a method of tensors, which is called on `self`, or on the first argument; or empty."""
    if not schema.positional:
        return "it has no positional argument"
    called_on = next((item for item in schema.positional if item.name == "self"), schema.positional[0])
    if opschema.base_of(called_on.type).name == "Tensor" and not is_tensor_list(called_on.type):
        return ""
    return f"`{called_on.name}` is {called_on.type}"


def aliased_argument(schema: opschema.Schema, ret: opschema.Return) -> opschema.Argument | None:
    """The mutated argument that a return hands back."""
    if ret.alias is None or not ret.alias.write:
        return None
    return next((argument for argument in schema.arguments if argument.alias == ret.alias), None)


def fresh_returns(schema: opschema.Schema) -> list[int]:
    """Positions of the returns that are new values, not a mutated argument."""
    return [i for i, ret in enumerate(schema.returns) if aliased_argument(schema, ret) is None]
