"""PyTorch's other places of what modules are made of: ``torch.nn.modules``, with the classes of ``torch.nn``."""

from __future__ import annotations

from typing import Any

from . import module, utils
from .module import Module

__all__ = ["Module", "module", "utils"]


def __getattr__(name: str) -> Any:
    """A class of modules by its name."""
    from ... import nn

    found = None if name.startswith("__") else getattr(nn, name, None)
    if not (isinstance(found, type) and issubclass(found, Module)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
