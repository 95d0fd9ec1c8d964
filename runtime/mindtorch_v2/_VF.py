"""``torch._VF``, and ``torch._C._nn``: every operator as a function, also those that have no public name."""

from __future__ import annotations

from typing import Any

from ._ops import ops


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(ops.aten, name).as_function()
