"""Which arguments may have new values when a captured launch is replayed."""

from __future__ import annotations

from .model import Argument
from .types import base_of

# The host reads values of these types, alone, optional or in lists, at a launch; the others pick kernels or memory.
_READ_BY_THE_HOST = frozenset({"int", "SymInt", "float", "Scalar", "bool", "SymBool", "Tensor"})


def update_fault(argument: Argument) -> str | None:
    """Why a captured graph cannot update ``argument``; None where it can."""
    if argument.is_write:
        return f"`{argument.name}` cannot be updated in a captured graph: it is written to"
    if base_of(argument.type).name not in _READ_BY_THE_HOST:
        return (
            f"`{argument.name}` cannot be updated in a captured graph: it is {argument.type}; numbers, lists of "
            "numbers and tensors on the host can"
        )
    return None
