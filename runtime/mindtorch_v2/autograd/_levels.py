"""The transforms that run on a thread, numbered: of two, the inner one has the higher level."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._inheritance import inherited

__all__ = [
    "ForwardLevel", "below", "differentiating", "hidden_from", "in_transform", "is_propagating", "next_level",
    "propagating", "recording", "running_transforms", "set_propagating_", "transforms_below",
]  # fmt: skip

_numbers = itertools.count(1)
_EVERY_LEVEL = (1 << 63) - 1
_hidden_outside: dict[int, int] = {}  # by the number of a level of forward mode: from where on it sees no outer ones
_AUTOGRAD = _core.key_mask("Autograd", "ADInplaceOrView")


class _Running(threading.local):
    def __init__(self) -> None:
        # The transforms of this thread that differentiate, the outermost first: number, and grad mode outside.
        self.differentiating: list[tuple[int, bool]] = []
        self.hidden_before = _EVERY_LEVEL  # where tangents are not propagated: from which level on they were hidden
        # All transforms of `func` that run on this thread, the outermost first: number and kind, as in "Grad".
        self.transforms: tuple[tuple[int, str], ...] = ()


_running = inherited(_Running())


def next_level() -> int:
    """A level above all that exist."""
    return next(_numbers)


def running_transforms() -> tuple[tuple[int, str], ...]:
    """The transforms of `func` that run on this thread, the outermost first: their numbers, and what each is.

    That is "Grad", "Jvp", "Vmap" or "Functionalize".
    """
    return _running.transforms


class transforms_below:  # noqa: N801  (reads as a condition)
    """``with transforms_below(number):`` what runs is outside of a transform, and of those inside of it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._before = _running.transforms
        _running.transforms = tuple(pair for pair in self._before if pair[0] < self._number)
        outer = max((number for number, _ in _running.transforms), default=0)
        self._transform = _core.set_transform_(outer, _captured_below(self._number))
        self._hidden = _core.hide_tangents_(min(_core.hidden_tangents(), self._number))

    def __exit__(self, *exc: object) -> None:
        _core.hide_tangents_(self._hidden)
        _core.set_transform_(*self._transform)
        _running.transforms = self._before


class ForwardLevel:
    """A level of forward-mode AD: while it is open, tensors may have a tangent there, and operators propagate it."""

    def __init__(self) -> None:
        self.number = next_level()
        hidden = _core.hidden_tangents()
        if hidden < self.number:
            _hidden_outside[self.number] = hidden
        self._holders: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        _core.count_forward_levels_(1)

    def set(self, tensor: Tensor, tangent: Tensor | None) -> None:
        """Gives a tensor a tangent as it is; None is a zero."""
        with self._lock:
            self._holders.add(_core.set_tangent_(tensor, self.number, tangent))

    def set_view(self, tensor: Tensor, source: Tensor, look: Callable[[Tensor], Any], part: Tensor) -> None:
        """Makes a view's tangent what ``look`` makes of the tangent of what it is a view of: now that is ``part``."""
        with self._lock:
            self._holders.add(_core.set_tangent_view_(tensor, self.number, source, look, part))

    def get(self, tensor: Tensor) -> Tensor | None:
        """The tensor's tangent here, or None."""
        return _core.tangent(tensor, self.number)

    def close(self) -> None:
        """Takes all tangents back, so that tensors which outlive the level hold nothing of it."""
        _core.count_forward_levels_(-1)
        _hidden_outside.pop(self.number, None)
        with self._lock:
            for holder in self._holders:
                holder.clear(self.number)


class below:  # noqa: N801  (reads as a condition)
    """``with below(level):`` what runs belongs to the transforms of lower levels.

    These say what may be changed in place; and where grad mode was off outside of a higher one, it is off for them.
    """

    def __init__(self, level: int) -> None:
        self._level = level

    def __enter__(self) -> None:
        self._transform = _core.set_transform_(_core.running_transform(), _captured_below(self._level))
        off = any(n > self._level and not enabled for n, enabled in _running.differentiating)
        self._enabled = _core.set_grad_enabled_(_core.is_grad_enabled() and not off)

    def __exit__(self, *exc: object) -> None:
        _core.set_grad_enabled_(self._enabled)
        _core.set_transform_(*self._transform)


class hidden_from:  # noqa: N801  (reads as a condition)
    """``with hidden_from(level):`` operators see tangents of lower levels only, and what these may change."""

    def __init__(self, level: int) -> None:
        self._level = level

    def __enter__(self) -> None:
        self._transform = _core.set_transform_(_core.running_transform(), _captured_below(self._level))
        self._hidden = _core.hide_tangents_(min(self._level, _hidden_outside.get(self._level, self._level)))

    def __exit__(self, *exc: object) -> None:
        _core.hide_tangents_(self._hidden)
        _core.set_transform_(*self._transform)


def _captured_below(level: int) -> int:
    """The innermost transform below a level that differentiates: older tensors are captured; 0: there is none."""
    return max((number for number, _ in _running.differentiating if number < level), default=0)


def is_propagating() -> bool:
    """Whether operators of this thread propagate tangents: not inside a Function's forward; see `set_propagating_`."""
    return _core.hidden_tangents() > 0


def set_propagating_(value: bool) -> None:
    """Says whether operators of this thread propagate tangents, until a transform of forward mode begins."""
    if value == is_propagating():
        return
    hidden = _core.hide_tangents_(_running.hidden_before if value else 0)
    _running.hidden_before = _running.hidden_before if value else hidden


class propagating:  # noqa: N801  (reads as a condition)
    """``with propagating():`` tangents of all levels are propagated, whatever is set outside."""

    def __enter__(self) -> None:
        self._before = _running.hidden_before, _core.hide_tangents_(_EVERY_LEVEL)

    def __exit__(self, *exc: object) -> None:
        _running.hidden_before, hidden = self._before
        _core.hide_tangents_(hidden)


class in_transform:  # noqa: N801  (reads as a condition)
    """``with in_transform(number, kind):`` a transform of `func` runs a function, and restricts what it may call.

    Old-style Functions are refused, as are ``requires_grad_``, ``retain_grad`` and ``backward``.
    """

    def __init__(self, number: int, kind: str = "") -> None:
        self._number, self._kind = number, kind

    def __enter__(self) -> None:
        self._transform = _core.set_transform_(self._number)
        self._begin()

    def _begin(self) -> None:
        self._outer = _running.transforms
        _running.transforms = (*self._outer, (self._number, self._kind)) if self._number else ()

    def __exit__(self, *exc: object) -> None:
        _running.transforms = self._outer
        _core.set_transform_(*self._transform)


class recording:  # noqa: N801  (reads as a condition)
    """``with recording():`` calls reach autograd, whether or not its keys are excluded outside."""

    def __enter__(self) -> None:
        included, excluded = self._keys = _core.thread_keys()
        _core.set_thread_keys_(included, excluded & ~_AUTOGRAD)

    def __exit__(self, *exc: object) -> None:
        _core.set_thread_keys_(*self._keys)


class differentiating(in_transform):  # noqa: N801  (reads as a condition)
    """``with differentiating(number):`` as `in_transform`; autograd records, captured tensors are not to be changed."""

    def __init__(self, number: int, kind: str = "Grad") -> None:
        super().__init__(number, kind)

    def __enter__(self) -> None:
        self._recording = recording()
        self._recording.__enter__()
        self._transform = _core.set_transform_(self._number, self._number)
        self._begin()
        _running.differentiating.append((self._number, _core.is_grad_enabled()))

    def __exit__(self, *exc: object) -> None:
        _running.differentiating.pop()
        super().__exit__(*exc)
        self._recording.__exit__(*exc)
