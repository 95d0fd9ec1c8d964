"""Binding a call's symbols to an operator's schema, as the core binds values: by their types, defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opschema.definitions import Number, Shape, Symbol, Tracer

from ..._core import OpOverload

__all__ = ["bind"]

_FITTING = {
    "Tensor": ("tensor",),
    "int": ("int",),
    "SymInt": ("int",),
    "float": ("float", "int", "number"),
    "bool": ("bool",),
    "Scalar": ("int", "float", "bool", "number"),
    "str": ("str",),
    "ScalarType": ("dtype",),
    "Device": ("device",),
}


def bind(of: Tracer, overload: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Symbol] | None:
    """The arguments in schema order, None where they do not fit."""
    arguments = overload._schema.arguments
    positional = [a for a in arguments if not a.kwarg_only]
    args = _with_listed_rest(positional, args)
    if len(args) > len(positional) or not set(kwargs) <= {a.name for a in arguments}:
        return None
    given = dict(zip([a.name for a in positional], args, strict=False)) | dict(kwargs)
    if len(given) < len(args) + len(kwargs):
        return None
    found = []
    for argument in arguments:
        if argument.name in given:
            symbol = _fitted(of, str(argument.type), given[argument.name])
        else:
            symbol = _default(of, overload, argument)
        if symbol is None:
            return None
        found.append(symbol)
    return found


def _with_listed_rest(positional: Sequence[Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``x.reshape(2, 3)``: the last positional argument, a list of ints, takes all ints that are left."""
    at = len(positional) - 1
    if len(args) > at >= 0 and _is_int(args[at]):
        text = str(positional[at].type)
        if text.partition("[")[0] in ("int", "SymInt") and (len(args) > at + 1 or text.endswith("[]")):
            return (*args[:at], list(args[at:]))
    return args


def _is_int(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Number) and value.kind == "int")


def _default(of: Tracer, overload: OpOverload, argument: Any) -> Symbol | None:
    if not argument.has_default:
        return None
    symbol: Symbol = of.make("object", "default", what=(overload, argument.name))
    return symbol


def _fitted(of: Tracer, text: str, value: Any) -> Symbol | None:
    """A value as an argument of a type, None where it is of another."""
    symbol: Symbol
    if value is None:
        symbol = of.lift(None)
        return symbol if text.endswith("?") else None
    base = text.removesuffix("?")
    if base.split("[")[0] in ("int", "SymInt") and "[" in base:
        return _fitted_ints(of, value)
    if base in ("Tensor[]", "Tensor?[]"):
        return _fitted_tensors(of, base, value)
    if isinstance(value, (list, tuple)):
        return None
    symbol = of.lift(value)
    if base not in _FITTING:  # a list of tensors and the like: passed on as it is
        return symbol if symbol.step == "arg" and symbol.what[1].removesuffix("?") == base else None
    if symbol.kind not in _FITTING[base]:
        return None
    if base == "float" and symbol.kind != "float":
        floating: Symbol = of.as_float(symbol)
        return floating
    return symbol


def _fitted_tensors(of: Tracer, base: str, value: Any) -> Symbol | None:
    if isinstance(value, (list, tuple)):
        optional = base == "Tensor?[]"
        if not all((v is None and optional) or (isinstance(v, Symbol) and v.kind == "tensor") for v in value):
            return None
        listed: Symbol = of.together(value)
        return listed
    return value if isinstance(value, Symbol) and value.kind == "tensors" else None


def _fitted_ints(of: Tracer, value: Any) -> Symbol | None:
    symbol: Symbol
    if isinstance(value, (Shape, list, tuple)):
        symbol = of.shape(value)
        return symbol
    if _is_int(value):
        symbol = of.shape([value])
        return symbol
    return None
