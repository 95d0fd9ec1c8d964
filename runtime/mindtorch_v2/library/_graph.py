"""Which arguments of an operator may change between two replays of a captured graph."""

from __future__ import annotations

from collections.abc import Sequence

from opschema import Schema, update_fault

from .._core import OpOverload
from ..errors import RegistrationError

__all__ = ["UPDATE_SPECS", "check_update"]

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
