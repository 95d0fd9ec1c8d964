"""Calls as C++ has them, where every argument is positional -> calls with the keywords that schemas ask for."""

from __future__ import annotations

from collections.abc import Iterator

from mtcodegen.expr import Call, Expr, ExpressionError, Name, OperatorTable, parse_expression, walk
from mtcodegen.expr.nodes import Attribute, Starred

__all__ = ["with_keywords"]

_BUILT_IN = "aten"


def with_keywords(text: str, table: OperatorTable, namespace: str) -> str:
    """``text`` with names for the arguments that fit no positional parameter; as it is where there are none."""
    try:
        expr = parse_expression(text)
    except ExpressionError:
        return text
    calls = [node for node in walk(expr) if isinstance(node, Call)]
    places = dict(place for call in calls for place in _unnamed(call, text, table, namespace))
    for place in sorted(places, reverse=True):
        text = f"{text[:place]}{places[place]}={text[place:]}"
    return text


def _unnamed(call: Call, text: str, table: OperatorTable, namespace: str) -> Iterator[tuple[int, str]]:
    """Where arguments of a call begin that need a name, and the names."""
    function = call.function
    if isinstance(function, Name):
        name, receiver = function.id, 0
    elif isinstance(function, Attribute):
        name, receiver = function.name, 1  # the tensor is the first argument
    else:
        return
    given = len(call.arguments) + receiver
    overloads = table.overloads(namespace, name) or table.overloads(_BUILT_IN, name)
    if any(given <= len(schema.positional) for schema in overloads):
        return
    if any(isinstance(argument, Starred) for argument in call.arguments):
        return
    schema = next((schema for schema in overloads if given <= len(schema.arguments)), None)
    if schema is None:
        return
    opening = text.index("(", function.offset + function.length)
    for argument, parameter in zip(
        call.arguments[len(schema.positional) - receiver :], schema.kwarg_only, strict=False
    ):
        yield _start(argument, text, opening), parameter.name


def _start(node: Expr, text: str, opening: int) -> int:
    """Where an argument begins, with the parentheses around it; ``opening`` is that of the call."""
    start = min(item.offset for item in walk(node))
    before = len(text[:start].rstrip(" "))
    while text[before - 1] == "(" and before - 1 > opening:
        start = before - 1
        before = len(text[:start].rstrip(" "))
    return start
