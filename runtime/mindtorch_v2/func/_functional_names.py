"""Wrappers of `functionalize` outside of a call of it, by PyTorch's inner names."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ._functional_levels import FunctionalTensor, disable, enable, shared

__all__ = [
    "_disable_functionalization", "_enable_functionalization", "_freeze_functional_tensor", "_from_functional_tensor",
    "_is_functional_tensor", "_sync", "_to_functional_tensor",
]  # fmt: skip


def _to_functional_tensor(t: Tensor) -> Tensor:
    """A wrapper of a tensor: changes of it, and of its views, are seen by wrappers only. Leaves ``t`` as it is."""
    wrapper: Tensor = shared.wrap(t)
    return wrapper


def _is_functional_tensor(t: Tensor) -> bool:
    """Whether a tensor is such a wrapper, or one of a `functionalize` that runs."""
    return isinstance(t, FunctionalTensor)


def _wrapper(t: Any, name: str) -> FunctionalTensor:
    if not isinstance(t, FunctionalTensor):
        raise RuntimeError(
            f"{name}: expected a functional tensor, of _to_functional_tensor, but got a {type(t).__name__}"
        )
    return t


def _from_functional_tensor(t: Tensor) -> Tensor:
    """What a wrapper stood for when it was last read, as by `_sync`. Raises RuntimeError for other tensors."""
    return _wrapper(t, "_from_functional_tensor").value


def _sync(t: Tensor) -> None:
    """Makes a wrapper see the changes of all tensors that share its memory; nothing for other tensors."""
    if isinstance(t, FunctionalTensor):
        with t.level.left():
            t.level.value(t)


def _freeze_functional_tensor(t: Tensor) -> None:
    """From now on a change in place of the wrapper, or of what shares its memory, raises RuntimeError."""
    _wrapper(t, "_freeze_functional_tensor").group.frozen = True


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """From now on tensors that this thread makes are wrappers; without ``reapply_views`` views become copies.

    Raises RuntimeError where this is so already, and inside of `functionalize`.
    """
    enable(reapply_views)


def _disable_functionalization() -> None:
    """Takes `_enable_functionalization` back."""
    disable()
