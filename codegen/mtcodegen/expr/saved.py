"""What a gradient formula reads, which is what has to be saved for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from mtcodegen.expr.scope import gradient_names, output_names
from mtcodegen.expr.types import TENSOR, members_of

__all__ = ["Read", "Saved", "SavedKind", "SavedValues", "reads"]


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
        position = literal_index(value.index)
        if position is not None:
            return value.value.id, f"{value.value.id}_{str(position).replace('-', 'm')}"
    return None


class SavedValues:
    """What gradient formulas, checked and resolved, need from the forward call, and the formulas in terms of that.

    ``items`` are in the order of the schema: arguments, then outputs; a value that is needed whole is saved once, and
    its properties are then read from it. ``reads`` are those of each formula, ``outputs`` the names of outputs with
    their positions.
    """

    def __init__(self, formulas: Sequence[Expr], schema: opschema.Schema) -> None:
        self.outputs = output_names(schema)
        self.reads = [reads(formula) for formula in formulas]
        self._returns = len(schema.returns)
        self._types = {argument.name: argument.type for argument in schema.arguments}
        gradients = gradient_names(schema)
        # An output, and a gradient, has one name for all that it has.
        self._names = self._canonical_outputs(schema)
        order = {name: i for i, name in enumerate([*self._types, *self._names])}
        self._taken = {*order, *gradients, "grads"}
        self._types |= {name: schema.returns[i].type for name, i in self.outputs.items()}
        found = [read for part in self.reads for read in part]
        whole = {self._names.get(read.name, read.name) for read in found if read.property is None}
        saved: dict[str, Saved] = {}
        for read in found:
            item = self._save(read, whole)
            if item is not None:
                saved.setdefault(item.attr_name, item)
        self.items = sorted(saved.values(), key=lambda item: order[item.name])
        self._properties = {
            (item.name, item.expr): item.attr_name for item in self.items if item.kind is SavedKind.PROPERTY
        }
        arguments = {argument.name for argument in schema.arguments}
        self._names |= {name: self._gradient(i) for name, i in gradients.items() if name not in arguments}

    def _canonical_outputs(self, schema: opschema.Schema) -> dict[str, str]:
        chosen: dict[int, str] = {}
        for name in [*[ret.name for ret in schema.returns if ret.name], "result", *self.outputs]:
            if name in self.outputs:
                chosen.setdefault(self.outputs[name], name)
        return {name: chosen[position] for name, position in self.outputs.items()}

    def _gradient(self, position: int) -> str:
        return "grad" if self._returns == 1 else f"grad{position % self._returns}"

    def _save(self, read: Read, whole: set[str]) -> Saved | None:
        name = self._names.get(read.name, read.name)
        type_ = self._types.get(name)
        if type_ is None or name == "grads":
            return None  # a gradient, or a constant of the language
        output = self.outputs.get(name)
        has_tensor = opschema.base_of(type_).name == "Tensor"
        if name in whole or not has_tensor:
            kind = SavedKind.OUTPUT if output is not None else SavedKind.TENSOR if has_tensor else SavedKind.VALUE
            return Saved(kind, name, name, Name(name), output)
        if read.property is None:
            return None
        expr = _renamed(read.property, self._names)
        return Saved(SavedKind.PROPERTY, name, self._unique(read.attr.replace(read.name, name, 1)), expr, output)

    def _unique(self, attr: str) -> str:
        while attr in self._taken:
            attr += "_"
        return attr

    def used_in(self, node: Expr) -> Expr:
        """A formula with saved properties, outputs and gradients under their names in the backward function.

        Those are ``attr_name`` of what is saved, and ``grad`` for one output, ``grad0``, ``grad1``, ... for several.
        """
        if isinstance(node, Name):
            if node.id == "grads":
                return ListExpr(tuple([Name(self._gradient(i)) for i in range(self._returns)]))
            return with_parts(node, id=self._names.get(node.id, node.id))
        if isinstance(node, Index) and isinstance(node.value, Name) and node.value.id == "grads":
            position = literal_index(node.index)
            if position is not None:
                return Name(self._gradient(position), offset=node.offset, length=node.length)
        read = _property_read(node) if self._properties else None
        if read is not None and read.property is not None:
            key = (self._names.get(read.name, read.name), _renamed(read.property, self._names))
            if key in self._properties:
                value = Name(self._properties[key], offset=node.offset, length=node.length)
                return value if read.index is None else Index(value, self.used_in(read.index))
        if isinstance(node, Call) and isinstance(node.function, Name):
            keywords = tuple([with_parts(keyword, value=self.used_in(keyword.value)) for keyword in node.keywords])
            return with_parts(node, arguments=tuple(map(self.used_in, node.arguments)), keywords=keywords)
        return map_children(node, self.used_in)


def _renamed(node: Expr, names: Mapping[str, str]) -> Expr:
    if isinstance(node, Name):
        return with_parts(node, id=names.get(node.id, node.id))
    return map_children(node, lambda child: _renamed(child, names))
