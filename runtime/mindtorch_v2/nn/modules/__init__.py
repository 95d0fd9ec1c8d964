"""PyTorch's other places of what modules are made of: ``torch.nn.modules.module`` and ``utils``."""

from __future__ import annotations

from . import module, utils
from .module import Module

__all__ = ["Module", "module", "utils"]
