"""``torch.backends.cudnn``: there is no cuDNN, and what programs set for it is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._core import Tensor
from ._flags import exchange

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit: int | None = None


def is_available() -> bool:
    """Whether cuDNN is here: no."""
    return False


def version() -> int | None:
    """The version of cuDNN: None, as it is not here."""
    return None


def is_acceptable(tensor: Tensor) -> bool:
    """Whether cuDNN could compute of a tensor: no."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Sets what is not None, and returns what all were."""
    wanted = {"enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": _benchmark_limit}
    wanted |= {"deterministic": _deterministic, "allow_tf32": _allow_tf32}
    return exchange(globals(), wanted)


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool | None = True,
) -> Iterator[None]:
    """Sets all of them within, and afterwards what they were."""
    # Without cuDNN there is no limit to keep, as PyTorch's has it.
    before = set_flags(enabled, benchmark, None, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)
