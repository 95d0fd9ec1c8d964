"""How an operator is captured into a graph: which arguments may change between replays, and what else is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opschema import Schema, update_fault

from .._core import OpOverload
from ..errors import RegistrationError

__all__ = ["UPDATE_SPECS", "GraphDeclaration", "check_hooks", "check_update", "declarations"]

# A hook of a declaration -> the method of a handler that it becomes (`npu.graphs.NpuGraphOpHandler`).
HOOKS = {
    "prepare": "prepare_capture",
    "postprocess": "postprocess_result",
    "update_args": "update_args",
    "record": "record_wrap_kwarg",
}
NAMED = {"prepare": ("out",)}  # hooks that are there by a name; any other is a Python function


@dataclass(frozen=True)
class GraphDeclaration:
    """What is declared of an operator: updatable arguments in schema order, and hooks by their names.

    A hook is one of `NAMED`, or a Python function, ``module:function``.
    """

    update: tuple[str, ...]
    hooks: Mapping[str, str] = field(default_factory=dict)


declarations: dict[str, tuple[OpOverload, GraphDeclaration]] = {}  # by ``OpOverload.name()``

# Operator, as ``OpOverload.name()`` writes it (``ns::name`` or ``ns::name.overload``) -> names of arguments, in schema
# order. An update of a captured graph runs the operator again with new values of these.
UPDATE_SPECS: dict[str, tuple[str, ...]] = {}


def check_update(overload: OpOverload, update: Sequence[str]) -> tuple[str, ...]:
    """``update`` in schema order. Raises RegistrationError for a name that is no argument, or cannot be updated."""
    schema: Schema = overload._schema
    known = {argument.name: argument for argument in schema.arguments}
    for name in update:
        if name not in known:
            arguments = ", ".join(known) or "none"
            raise RegistrationError(f"{overload.name()}: `{name}` is not an argument; the arguments are {arguments}")
        if fault := update_fault(known[name]):
            raise RegistrationError(f"{overload.name()}: {fault}")
    return tuple(name for name in known if name in update)


def check_hooks(overload: OpOverload, given: Mapping[str, str]) -> dict[str, str]:
    """The hooks of a declaration. Raises RegistrationError for an unknown one, or what is no function's name."""
    for hook, reference in given.items():
        if hook not in HOOKS:
            raise RegistrationError(f"{overload.name()}: there is no graph hook `{hook}`; there are {', '.join(HOOKS)}")
        module, _, function = reference.partition(":")
        if reference not in NAMED.get(hook, ()) and not (module and function.isidentifier()):
            known = "".join(f"`{name}` or " for name in NAMED.get(hook, ()))
            expected = f"{known}a function as `module:function`"
            raise RegistrationError(f"{overload.name()}: graph hook `{hook}`: expected {expected}, got {reference!r}")
    return dict(given)
