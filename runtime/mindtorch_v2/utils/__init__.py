"""PyTorch's ``torch.utils``: what writing tensor subclasses and modes needs, and devices from outside."""

from __future__ import annotations

import importlib
from typing import Any

from .._swapping import swap_tensors as swap_tensors

_LAZY = (
    "_foreach_utils",
    "_import_utils",
    "_python_dispatch",
    "_pytree",
    "backend_registration",
    "benchmark",
    "checkpoint",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "module_tracker",
)
_LAZY_NAMES = ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend")


def set_module(obj: Any, mod: str) -> None:
    """Says that a function or a class is of a module. Raises TypeError where the module is not told by its name."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_NAMES:  # whose module stands above what uses the others here
        return getattr(importlib.import_module(f"{__name__}.backend_registration"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
