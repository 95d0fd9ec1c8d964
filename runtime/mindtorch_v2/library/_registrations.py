"""What is registered at each key of each operator: a stack, whose newest entry runs; older ones come back."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import OpOverload

__all__ = ["Kernel", "find_meta", "formula", "is_registered", "pop", "push", "push_beneath", "registrations", "suspend"]

_AUTOGRAD = "Autograd"


@dataclasses.dataclass(frozen=True, eq=False)
class Kernel:
    """One registration at one key of one operator."""

    function: Callable[..., Any]
    source: str | None
    fake: bool = False
    placeholder: bool = False  # an error, until somebody registers the real one
    with_keyset: bool = False
    gradient: tuple[Callable[..., Any] | None, Callable[..., Any] | None] | None = None  # backward, setup_context


_kernels: weakref.WeakKeyDictionary[OpOverload, dict[str, list[Kernel]]] = weakref.WeakKeyDictionary()
_suspended: set[tuple[str, str]] = set()  # (operator, key) whose kernels are switched off


def formula(
    backward: Callable[..., Any] | None, setup_context: Callable[..., Any] | None, source: str | None
) -> Kernel:
    """The registration at the key Autograd of an operator whose gradient is a formula (None: still to come)."""
    gradient = backward, setup_context
    return Kernel(_core.autograd_kernel, source, placeholder=backward is None, gradient=gradient)


def push(overload: OpOverload, key: str, kernel: Kernel) -> None:
    """Makes ``kernel`` what runs at a key."""
    _kernels.setdefault(overload, {}).setdefault(key, []).append(kernel)
    _install(overload, key)


def push_beneath(overload: OpOverload, key: str, kernel: Kernel) -> None:
    """As `push`, below all that is registered already: the runtime's own, registered when it is first needed."""
    _kernels.setdefault(overload, {}).setdefault(key, []).insert(0, kernel)
    _install(overload, key)


def pop(overload: OpOverload, key: str, kernel: Kernel) -> None:
    """Takes `push` back, in whatever order."""
    _kernels[overload][key].remove(kernel)
    _install(overload, key)


def registrations(overload: OpOverload, key: str) -> list[Kernel]:
    """All registrations of a key, the newest last."""
    return _kernels.get(overload, {}).get(key, [])


def find_meta(overload: OpOverload) -> Kernel | None:
    """The registration that runs on meta tensors, if one was made for them."""
    stack = registrations(overload, "Meta")
    return stack[-1] if stack else None


def is_registered(overload: OpOverload, function: Callable[..., Any]) -> bool:
    """Whether a function still is a kernel of an operator that still exists."""
    stacks = _kernels.get(overload, {}).values()
    return _core.find_operator(overload.name()) is overload and any(k.function is function for s in stacks for k in s)


def suspend(overload: OpOverload, key: str, suspended: bool) -> bool:
    """Switches an operator's kernels at a key off, or on again; returns whether they were off before."""
    entry = overload.name(), key
    before = entry in _suspended
    (_suspended.add if suspended else _suspended.discard)(entry)
    _install(overload, key)
    return before


def _install(overload: OpOverload, key: str) -> None:
    stack = registrations(overload, key)
    if not stack or (overload.name(), key) in _suspended:
        overload.remove_kernel(key)
        return
    newest = stack[-1]
    if newest.gradient is not None:
        overload.set_autograd(*newest.gradient, newest.source)
    else:
        overload.set_kernel(key, newest.function, newest.source, newest.with_keyset)
