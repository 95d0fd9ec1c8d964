"""``torch.linalg``: linear algebra, by the names of the operators ``linalg_…``."""

from __future__ import annotations

from typing import Any

from ._ops import ops
from .errors import LinAlgError as LinAlgError
from .library._publishing import published_form

__all__ = ["LinAlgError"]


def __getattr__(name: str) -> Any:
    try:
        found = published_form(getattr(ops.aten, f"linalg_{name}"))
    except AttributeError:
        raise AttributeError(
            f"module 'torch.linalg' has no attribute '{name}': docs/coverage.md lists the names there are"
        ) from None
    globals()[name] = found
    return found
