"""The transforms that run on a thread, numbered: of two, the inner one has the higher level."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["ForwardLevel", "hidden_from", "in_transform", "next_level"]

_numbers = itertools.count(1)


def next_level() -> int:
    """A level above all that exist."""
    return next(_numbers)


class ForwardLevel:
    """A level of forward-mode AD: while it is open, tensors may have a tangent there, and operators propagate it."""

    def __init__(self) -> None:
        self.number = next_level()
        self._holders: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        _core.count_forward_levels_(1)

    def set(self, tensor: Tensor, tangent: Tensor | None) -> None:
        """Gives a tensor a tangent as it is; None is a zero."""
        with self._lock:
            self._holders.add(_core.set_tangent_(tensor, self.number, tangent))

    def get(self, tensor: Tensor) -> Tensor | None:
        """The tensor's tangent here, or None."""
        return _core.tangent(tensor, self.number)

    def close(self) -> None:
        """Takes all tangents back, so that tensors which outlive the level hold nothing of it."""
        _core.count_forward_levels_(-1)
        with self._lock:
            for holder in self._holders:
                holder.clear(self.number)


class hidden_from:  # noqa: N801  (reads as a condition)
    """``with hidden_from(level):`` operators see tangents of lower levels only."""

    def __init__(self, level: int) -> None:
        self._level = level

    def __enter__(self) -> None:
        self._before = _core.hide_tangents_(self._level)

    def __exit__(self, *exc: object) -> None:
        _core.hide_tangents_(self._before)


class in_transform:  # noqa: N801  (reads as a condition)
    """``with in_transform():`` a function is run by a transform of `func`; old-style Functions refuse that."""

    def __enter__(self) -> None:
        _core.count_transforms_(1)

    def __exit__(self, *exc: object) -> None:
        _core.count_transforms_(-1)
