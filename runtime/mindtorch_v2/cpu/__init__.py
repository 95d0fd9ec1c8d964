"""``torch.cpu``: the CPU under the names that every device's module has."""

from __future__ import annotations

import sys
from typing import Any

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether it is ready for use."""
    return True


def device_count() -> int:
    """How many there are: one, which has no index."""
    return 1


def current_device() -> str:
    """The one that ``device="cpu"`` means."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Waits for what runs there: nothing, as every call returns when it is done."""


class Stream:
    """What work is queued to, for programs that run on any device: a call here returns when its work is done."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Waits for what another one was told: nothing is left of it."""

    def record_event(self) -> None:
        """Marks where the work is now: it is done."""

    def wait_event(self, event: Any) -> None:
        """Waits for such a mark."""


class Event:
    """A mark in a stream's work, which is done when it is made."""

    def __init__(self, enable_timing: bool = False) -> None:
        pass

    def query(self) -> bool:
        """Whether all before the mark is done."""
        return True

    def record(self, stream: Any = None) -> None:
        """Makes the mark."""

    def synchronize(self) -> None:
        """Waits for the mark."""

    def wait(self, stream: Any = None) -> None:
        """Makes a stream wait for it."""


_default = Stream()


class StreamContext:
    """``with stream(s):`` a stream is the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before = _default

    def __enter__(self) -> None:
        global _current
        self._before = _current
        _current = self.stream or _current

    def __exit__(self, *exc: object) -> None:
        global _current
        _current = self._before


_current = _default


def stream(stream: Stream | None) -> StreamContext:
    """`StreamContext`."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current one."""
    return _current


def __getattr__(name: str) -> Any:
    if name == "amp":
        from .amp import __name__ as found

        return sys.modules[found]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
