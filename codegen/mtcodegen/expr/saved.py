"""What a gradient formula reads, which is what has to be saved for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import opschema
from mtcodegen.expr.nodes import (
    Attribute,
    Call,
    Compare,
    Expr,
    Index,
    ListExpr,
    Literal,
    Name,
    children,
    map_children,
    with_parts,
)
from mtcodegen.expr.operands import literal_index
from mtcodegen.expr.scope import Scope, gradient_names, output_names
from mtcodegen.expr.types import TENSOR, members_of

__all__ = ["Read", "Saved", "SavedKind", "reads", "saved_names", "saved_values", "use_saved"]


class SavedKind(Enum):
    """How a value gets from the forward call to the gradient."""

    TENSOR = "tensor"  # an argument, or a list of tensors, whole
    OUTPUT = "output"  # an output, whole
    VALUE = "value"  # an argument that is no tensor
    PROPERTY = "property"  # a property of an argument or an output


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


@dataclass(frozen=True)
class Saved:
    """A value to save. ``name`` is the argument or output; ``output`` the position of the output, else None.

    ``attr_name`` is the name of the unpacked tensor (TENSOR, OUTPUT), or of the attribute of ``ctx``. ``expr`` is what
    to save, in terms of the arguments and of the outputs' names.
    """

    kind: SavedKind
    name: str
    attr_name: str
    expr: Expr
    output: int | None = None


def reads(expr: Expr) -> list[Read]:
    """Every reading of a name in ``expr``, in the order of the text."""
    return list(_reads(expr))


def _reads(node: Expr) -> Iterator[Read]:
    read = _property_read(node)
    if read is not None:
        yield read
        if read.index is not None:
            yield from _reads(read.index)
    elif isinstance(node, Name):
        yield Read(node.id, node)
    else:
        for child in _operands(node):
            yield from _reads(child)


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
        position = literal_index(value.index)
        if position is not None:
            return value.value.id, f"{value.value.id}_{str(position).replace('-', 'm')}"
    return None


def saved_values(formulas: Sequence[Expr], schema: opschema.Schema, scope: Scope) -> list[Saved]:
    """What the ``formulas`` of ``schema``, checked and resolved in ``scope``, need from the forward call.

    In the order of the schema: arguments, then outputs; a value that is needed whole is saved once, and its properties
    are then read from it.
    """
    plan = _Plan(schema, scope)
    found = [read for formula in formulas for read in _reads(formula)]
    whole = {plan.canonical(read.name) for read in found if plan.is_whole(read)}
    saved: dict[str, Saved] = {}
    for read in found:
        item = plan.save(read, whole)
        if item is not None:
            saved.setdefault(item.attr_name, item)
    return sorted(saved.values(), key=lambda item: plan.order[item.name])


def use_saved(expr: Expr, saved: Sequence[Saved], schema: opschema.Schema) -> Expr:
    """``expr`` with saved properties, outputs and gradients under the names they have in the backward function.

    Those are ``attr_name`` of ``saved``, and ``grad`` for one output, ``grad0``, ``grad1``, ... for several.
    """
    properties = {(item.name, item.expr): item.attr_name for item in saved if item.kind is SavedKind.PROPERTY}
    names = _canonical_outputs(schema) | _canonical_gradients(schema)
    return _rewrite(expr, properties, names, len(schema.returns))


def saved_names(saved: Sequence[Saved]) -> dict[str, str]:
    """How ``to_python`` spells what is saved as an attribute of ``ctx``."""
    attributes = (SavedKind.VALUE, SavedKind.PROPERTY)
    return {item.attr_name: f"ctx.{item.attr_name}" for item in saved if item.kind in attributes}


def _canonical_outputs(schema: opschema.Schema) -> dict[str, str]:
    positions = output_names(schema)
    chosen: dict[int, str] = {}
    own = [ret.name for ret in schema.returns if ret.name]
    for name in [*own, "result", *positions]:
        if name in positions:
            chosen.setdefault(positions[name], name)
    return {name: chosen[position] for name, position in positions.items()}


def _canonical_gradients(schema: opschema.Schema) -> dict[str, str]:
    arguments = {argument.name for argument in schema.arguments}
    return {
        name: _gradient(position, len(schema.returns))
        for name, position in gradient_names(schema).items()
        if name not in arguments
    }


def _gradient(position: int, count: int) -> str:
    return "grad" if count == 1 else f"grad{position % count}"


class _Plan:
    """Which names of a scope are arguments and outputs, and how each is saved."""

    def __init__(self, schema: opschema.Schema, scope: Scope) -> None:
        self.scope = scope
        self.outputs = _canonical_outputs(schema)
        self.positions = output_names(schema)
        arguments = [argument.name for argument in schema.arguments]
        self.taken = {*scope.names}
        self.order = {name: i for i, name in enumerate([*arguments, *self.outputs])}

    def canonical(self, name: str) -> str:
        return self.outputs.get(name, name)

    def is_whole(self, read: Read) -> bool:
        return read.property is None

    def save(self, read: Read, whole: set[str]) -> Saved | None:
        name = self.canonical(read.name)
        if name not in self.order:
            return None  # a gradient, or a constant of the language
        output = self.positions.get(name)
        if not self.scope.names[name].has_tensor:
            kind = SavedKind.VALUE if output is None else SavedKind.OUTPUT
            return Saved(kind, name, name, Name(name), output)
        if name in whole:
            kind = SavedKind.TENSOR if output is None else SavedKind.OUTPUT
            return Saved(kind, name, name, Name(name), output)
        if read.property is None:
            return None
        expr = _renamed(read.property, self.outputs)
        return Saved(SavedKind.PROPERTY, name, self._unique(read.attr.replace(read.name, name, 1)), expr, output)

    def _unique(self, attr: str) -> str:
        while attr in self.taken:
            attr += "_"
        return attr


def _renamed(node: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(node, Name):
        return with_parts(node, id=names.get(node.id, node.id))
    return map_children(node, lambda child: _renamed(child, names))


def _rewrite(node: Expr, properties: Mapping[tuple[str, Expr], str], names: Mapping[str, str], outputs: int) -> Expr:
    def again(child: Expr) -> Expr:
        return _rewrite(child, properties, names, outputs)

    read = _property_read(node)
    if read is not None and read.property is not None:
        key = (names.get(read.name, read.name), _renamed(read.property, names))
        if key in properties:
            value = Name(properties[key], offset=node.offset, length=node.length)
            return value if read.index is None else Index(value, again(read.index))
    if isinstance(node, Index) and node.value == Name("grads"):
        position = literal_index(node.index)
        if position is not None:
            return Name(_gradient(position, outputs), offset=node.offset, length=node.length)
    if node == Name("grads"):
        return ListExpr(tuple(Name(_gradient(i, outputs)) for i in range(outputs)))
    if isinstance(node, Name):
        return with_parts(node, id=names.get(node.id, node.id))
    if isinstance(node, Call) and isinstance(node.function, Name):
        keywords = tuple(with_parts(keyword, value=again(keyword.value)) for keyword in node.keywords)
        return with_parts(node, arguments=tuple(map(again, node.arguments)), keywords=keywords)
    return map_children(node, again)
