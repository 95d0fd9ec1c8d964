"""``torch.utils.swap_tensors``: two tensors trade what they are, and stay the objects that others hold."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from . import _core
from ._core import Tensor

__all__ = ["swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Makes each of two tensors what the other one was: values, shape, class, attributes, slots, gradient.

    A graph that was recorded with one of them no longer runs backward to it, nor where it saved it: RuntimeError there.
    Raises RuntimeError where one has weak references, or the slots of their classes differ.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"swap_tensors(): {name} must be Tensor, not {type(tensor).__name__}")
        if weakref.getweakrefcount(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if _slots(t1) != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    _core.swap_(t1, t2)


def _slots(tensor: Tensor) -> set[str]:
    """The slots of a tensor's class, beside its dict."""
    names: Any = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return set(names)
