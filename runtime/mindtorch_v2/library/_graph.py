"""Which arguments of an operator may change between two replays of a captured graph."""

from __future__ import annotations

from collections.abc import Sequence

from opschema import Schema, base_of

from .._core import OpOverload
from ..errors import RegistrationError

__all__ = ["UPDATABLE", "UPDATE_SPECS", "check_update"]

# Operator, as ``OpOverload.name()`` writes it (``ns::name`` or ``ns::name.overload``) -> names of arguments, in schema
# order. `NPUGraph.update` runs the captured operator again with new values of these.
UPDATE_SPECS: dict[str, tuple[str, ...]] = {}

# The host reads values of these types, alone, optional or in lists, when it launches; the rest picks kernels or memory.
UPDATABLE = frozenset({"int", "SymInt", "float", "Scalar", "bool", "SymBool", "Tensor"})


def check_update(overload: OpOverload, update: Sequence[str]) -> tuple[str, ...]:
    """``update`` in schema order. Raises RegistrationError for a name that is no argument, or cannot be updated."""
    schema: Schema = overload._schema
    known = {argument.name: argument for argument in schema.arguments}
    for name in update:
        argument = known.get(name)
        if argument is None:
            raise RegistrationError(
                f"{overload.name()}: `{name}` is not an argument; the arguments are {', '.join(known) or 'none'}"
            )
        if argument.is_write or base_of(argument.type).name not in UPDATABLE:
            why = "is written to" if argument.is_write else f"is {argument.type}"
            raise RegistrationError(
                f"{overload.name()}: `{name}` cannot be updated in a captured graph: it {why}; numbers, lists of "
                "numbers and tensors on the host can"
            )
    return tuple(name for name in known if name in update)
