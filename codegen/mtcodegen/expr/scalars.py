"""What a kernel argument's C type takes: a C compiler would convert between numbers, and a launch copies bytes."""

from __future__ import annotations

from mtcodegen.expr.calls import wrong_type
from mtcodegen.expr.errors import ExpressionError
from mtcodegen.expr.nodes import Expr
from mtcodegen.expr.operands import literal_int
from mtcodegen.expr.types import C_FLOATS, FLOAT, INT, Kind, ValueType, accepts
from mtcodegen.findings.codes import Code

__all__ = ["scalar_fault"]

_RANGES = {f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)} | {
    f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)
}


def scalar_fault(ctype: str, actual: ValueType, node: Expr) -> ExpressionError | None:
    """Why a value of type ``actual`` is none for ``ctype``; None where it is one.

    A ``Scalar`` may turn out to be either at the call. An integer is no float unless it is a literal or `float(...)`
    says so: a kernel that takes an integer would read the bytes of a float.
    """
    number = literal_int(node)
    low, high = _RANGES.get(ctype, (number, number))
    if number is not None and low is not None and high is not None and not low <= number <= high:
        message = f"`{ctype}` has numbers from {low} to {high}, and not {number}"
        return ExpressionError(message, node.offset, node.length, None, Code.MT230)
    what = f"the value of `{ctype}`"
    is_integer = accepts(INT, actual)
    if ctype in C_FLOATS and is_integer and number is None:
        whole = "bool" if actual.kind is Kind.BOOL else "i64"
        hint = f"pass it as `{whole}(...)`, or as `{ctype}(float(...))` if the kernel takes a float"
        return wrong_type(what, FLOAT, actual, node, hint)
    expected = FLOAT if ctype in C_FLOATS else INT
    if accepts(expected, actual) or (actual.kind is Kind.NUMBER and not actual.optional):
        return None
    return wrong_type(
        what, expected, actual, node, "pass it as `f32(...)` or `f64(...)`" if accepts(FLOAT, actual) else None
    )
