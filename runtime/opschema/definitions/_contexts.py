"""What kernels are told where a runtime follows no run of operations: that nothing is known of what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["NullContext"]


@dataclass(frozen=True)
class NullContext:
    """As a RuntimeContext of mindtorch_v2: work may stay queued, and what comes next is unknown."""

    next_kind: str = "unknown"
    device: Any = None
    next_device: Any = None
    position: int = -1
    plan: Any = None
    commit_and_continue: bool = True
