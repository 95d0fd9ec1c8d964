"""PyTorch's place for modes that see operators below autograd."""

from __future__ import annotations

from ..overrides import TorchDispatchMode, is_traceable_wrapper_subclass

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]
