"""PyTorch's other place of ``Module``: ``torch.nn.modules.module``."""

from __future__ import annotations

from . import module
from .module import Module

__all__ = ["Module", "module"]
