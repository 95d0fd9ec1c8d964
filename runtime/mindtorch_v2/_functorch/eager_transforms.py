"""Which arguments a transform differentiates by, under the name that libraries import it by."""

from __future__ import annotations

from typing import Any

from ..func._inputs import ArgNums, chosen_arguments

__all__ = ["_slice_argnums"]


def _slice_argnums(args: tuple[Any, ...], argnums: ArgNums, as_tuple: bool = True) -> Any:
    """The arguments at the positions ``argnums``; of one position the argument itself without ``as_tuple``.

    Raises RuntimeError where they are no positions among the arguments.
    """
    positions = chosen_arguments(argnums, len(args))
    return tuple(args[n] for n in positions) if as_tuple or not isinstance(argnums, int) else args[positions[0]]
