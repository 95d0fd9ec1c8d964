"""The syntax tree: frozen values that carry their place in the text. Equality ignores the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias, TypeVar

from mtcodegen.system.values import dataclass

__all__ = [
    "Attribute",
    "Binary",
    "BoolOp",
    "Call",
    "Compare",
    "Conditional",
    "Expr",
    "Index",
    "Keyword",
    "ListExpr",
    "Literal",
    "Name",
    "Node",
    "Operator",
    "Slice",
    "Starred",
    "Unary",
    "Unread",
    "children",
    "descend",
    "map_children",
    "walk",
    "with_parts",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """``offset`` and ``length`` are the place of the node in the text of its expression."""

    offset: int = field(default=0, compare=False)
    length: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier."""

    id: str


@dataclass(frozen=True, slots=True)
class Operator(Node):
    """A declared operator, once a name has been resolved to it."""

    namespace: str
    name: str
    overload: str = ""


@dataclass(frozen=True, slots=True)
class Unread(Node):
    """What stands for a text that could not be read: a value of any type, of which nothing more is said."""


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, a string, True, False or None; ``text`` is how a number was written."""

    value: int | float | bool | str | None
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ListExpr(Node):
    """``[a, b]`` or ``(a, b)``: one thing here, and a tuple in Python."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Starred(Node):
    """``*value`` among the items of a list or the arguments of a call."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x``, ``+x`` or ``not x``."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``left op right`` with one of ``+ - * / // % ** @``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """``first op operand op operand ...``; an op is one of ``== != < <= > >= is``, ``is not``, ``in``, ``not in``."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class BoolOp(Node):
    """``a and b and c`` or ``a or b or c``."""

    op: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``body if condition else orelse``."""

    condition: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """``lower:upper:step`` between brackets; a missing part is None."""

    lower: Expr | None = None
    upper: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``value[index]``."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``value.name``; ``name_offset`` is where the name stands."""

    value: Expr
    name: str
    name_offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """``name=value`` in a call."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``function(arguments, keywords)``; a typed scalar such as ``f32(scale)`` is a call too."""

    function: Expr
    arguments: tuple[Expr, ...]
    keywords: tuple[Keyword, ...] = ()


Expr: TypeAlias = (
    Name
    | Operator
    | Unread
    | Literal
    | ListExpr
    | Starred
    | Unary
    | Binary
    | Compare
    | BoolOp
    | Conditional
    | Slice
    | Index
    | Attribute
    | Keyword
    | Call
)


def children(node: Expr) -> tuple[Expr, ...]:
    """The nodes directly below ``node``, from left to right."""
    match node:
        case Name() | Operator() | Literal() | Unread():
            return ()
        case Call(function=function, arguments=arguments, keywords=keywords):
            return (function, *arguments, *keywords)
        case Attribute(value=value) | Unary(operand=value) | Starred(value=value) | Keyword(value=value):
            return (value,)
        case Binary(left=left, right=right) | Index(value=left, index=right):
            return (left, right)
        case ListExpr(items=items) | BoolOp(values=items):
            return items
        case Compare(first=first, rest=rest):
            return (first, *(operand for _, operand in rest))
        case Conditional(condition=condition, body=body, orelse=orelse):
            return (body, condition, orelse)
        case Slice(lower=lower, upper=upper, step=step):
            return tuple(part for part in (lower, upper, step) if part is not None)


def walk(node: Expr) -> Iterator[Expr]:
    """``node`` and every node below it, parents first, from left to right."""
    return descend(node, children)


N = TypeVar("N", bound=Node)


def descend(node: N, below: Callable[[N], Sequence[N]]) -> Iterator[N]:
    """``node`` and what is ``below`` it, and below that: any tree, parents first, from left to right."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(below(current)))


def with_parts(node: N, **parts: Any) -> N:
    """``node`` with some of its fields replaced; the node itself where all of them are what it has already."""
    for name, part in parts.items():
        if not _is_same(getattr(node, name), part):
            return replace(node, **parts)
    return node


def _is_same(own: object, part: object) -> bool:
    """Whether it is the very same node, or a tuple of them: equality would ignore the places of nodes."""
    if own is part:
        return True
    if not isinstance(own, tuple) or not isinstance(part, tuple) or len(own) != len(part):
        return False
    return all(map(_is_same, own, part))


def map_children(node: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``node`` with ``change`` applied to the nodes directly below it."""
    match node:
        case Name() | Operator() | Literal() | Unread():
            return node
        case Call(function=function, arguments=arguments, keywords=keywords):
            mapped = tuple(_map_keyword(keyword, change) for keyword in keywords)
            return with_parts(node, function=change(function), arguments=tuple(map(change, arguments)), keywords=mapped)
        case ListExpr(items=items):
            return with_parts(node, items=tuple(map(change, items)))
        case BoolOp(values=items):
            return with_parts(node, values=tuple(map(change, items)))
        case Starred(value=value) | Keyword(value=value) | Attribute(value=value):
            return with_parts(node, value=change(value))
        case Unary(operand=value):
            return with_parts(node, operand=change(value))
        case Binary(left=left, right=right):
            return with_parts(node, left=change(left), right=change(right))
        case Index(value=value, index=index):
            return with_parts(node, value=change(value), index=change(index))
        case Compare(first=first, rest=rest):
            return with_parts(node, first=change(first), rest=tuple((op, change(operand)) for op, operand in rest))
        case Conditional(condition=condition, body=body, orelse=orelse):
            return with_parts(node, condition=change(condition), body=change(body), orelse=change(orelse))
        case Slice(lower=lower, upper=upper, step=step):
            parts = (None if part is None else change(part) for part in (lower, upper, step))
            return with_parts(node, **dict(zip(("lower", "upper", "step"), parts, strict=True)))


def _map_keyword(keyword: Keyword, change: Callable[[Expr], Expr]) -> Keyword:
    return with_parts(keyword, value=change(keyword.value))
