"""Functional forms of operators: what computes the same without writing to an argument or sharing its memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from opschema import Argument, Return, Schema

from .._core import OpOverload, Tensor, find_operator
from .._ops import ops
from ..library import Library

__all__ = ["FunctionalForm", "functional_form", "without_alias"]

_NAMESPACE = "auto_functionalized"


@dataclass(frozen=True)
class FunctionalForm:
    """An operator that writes nothing, in place of one that does.

    ``op`` takes the arguments of the operator it stands for but those that ``left_out`` names, and returns first what
    that returns without an alias, then the new value of each argument that it ``writes``.
    """

    op: OpOverload
    writes: tuple[str, ...]
    left_out: tuple[str, ...] = ()


_forms: dict[OpOverload, FunctionalForm] = {}
_copies: dict[OpOverload, OpOverload] = {}
_lib = Library(_NAMESPACE, "DEF")
_lock = threading.Lock()


def functional_form(op: OpOverload) -> FunctionalForm:
    """``add`` for ``add_`` and for ``add.out``; for an operator without such a sibling, one that works on clones."""
    with _lock:
        if op not in _forms:
            _forms[op] = _sibling(op) or _on_clones(op)
        return _forms[op]


def without_alias(op: OpOverload) -> OpOverload:
    """The operator that returns copies of what a view operator shows: ``view_copy`` for ``view``."""
    schema = op._schema
    overload = f".{schema.overload}" if schema.overload else ""
    declared = find_operator(f"{op.namespace}::{schema.name}_copy{overload}")
    if declared is not None:
        return declared
    with _lock:
        if op not in _copies:
            _copies[op] = _defined(op, "copy", schema.returns, lambda *args, **kwargs: _cloned(op(*args, **kwargs)))
        return _copies[op]


def _sibling(op: OpOverload) -> FunctionalForm | None:
    """A declared operator with the same arguments, less ``out``, and without a write."""
    schema = op._schema
    written = tuple(a.name for a in schema.arguments if a.is_write)
    outs = tuple(a.name for a in schema.arguments if a.is_write and a.kwarg_only)
    names = (schema.name,) if outs else (schema.name.removesuffix("_"), f"{schema.name}_functional")
    wanted = [(a.name, str(a.type), a.kwarg_only) for a in schema.arguments if a.name not in outs]
    for name in names:
        packet = getattr(getattr(ops, op.namespace), name, None)
        for overload in [] if packet is None else packet.overloads():
            other = getattr(packet, overload)._schema
            given = [(a.name, str(a.type), a.kwarg_only) for a in other.arguments]
            if given == wanted and not any(a.is_write for a in other.arguments) and len(other.returns) == len(written):
                return FunctionalForm(getattr(packet, overload), written, outs)
    return None


def _on_clones(op: OpOverload) -> FunctionalForm:
    """As PyTorch's ``auto_functionalized``: the operator itself, on clones of what it writes, which it returns."""
    schema = op._schema
    written = tuple(a.name for a in schema.arguments if a.is_write)
    names = [a.name for a in schema.arguments]
    fresh = [i for i, output in enumerate(schema.returns) if output.alias is None]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        values |= {name: _cloned(values[name]) for name in written}
        positional = [values[a.name] for a in schema.arguments if not a.kwarg_only]
        result = op(*positional, **{a.name: values[a.name] for a in schema.arguments if a.kwarg_only})
        outputs = result if len(schema.returns) > 1 else (result,)
        found = (*(outputs[i] for i in fresh), *(values[name] for name in written))
        return found if len(found) > 1 else found[0]

    types = [schema.returns[i].type for i in fresh] + [a.type for a in schema.arguments if a.is_write]
    made = _defined(op, "functional", tuple(Return(kind, None, None) for kind in types), kernel)
    return FunctionalForm(made, written)


def _defined(op: OpOverload, suffix: str, returns: Sequence[Return], kernel: Any) -> OpOverload:
    """A new operator with op's arguments, none of which it writes or shares."""
    schema = op._schema
    arguments: tuple[Argument, ...] = tuple(replace(a, alias=None) for a in schema.arguments)
    overload = f".{schema.overload}" if schema.overload else ""
    name = first = f"{op.namespace}_{schema.name.rstrip('_')}_{suffix}"
    for number in itertools.count(2):  # an operator of that name that was there before: it was defined anew since
        if find_operator(f"{_NAMESPACE}::{name}{overload}") is None:
            break
        name = f"{first}{number}"
    plain = tuple(replace(output, alias=None, name=None) for output in returns)
    _lib.define(str(Schema(None, name, schema.overload, arguments, plain)))
    qualified = f"{name}{overload}"
    _lib.impl(qualified, kernel, "CompositeImplicitAutograd")
    made = find_operator(f"{_NAMESPACE}::{qualified}")
    assert made is not None  # it was defined just now
    return made


def _cloned(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cloned(item) for item in value]
    return ops.aten.clone(value) if isinstance(value, Tensor) else value
