"""The syntax tree of a C++ formula: frozen values that carry their place in the text. Equality ignores the place.

Names and literals are the expression language's own. Parentheses and comments are nodes, so that a tree prints back to
the tokens it was read from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

from mtcodegen.expr.nodes import Literal, Name, Node, descend
from mtcodegen.system.values import dataclass

__all__ = [
    "Braces",
    "Call",
    "Cast",
    "Comment",
    "CppExpr",
    "Group",
    "Infix",
    "Lambda",
    "Literal",
    "Member",
    "Name",
    "Prefix",
    "Qualified",
    "Scoped",
    "Subscript",
    "Template",
    "Ternary",
    "children",
    "unwrapped",
    "walk",
]


@dataclass(frozen=True, slots=True)
class Scoped(Node):
    """``at::where`` as ``("at", "where")``; ``::std::nullopt`` starts with an empty part."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Qualified(Node):
    """A type with what stands around its name: ``const Tensor &`` is ``("const",) Tensor ("&",)``."""

    before: tuple[str, ...]
    type: CppExpr
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template(Node):
    """``name<arguments>``: types or numbers between the angle brackets."""

    name: Name | Scoped
    arguments: tuple[CppExpr, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """``(value)``."""

    value: CppExpr


@dataclass(frozen=True, slots=True)
class Comment(Node):
    """``/*text*/ value``: a comment stands in front of the value that it is about."""

    text: str
    value: CppExpr


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    """``op operand`` with one of ``- + ! ~ * &``."""

    op: str
    operand: CppExpr


@dataclass(frozen=True, slots=True)
class Infix(Node):
    """``left op right``."""

    op: str
    left: CppExpr
    right: CppExpr


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    """``condition ? body : orelse``."""

    condition: CppExpr
    body: CppExpr
    orelse: CppExpr


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """``(type) operand``, of a type that C++ has built in."""

    type: CppExpr
    operand: CppExpr


@dataclass(frozen=True, slots=True)
class Member(Node):
    """``value.name``, or ``value->name``; ``name_offset`` is where the name stands."""

    value: CppExpr
    name: str
    arrow: bool = False
    name_offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """``value[index]``."""

    value: CppExpr
    index: CppExpr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``function(arguments)``; a constructor such as ``std::tuple<Tensor>()`` is a call too."""

    function: CppExpr
    arguments: tuple[CppExpr, ...]


@dataclass(frozen=True, slots=True)
class Braces(Node):
    """``{items}``, or ``type{items}``."""

    type: CppExpr | None
    items: tuple[CppExpr, ...]


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """``[capture](type name, ...){return body;}``."""

    capture: str
    parameters: tuple[tuple[CppExpr, str], ...]
    body: CppExpr


CppExpr: TypeAlias = (
    Name
    | Literal
    | Scoped
    | Qualified
    | Template
    | Group
    | Comment
    | Prefix
    | Infix
    | Ternary
    | Cast
    | Member
    | Subscript
    | Call
    | Braces
    | Lambda
)


def children(node: CppExpr) -> tuple[CppExpr, ...]:
    """The nodes directly below ``node``, from left to right."""
    match node:
        case Name() | Literal() | Scoped():
            return ()
        case Call(function=function, arguments=items) | Template(name=function, arguments=items):
            return (function, *items)
        case Member(value=value) | Group(value=value) | Comment(value=value) | Prefix(operand=value):
            return (value,)
        case Infix(left=left, right=right) | Subscript(value=left, index=right) | Cast(type=left, operand=right):
            return (left, right)
        case Ternary(condition=condition, body=body, orelse=orelse):
            return (condition, body, orelse)
        case Braces(type=type_, items=items):
            return items if type_ is None else (type_, *items)
        case Lambda(parameters=parameters, body=body):
            return (*(type_ for type_, _ in parameters), body)
        case Qualified(type=value):
            return (value,)


def walk(node: CppExpr) -> Iterator[CppExpr]:
    """``node`` and every node below it, parents first, from left to right."""
    return descend(node, children)


def unwrapped(node: CppExpr) -> CppExpr:
    """``node`` without the parentheses and comments around it."""
    while isinstance(node, (Group, Comment)):
        node = node.value
    return node
