"""Whether optional packages are there, as PyTorch's tools ask."""

from __future__ import annotations

import functools
import importlib.util

__all__ = ["check_module_exists", "dill_available"]


def check_module_exists(name: str) -> bool:
    """Whether a module of that name can be imported; it is looked for, not imported.

    Raises ModuleNotFoundError where what it would lie in is absent.
    """
    return importlib.util.find_spec(name) is not None


_check_module_exists = check_module_exists


@functools.cache
def dill_available() -> bool:
    """Whether ``dill`` is there, which pickles what ``pickle`` does not."""
    return check_module_exists("dill")
