"""Two cores for one piece of work."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["in_two_processes"]

T = TypeVar("T")
R = TypeVar("R")


def in_two_processes(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """``function`` of each item, every other one in a child process; results must be picklable.

    All in this process where there is no second core or no ``fork``, or where the child comes to an end of its own.
    """
    if len(items) < 2 or not hasattr(os, "fork") or (os.cpu_count() or 1) < 2:
        return list(map(function, items))
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: the child needs none of their locks
        child = os.fork()
    if child == 0:
        os.close(read)
        _work(function, items[1::2], write)
    os.close(write)
    try:
        own = list(map(function, items[::2]))
        with os.fdopen(read, "rb", closefd=False) as file:
            data = file.read()
    finally:
        os.close(read)  # where the parent failed, the child's next write ends it (SIGPIPE)
        status = os.waitpid(child, 0)[1]
    others: list[R] = pickle.loads(data) if status == 0 else list(map(function, items[1::2]))
    return [(own if i % 2 == 0 else others)[i // 2] for i in range(len(items))]


def _work(function: Callable[[T], R], items: Sequence[T], write: int) -> None:
    """The child: nothing of what the parent would do at its end is done here."""
    status = 1
    try:
        data = pickle.dumps(list(map(function, items)), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(write, "wb") as file:
            file.write(data)
        status = 0
    finally:
        os._exit(status)
