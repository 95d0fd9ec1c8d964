"""Which types of operands an operator accepts, and the type of its result."""

from __future__ import annotations

from mtcodegen.expr.nodes import Expr, ListExpr, Literal, Slice, Unary
from mtcodegen.expr.types import ANY, FLOAT, INT, NUMBER, Kind, ValueType, accepts, join

__all__ = ["binary_type", "compare_fault", "index_type"]


def binary_type(op: str, left: ValueType, right: ValueType) -> ValueType | None:
    """The type of ``left op right`` for values that are not tensors; None where they do not go together."""
    if Kind.ANY in (left.kind, right.kind):
        return ANY
    if left.is_number and right.is_number and op != "@":
        return _number_type(op, left, right)
    if op == "+" and left.kind is right.kind is Kind.LIST:
        joined = join(left.element, right.element)
        return ValueType.list_of(joined) if joined else None
    if op == "*" and Kind.LIST in (left.kind, right.kind):
        items, count = (left, right) if left.kind is Kind.LIST else (right, left)
        return items if count.kind is Kind.INT else None
    return None


def _number_type(op: str, left: ValueType, right: ValueType) -> ValueType:
    if Kind.NUMBER in (left.kind, right.kind):
        return NUMBER
    if op == "/" or Kind.FLOAT in (left.kind, right.kind):
        return FLOAT
    return NUMBER if op == "**" else INT  # a negative exponent gives a float


def compare_fault(op: str, left: ValueType, right: ValueType) -> tuple[str, str | None] | None:
    """Why ``left op right`` makes no sense, with a hint; None where it does."""
    if Kind.ANY in (left.kind, right.kind):
        return None
    if op in ("is", "is not"):
        return None if right.kind is Kind.NONE else (f"`{op}` compares with None only", "write `==`")
    if Kind.NONE in (left.kind, right.kind):
        return f"`{op}` does not compare with None", f"write `{'is not' if op == '!=' else 'is'} None`"
    if op in ("in", "not in"):
        return _membership_fault(op, left, right)
    left, right = left.required, right.required
    tensors = left.kind is Kind.TENSOR or right.kind is Kind.TENSOR
    if tensors and all(type_.kind is Kind.TENSOR or type_.is_number for type_ in (left, right)):
        return None
    if left.is_number and right.is_number:
        return None
    if op in ("==", "!=") and (accepts(left, right) or accepts(right, left)):
        return None
    return f"`{op}` cannot compare {left} with {right}", None


def _membership_fault(op: str, left: ValueType, right: ValueType) -> tuple[str, str | None] | None:
    if right.kind is Kind.TUPLE or (right.kind is Kind.LIST and not right.optional):
        if left.kind is not Kind.TENSOR and any(accepts(element, left.required) for element in right.elements):
            return None
        return f"`{op}` cannot find {left} in {right}", None
    return f"`{op}` takes a list on its right, not {right}", None


def index_type(value: ValueType, index: Expr, index_type_: ValueType) -> ValueType | str:
    """The type of ``value[index]``, or what is wrong with it."""
    if value.kind is Kind.ANY or index_type_.kind is Kind.ANY:
        return ANY
    if value.kind not in (Kind.LIST, Kind.TUPLE):
        return f"{value} cannot be indexed"
    if isinstance(index, ListExpr):
        return f"{value} takes one index"
    if value.kind is Kind.TUPLE:
        return _tuple_item(value, index)
    if isinstance(index, Slice):
        return value
    return value.element if accepts(INT, index_type_) else f"an index is an integer, not {index_type_}"


def literal_int(index: Expr) -> int | None:
    """The value of a literal integer with or without a sign, else None."""
    sign = 1
    if isinstance(index, Unary) and index.op == "-":
        sign, index = -1, index.operand
    if isinstance(index, Literal) and isinstance(index.value, int) and not isinstance(index.value, bool):
        return sign * index.value
    return None


def _tuple_item(value: ValueType, index: Expr) -> ValueType | str:
    position = literal_int(index)
    count = len(value.elements)
    if position is None:
        return "the index of several results is a literal number"
    if not -count <= position < count:
        return f"the index {position} is out of range: there {'is' if count == 1 else 'are'} {count}"
    return value.elements[position]
