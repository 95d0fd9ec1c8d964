"""PyTorch's place for modes that see operators below autograd."""

from __future__ import annotations

from .._modes import stacks
from ..overrides import TorchDispatchMode, is_traceable_wrapper_subclass

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The mode that sees this thread's operators first, or None."""
    found: TorchDispatchMode | None = stacks.dispatch[-1] if stacks.dispatch else None
    return found
