"""Work without the garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["without_collector"]


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Trees of values make no cycles: the collector would walk all of them again and again, and free nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
