"""Memory pools of captured graphs: their tokens, and how many graphs have their memory in each."""

from __future__ import annotations

import itertools
import threading

from .. import _core
from .._argument_types import names_wrong_types

__all__ = ["Pool", "checked_pool", "graph_pool_handle", "release_pool", "use_pool"]

Pool = tuple[int, int]

_numbers = itertools.count(1)
_uses: dict[int, int] = {}  # pool -> graphs that have their memory in it
_lock = threading.Lock()


def graph_pool_handle() -> Pool:
    """A token of a new memory pool, for several graphs to share: ``NPUGraph.capture_begin(pool=...)``.

    Graphs that share a pool write to the same memory, so that none may run while another's results are still needed.
    ``memory_stats`` tells the size of each pool.
    """
    return 0, next(_numbers)


def checked_pool(pool: Pool | None) -> Pool:
    """The pool of a capture; a new one where none is given. Raises TypeError for what is no token of a pool."""
    if pool is None:
        return graph_pool_handle()
    if not (isinstance(pool, tuple) and len(pool) == 2 and all(type(part) is int for part in pool) and pool[1] > 0):
        raise TypeError(f"pool: expected what graph_pool_handle() or NPUGraph.pool() returns, got {pool!r}")
    return pool


@names_wrong_types
def use_pool(number: int) -> None:
    """Counts a graph that allocates from a pool."""
    with _lock:
        _uses[number] = _uses.get(number, 0) + 1


@names_wrong_types
def release_pool(number: int) -> None:
    """Takes `use_pool` back; memory that no graph has any more becomes ordinary memory."""
    with _lock:
        if number not in _uses:
            raise RuntimeError(f"no graph has its memory in pool {number!r}")
        _uses[number] -= 1
        if _uses[number]:
            return
        del _uses[number]
    _core.npu_give_up_pool(number)
