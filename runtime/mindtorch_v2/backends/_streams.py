"""``torch.Stream`` and ``torch.Event``: streams and events of whichever device, by what its `Backend` says of them."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._argument_types import as_int, check_flag
from ._backend import Backend, all_backends, backend_of

__all__ = ["Event", "Stream", "current_stream"]


def _place(function: str, given: Any) -> tuple[Backend, _core.device]:
    """The backend and device that a caller means; None: the last device type that has streams, else the CPU."""
    if given is None:
        found = next((kind for kind in reversed(all_backends()) if kind.streams is not None), backend_of("cpu"))
        return found, _core.device(found.name)
    if isinstance(given, bool) or not isinstance(given, (str, bytes, int, _core.device)):
        got = type(given).__name__
        raise TypeError(f"{function}(): argument 'device' (position 1) must be torch.device, not {got}")
    where = _core.device(given)
    found = backend_of(where)
    return found, _core.concrete(where) if found.indexed else where


def _as_priority(given: Any) -> int:
    try:
        return as_int("Stream", "priority", given)
    except ValueError:
        if isinstance(given, int):
            raise
        raise TypeError(f"Stream(): argument 'priority' must be int, not {type(given).__name__}") from None


def _no_events(device: _core.device) -> RuntimeError:
    return RuntimeError(f"{device.type} backend doesn't support events.")


class Stream:
    """A queue of work on a device, run in order. Of a device type with streams it is of the type's own class.

    Of any other it is the one on which all work there is done when a call returns. Three numbers, as an operator that
    takes or returns a stream has it, name one of any device type, also of those that are not here: nothing runs on it.
    Source: PyTorch's ``torch.Stream``.
    """

    def __new__(
        cls,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> Any:
        numbers = (stream_id, device_index, device_type)
        if device is None and numbers != (None, None, None):
            return _named(cls, *[0 if number is None else number for number in numbers])
        backend, where = _place("Stream", device)
        priority = _as_priority(priority)
        if backend.streams is not None:
            return backend.streams().stream(where, priority=priority)
        made = super().__new__(cls)
        made.device = where
        made.device_index = -1 if where.index is None else where.index
        made.device_type = _TYPES.index(where.type) if where.type in _TYPES else len(_TYPES)
        return made

    device: _core.device
    stream_id = 0
    device_index: int  # -1 where it has none
    device_type: int  # PyTorch's number of it

    def synchronize(self) -> None:
        """Waits until all work queued so far is done: there is none."""

    def query(self) -> bool:
        """Whether all work queued so far is done."""
        return True

    def wait_event(self, event: Any) -> None:
        """Lets work that is queued from now on wait for an event."""
        if not isinstance(event, Event):
            raise RuntimeError(f"expected event to be a torch.Event object, not {type(event).__name__}")

    def wait_stream(self, stream: Any) -> None:
        """Lets work that is queued from now on wait for another stream's. Raises RuntimeError: there are no events."""
        raise _no_events(self.device)

    def record_event(self, event: Any = None) -> Any:
        """An event after the work queued so far. Raises RuntimeError: there are none on this device."""
        if event is not None and not isinstance(event, Event):
            raise RuntimeError(f"expected event to be a torch.Event object, not {type(event).__name__}")
        raise _no_events(self.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and _numbers(other) == _numbers(self)

    def __hash__(self) -> int:
        return hash(_numbers(self))

    def __repr__(self) -> str:
        where = self.device.type if hasattr(self, "device") else self.device_type
        return f"torch.Stream device_type={where}, device_index={self.device_index}, stream_id={self.stream_id}"


# The device types in the order of PyTorch's numbers for them; what comes later is PrivateUse1.
_TYPES: tuple[str, ...] = (
    *("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan", "metal", "xpu"),
    *("mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia"),
)


def _numbers(stream: Stream) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, stream.device_type


def _named(cls: type[Stream], stream_id: int, device_index: int, device_type: int) -> Stream:
    made = object.__new__(cls)
    made.stream_id, made.device_index, made.device_type = stream_id, device_index, device_type
    name = _TYPES[device_type] if device_type < len(_TYPES) else ""
    if any(kind.name == name for kind in all_backends()):
        made.device = _core.device(name, device_index) if device_index >= 0 else _core.device(name)
    return made


class Event:
    """A mark in a stream's work. Of a device type with streams it is of the type's own class.

    Of any other there is nothing to wait for. Source: PyTorch's ``torch.Event``.
    """

    def __new__(
        cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Any:
        backend, where = _place("Event", device)
        for name, flag in (("enable_timing", enable_timing), ("blocking", blocking), ("interprocess", interprocess)):
            check_flag("Event", name, flag)
        if backend.streams is not None:
            return backend.streams().event(enable_timing, blocking, interprocess)
        made = super().__new__(cls)
        made.device, made.enable_timing = where, enable_timing
        return made

    device: _core.device
    enable_timing: bool

    def synchronize(self) -> None:
        """Waits for the event: nothing was recorded."""

    def query(self) -> bool:
        """Whether the work before the event is done."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Lets a stream's further work wait for the event."""
        if stream is not None and not isinstance(stream, Stream):
            raise RuntimeError(f"expected stream to be a torch.Stream object, not {type(stream).__name__}")

    def record(self, stream: Any = None) -> None:
        """Puts the event after the work queued so far. Raises RuntimeError: there are no events on this device."""
        raise _no_events(self.device)

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        where = f"device_type={self.device.type}, device_index={index}"
        return f"torch.Event {where}, event_flag={int(self.enable_timing)}, event_id=0"


def current_stream(device: Any) -> Any:
    """The calling thread's stream of a device, which kernels with a stream among their arguments are given.

    Raises RuntimeError for a device type that has no streams.
    """
    backend, where = _place("current_stream", device)
    if backend.streams is None:
        raise RuntimeError(f"{where} has no streams: its `Backend` names none")
    return backend.streams().current(where)
