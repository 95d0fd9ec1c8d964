"""What a C++ formula reads of arguments and outputs."""

from __future__ import annotations

from typing import TypeAlias

from mtcodegen.importer.pytorch.nodes import (
    Call,
    Comment,
    CppExpr,
    Group,
    Lambda,
    Literal,
    Member,
    Name,
    Prefix,
    Qualified,
    Scoped,
    Template,
    children,
)

__all__ = ["reads"]

Read: TypeAlias = tuple[str, str, CppExpr]

# Properties that are saved in place of a tensor: how they are read, and the suffix of the variable they are saved in.
_MEMBERS = {
    "sym_sizes": "_sym_sizes",
    "sym_blocksize": "_self_sym_blocksize_opt",
    "options": "_options",
    "numel": "_numel",
    "sym_numel": "_sym_numel",
    "scalar_type": "_scalar_type",
    "dim": "_dim",
    "sym_strides": "_sym_strides",
    "layout": "_layout",
    "is_conj": "_conjugate",
}
_POINTER_MEMBERS = {"sym_sizes": "_sym_sizes_opt"}  # of an optional tensor
_FUNCTIONS = {
    "zeros_like": "_info",
    "to_args_sizes": "_args_sizes",
    "to_args_sizes_symint": "_args_sizes_symint",
    "to_args_scalartypes": "_args_scalartypes",
    "TensorGeometry": "_geometry",
}


def reads(formula: CppExpr) -> list[Read]:
    """Every reading of a variable: its name, the suffix of the property that is read, and the node that reads."""
    found: list[Read] = []
    _collect(formula, found)
    return found


def _collect(node: CppExpr, found: list[Read]) -> None:
    match node:
        case Name(id=name):
            found.append((name, "", node))
        case Call(function=Member(value=Name(id=name) as value, name=member, arrow=arrow), arguments=arguments):
            suffix = _member_suffix(member, arrow, arguments)
            found.append((name, suffix or "", node if suffix else value))
            if suffix is None:
                for argument in arguments:
                    _collect(argument, found)
        case Call(function=Name(id=function), arguments=(Name(id=name),)) if function in _FUNCTIONS:
            found.append((name, _FUNCTIONS[function], node))
        case Call(function=Name() | Scoped() | Template(), arguments=arguments):
            for argument in arguments:
                _collect(argument, found)
        case Literal() | Scoped() | Template() | Qualified():
            return
        case Lambda(parameters=parameters, body=body):
            own = {name for _, name in parameters}
            found += [read for read in reads(body) if read[0] not in own]
        case Member(value=value) | Group(value=value) | Comment(value=value):
            _collect(value, found)
        case _:
            for child in children(node):
                _collect(child, found)


def _member_suffix(member: str, arrow: bool, arguments: tuple[CppExpr, ...]) -> str | None:
    if arrow:
        return _POINTER_MEMBERS.get(member) if not arguments else None
    if not arguments:
        return _MEMBERS.get(member)
    if member == "sym_size" and len(arguments) == 1:
        match arguments[0]:
            case Literal(value=int(), text=text) | Name(id=text):
                return f"_sym_argsize_{text}"
            case Prefix(op="-", operand=Literal(value=int(), text=text)):
                return f"_sym_argsize_minus_{text}"
    return None
