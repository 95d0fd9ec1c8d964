"""Conditions whose outcome the schema alone decides."""

from __future__ import annotations

import operator
from collections.abc import Callable

import opschema
from mtcodegen.expr import Call, Expr, Literal, Name, walk
from mtcodegen.expr.nodes import Attribute, BoolOp, Compare, Index, Unary

__all__ = ["truth"]

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OF_EQUALS = {"==": True, "<=": True, ">=": True, "is": True, "!=": False, "<": False, ">": False, "is not": False}
_COUNTS = frozenset({"numel", "dim", "size", "element_size"})


def truth(expr: Expr, schema: opschema.Schema) -> bool | None:
    """Whether ``expr`` always (True) or never (False) holds; None where that depends on the arguments."""
    match expr:
        case Literal(value=bool(value)):
            return value
        case Unary(op="not", operand=operand):
            inner = truth(operand, schema)
            return None if inner is None else not inner
        case BoolOp(op=op, values=values):
            return _combined(op, [truth(value, schema) for value in values])
        case Compare(first=first, rest=rest):
            sides = [first, *(side for _, side in rest)]
            found = [_compared(op, sides[i], sides[i + 1], schema) for i, (op, _) in enumerate(rest)]
            return _combined("and", found)
    return None


def _combined(op: str, values: list[bool | None]) -> bool | None:
    decisive = op == "or"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _compared(op: str, left: Expr, right: Expr, schema: opschema.Schema) -> bool | None:
    if isinstance(right, Literal) and right.value is None and op in ("is", "is not"):
        return op == "is not" if _is_required(left, schema) else None
    if left == right and op in _OF_EQUALS and not _may_be_nan(left, schema):
        return _OF_EQUALS[op]
    first, second = _number(left), _number(right)
    if first is not None and second is not None and op in _COMPARE:
        return _COMPARE[op](first, second)
    if second is None and first is not None and op in _FLIPPED:
        return _compared(_FLIPPED[op], right, left, schema)
    return _count_compared(op, second) if second is not None and _is_count(left) else None


def _count_compared(op: str, number: float) -> bool | None:
    """A count, which is 0 or more, against a number."""
    if (op == ">=" and number <= 0) or (op in (">", "!=") and number < 0):
        return True
    return False if (op == "<" and number <= 0) or (op in ("<=", "==") and number < 0) else None


def _number(expr: Expr) -> float | None:
    if isinstance(expr, Unary) and expr.op == "-":
        inner = _number(expr.operand)
        return None if inner is None else -inner
    value = expr.value if isinstance(expr, Literal) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_count(expr: Expr) -> bool:
    match expr:
        case Call(function=Attribute(name=name)):
            return name in _COUNTS
        case Call(function=Name(id="len")) | Attribute(name="ndim") | Index(value=Attribute(name="shape")):
            return True
    return False


def _is_required(expr: Expr, schema: opschema.Schema) -> bool:
    """Whether an expression names an argument that cannot be None."""
    types = {argument.name: argument.type for argument in schema.arguments}
    return isinstance(expr, Name) and expr.id in types and not isinstance(types[expr.id], opschema.OptionalType)


def _may_be_nan(expr: Expr, schema: opschema.Schema) -> bool:
    """``scale == scale`` asks whether a number is not NaN."""
    numbers = {item.name for item in schema.arguments if opschema.base_of(item.type).name in ("float", "Scalar")}
    return any(isinstance(node, Name) and node.id in {*numbers, "nan"} for node in walk(expr))
