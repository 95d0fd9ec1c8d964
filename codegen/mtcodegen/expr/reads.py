"""What an expression reads: values of names, and properties of tensors."""

from __future__ import annotations

from dataclasses import replace

from mtcodegen.expr.nodes import (
    Attribute,
    Call,
    Compare,
    Expr,
    Index,
    Literal,
    Name,
    children,
)
from mtcodegen.expr.operands import literal_int
from mtcodegen.expr.types import TENSOR, members_of
from mtcodegen.system.values import dataclass

__all__ = ["Read", "reads"]


@dataclass(frozen=True)
class Read:
    """One reading of ``name``: of its ``property``, an expression such as ``x.shape``, or of its value (None).

    ``expr`` is the node that reads, and ``index`` what picks from the property: ``x.size(1)`` reads ``x.shape[1]``.
    """

    name: str
    expr: Expr
    property: Expr | None = None
    attr: str = ""
    index: Expr | None = None


def reads(expr: Expr) -> list[Read]:
    """Every reading of a name in ``expr``, in the order of the text."""
    found: list[Read] = []
    _add_reads(expr, found)
    return found


def _add_reads(node: Expr, found: list[Read]) -> None:
    if isinstance(node, Name):
        found.append(Read(node.id, node))
        return
    read = _property_read(node)
    if read is None:
        for child in _operands(node):
            _add_reads(child, found)
        return
    found.append(read)
    if read.index is not None:
        _add_reads(read.index, found)


def _operands(node: Expr) -> tuple[Expr, ...]:
    """The children that are values: the name of a called function is none."""
    if isinstance(node, Call) and isinstance(node.function, Name):
        return (*node.arguments, *node.keywords)
    return children(node)


def _property_read(node: Expr) -> Read | None:
    """``node`` as the reading of a property of a tensor, or None where it is something else."""
    match node:
        case Attribute(value=value, name=name):
            return _member_read(node, value, "ndim" if name == "dim" else name, method=False)
        case Call(function=Attribute(value=value, name=name), arguments=arguments):
            return _member_read(node, value, name, method=True, index=arguments[0] if arguments else None)
        case Call(function=Name(id="len"), arguments=(Name(id=name),)):
            return Read(name, node, node, f"{name}_len")
        case Compare(first=Name(id=name), rest=((("is" | "is not") as op, Literal(value=None)),)):
            return Read(name, node, node, f"{name}_is_none" if op == "is" else f"has_{name}")
    return None


def _member_read(node: Expr, value: Expr, name: str, *, method: bool, index: Expr | None = None) -> Read | None:
    base = _base(value)
    member = members_of(TENSOR).get(name)
    if base is None or member is None or member.method is not method or not member.metadata:
        return None
    root, label = base
    if name == "size":
        return Read(root, node, Attribute(value, "shape"), f"{label}_shape", index)
    if name == "dim":
        return Read(root, node, Attribute(value, "ndim"), f"{label}_ndim")
    if name == "stride":
        return Read(root, node, Call(Attribute(value, "stride"), ()), f"{label}_stride", index)
    return Read(root, node, replace(node, offset=0, length=0), f"{label}_{name}")


def _base(value: Expr) -> tuple[str, str] | None:
    """The name that ``value`` is or picks from, and a label for it: ``xs[0]`` -> ``xs``, ``xs_0``."""
    if isinstance(value, Name):
        return value.id, value.id
    if isinstance(value, Index) and isinstance(value.value, Name):
        position = literal_int(value.index)
        if position is not None:
            return value.value.id, f"{value.value.id}_{str(position).replace('-', 'm')}"
    return None
