"""``torch.multiprocessing``: Python's, where tensors travel between processes as shared memory."""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403

from ._reductions import register as _register
from ._spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """How memory can be shared: by files without names, whose descriptors are sent."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """How memory is shared."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses how memory is shared. Raises RuntimeError for a way that there is not."""
    if new_strategy not in get_all_sharing_strategies():
        raise RuntimeError(
            f"set_sharing_strategy(): {new_strategy!r} is not one of {sorted(get_all_sharing_strategies())}, "
            "which there are "
            "here"
        )


_register()
