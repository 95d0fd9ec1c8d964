"""What there is to ask of schemas and operators."""

from __future__ import annotations

from typing import Any

from opschema import BaseType, ListType, OptionalType, Schema, base_of, parse_schema

from .. import _ops
from .._core import OpOverload

__all__ = [
    "has_kwarg_only_args",
    "has_kwarg_only_tensors",
    "has_tensor_arg",
    "is_builtin",
    "is_functional_schema",
    "is_tensor_like_type",
    "is_tensorlist_like_type",
    "lookup_op",
    "parse_namespace",
]

_BUILTIN = {"aten", "prim", "prims"}


def is_functional_schema(schema: Schema | str, *, allow_valid_view: bool = False) -> bool:
    """Whether an operator writes to no argument, has a return, and returns no view unless those are allowed."""
    found = parse_schema(schema) if isinstance(schema, str) else schema
    views = any(one.alias is not None for one in found.returns)
    return bool(found.returns) and not any(a.is_write for a in found.arguments) and (allow_valid_view or not views)


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a schema's type is Tensor or Tensor?."""
    return isinstance(_inner(typ), BaseType) and _inner(typ).name == "Tensor"


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a schema's type is a list of tensors, of which some, or all, may be left out."""
    inner = _inner(typ)
    return isinstance(inner, ListType) and base_of(inner).name == "Tensor"


def _inner(typ: Any) -> Any:
    return typ.elem if isinstance(typ, OptionalType) else typ


def has_tensor_arg(schema: Schema) -> bool:
    """Whether an operator takes tensors, or lists of them."""
    return any(base_of(a.type).name == "Tensor" for a in schema.arguments)


def has_kwarg_only_args(schema: Schema) -> bool:
    """Whether an operator takes arguments by keyword alone."""
    return bool(schema.kwarg_only)


def has_kwarg_only_tensors(schema: Schema) -> bool:
    """Whether these are tensors."""
    return any(base_of(a.type).name == "Tensor" for a in schema.kwarg_only)


def is_builtin(op: OpOverload) -> bool:
    """Whether an operator is one of PyTorch's own."""
    return op.namespace in _BUILTIN


def lookup_op(qualname: str) -> OpOverload:
    """The operator ``"ns::name.overload"``. Raises AttributeError where there is none."""
    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    found: OpOverload = getattr(getattr(getattr(_ops.ops, namespace), name), overload or "default")
    return found


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Namespace and name. Raises ValueError where there is no namespace, or several."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(f"Expected `qualname` to be of the form 'namespace::name', but got {qualname}")
    return parts[0], parts[1]
