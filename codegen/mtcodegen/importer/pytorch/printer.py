"""A C++ formula's tree -> text: the tokens it was read from, evenly spaced."""

from __future__ import annotations

from collections.abc import Iterable

from mtcodegen.importer.pytorch.nodes import (
    Braces,
    Call,
    Cast,
    Comment,
    CppExpr,
    Group,
    Infix,
    Lambda,
    Literal,
    Member,
    Name,
    Prefix,
    Qualified,
    Scoped,
    Subscript,
    Template,
    Ternary,
)

__all__ = ["to_cpp"]


def to_cpp(node: CppExpr) -> str:
    """The formula as text; ``parse_formula`` reads the same tree from it."""
    match node:
        case Name(id=text):
            return text
        case Literal(text=text):
            return text
        case Call(function=function, arguments=arguments):
            return f"{to_cpp(function)}({_listed(arguments)})"
        case Member(value=value, name=name, arrow=arrow):
            return f"{to_cpp(value)}{'->' if arrow else '.'}{name}"
        case Infix(op=op, left=left, right=right):
            return f"{to_cpp(left)} {op} {to_cpp(right)}"
        case Prefix(op=op, operand=operand):
            # `- -x` is not `--x`.
            space = " " if isinstance(operand, Prefix) and operand.op == op and op in "-+&" else ""
            return f"{op}{space}{to_cpp(operand)}"
        case Group(value=value):
            return f"({to_cpp(value)})"
        case Scoped(parts=parts):
            return "::".join(parts)
        case Subscript(value=value, index=index):
            return f"{to_cpp(value)}[{to_cpp(index)}]"
        case Ternary(condition=condition, body=body, orelse=orelse):
            return f"{to_cpp(condition)} ? {to_cpp(body)} : {to_cpp(orelse)}"
        case Comment(text=text, value=value):
            return f"/*{text}*/{to_cpp(value)}"
        case Template(name=name, arguments=arguments):
            return f"{to_cpp(name)}<{_listed(arguments)}>"
        case Braces(type=type_, items=items):
            return f"{'' if type_ is None else to_cpp(type_)}{{{_listed(items)}}}"
        case Cast(type=type_, operand=operand):
            return f"({to_cpp(type_)}) {to_cpp(operand)}"
        case Qualified(before=before, type=type_, after=after):
            return " ".join([*before, to_cpp(type_), *after])
        case Lambda(capture=capture, parameters=parameters, body=body):
            listed = ", ".join(f"{to_cpp(type_)} {name}" for type_, name in parameters)
            return f"[{capture}]({listed}) {{ return {to_cpp(body)}; }}"


def _listed(nodes: Iterable[CppExpr]) -> str:
    return ", ".join(map(to_cpp, nodes))
