"""``torch.special``: special functions, by the names of the operators ``special_…``."""

from __future__ import annotations

from typing import Any

from ._ops import ops
from .library._publishing import published_form

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    try:
        found = published_form(getattr(ops.aten, f"special_{name}"))
    except AttributeError:
        raise AttributeError(
            f"module 'torch.special' has no attribute '{name}': docs/coverage.md lists the names there are"
        ) from None
    globals()[name] = found
    return found
