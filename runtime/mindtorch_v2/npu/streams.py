"""Streams and events."""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType

from .. import _core
from .._core import device as Device
from .._managers import not_entered
from . import acl
from .acl import Acl
from .errors import NpuError, explain
from .runtime import DeviceLike, index_of, on_device, opened

_STREAMS_PER_DEVICE = 32
_PRIORITIES = 7  # that are more urgent than the default one
_lock = threading.Lock()


class Stream:
    """A queue of work on one NPU, run in order. Streams come from a pool and are never destroyed, as in PyTorch.

    A lower ``priority`` goes first: 0 is that of all streams which name none, -7 the most urgent; beyond is taken for
    the nearest. ``with stream:`` makes it current, as ``npu.stream(stream)`` does.
    """

    def __init__(self, device: DeviceLike = None, priority: int = 0) -> None:
        index = index_of(device)
        self.device, self.priority = Device("npu", index), min(max(priority, -_PRIORITIES), 0)
        self.npu_stream = _pooled_stream(index, self.priority)

    @classmethod
    def _of(cls, index: int, handle: int) -> Stream:
        stream = object.__new__(cls)
        stream.device, stream.npu_stream, stream.priority = Device("npu", index), handle, 0
        return stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The least and the most urgent priority."""
        return 0, -_PRIORITIES

    @property
    def device_index(self) -> int:
        """Index of the stream's NPU."""
        return self.device.index or 0

    def synchronize(self) -> None:
        """Waits until all work queued so far is done; raises ``NpuError`` where some of it failed."""
        with on_device(self.device_index):
            library = opened()
            code = library.wait(self.npu_stream)
            if code != 0:
                raise _stream_error(library, code, "Stream.synchronize", self)

    def query(self) -> bool:
        """Whether all work queued so far is done."""
        status = ctypes.c_int()
        with on_device(self.device_index):
            opened().call("aclrtStreamQuery", self.npu_stream, ctypes.byref(status))
        return status.value == 0

    def wait_event(self, event: Event) -> None:
        """Makes later work of this stream wait for the event's latest record, or for an external one to be set."""
        if _an_event("Stream.wait_event", event).external:
            event._create(self)
        if event.npu_event:
            with on_device(self.device_index):
                opened().call("aclrtStreamWaitEvent", self.npu_stream, event.npu_event)

    def wait_stream(self, stream: Stream) -> None:
        """Makes later work of this stream wait for all work queued on the other one so far."""
        self.wait_event(a_stream(stream).record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event (a new one where none is given) after the work queued so far."""
        event = Event() if event is None else _an_event("Stream.record_event", event)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        _entered.stack.append(context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.stack.pop().__exit__(kind, error, trace)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return self.device == other.device and self.npu_stream == other.npu_stream

    def __hash__(self) -> int:
        return hash((self.device, self.npu_stream))

    def __repr__(self) -> str:
        return f"<npu.Stream device={self.device} npu_stream={self.npu_stream:#x}>"


class _Entered(threading.local):
    """The streams that ``with`` made this thread's current ones."""

    def __init__(self) -> None:
        self.stack: list[StreamContext] = []


_entered = _Entered()


class ExternalStream(Stream):
    """A stream that something else made and destroys, such as MindSpore: its ``aclrtStream`` as an int."""

    def __init__(self, stream_ptr: int, device: DeviceLike = None) -> None:
        if not isinstance(stream_ptr, int):
            raise TypeError(
                f"npu.ExternalStream: expected a handle as an int, got {type(stream_ptr).__name__}; "
                "0 is the default stream"
            )
        self.device, self.npu_stream, self.priority = Device("npu", index_of(device)), stream_ptr, 0


_pools: dict[tuple[int, int], list[int]] = {}  # (NPU, priority) -> handles
_taken: dict[tuple[int, int], int] = {}


def _pooled_stream(index: int, priority: int) -> int:
    key = index, priority
    with _lock:
        pool, taken = _pools.setdefault(key, []), _taken.get(key, 0)
        _taken[key] = taken + 1
        if len(pool) < _STREAMS_PER_DEVICE:
            pool.append(new_stream(index, priority))
        return pool[taken % _STREAMS_PER_DEVICE]


def new_stream(index: int, priority: int = 0) -> int:
    """The handle of a stream of an NPU that nothing else uses."""
    handle = ctypes.c_void_p()
    with on_device(index):
        if priority == 0:
            opened().call("aclrtCreateStream", ctypes.byref(handle))
        else:  # ACL counts from 0, the most urgent, to 7
            opened().call("aclrtCreateStreamWithConfig", ctypes.byref(handle), _PRIORITIES + priority, 0)
    return handle.value or 0


class Event:
    """A mark in a stream: other streams and the host can wait for it, and two of them measure time.

    With ``external=True`` it is a flag instead: a record sets it, ``reset`` clears it, a wait blocks until it is set,
    each when its stream gets there. Captured, these are tasks of the graph, and tie it to streams outside of it.
    ``blocking`` is how PyTorch asks the host to sleep while it waits, which it always does here.
    """

    npu_event = 0  # made at first use, on that stream's device

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if interprocess:
            raise RuntimeError("npu.Event: events shared between processes are not supported")
        flag = acl.EVENT_EXTERNAL if external else acl.EVENT_SYNC
        self._flag = flag | acl.EVENT_TIME_LINE if enable_timing else flag
        self._device: int | None = None
        self.external = external

    def _create(self, stream: Stream) -> None:
        if self._device is not None and self._device != stream.device_index:
            raise RuntimeError(f"an event of npu:{self._device} cannot be recorded on a stream of {stream.device}")
        if not self.npu_event:
            handle = ctypes.c_void_p()
            with on_device(stream.device_index):
                opened().call("aclrtCreateEventExWithFlag", ctypes.byref(handle), self._flag)
            self.npu_event, self._device = handle.value or 0, stream.device_index

    def record(self, stream: Stream | None = None) -> None:
        """Marks the work queued on a stream so far; the current stream where none is given."""
        stream = _or_current(stream)
        self._create(stream)
        with on_device(stream.device_index):
            opened().call("aclrtRecordEvent", self.npu_event, stream.npu_stream)

    def reset(self, stream: Stream | None = None) -> None:
        """Clears an external event when a stream, by default the current one, gets there."""
        if not self.external:
            raise RuntimeError("npu.Event.reset: only an event made with external=True is cleared")
        stream = _or_current(stream)
        self._create(stream)
        with on_device(stream.device_index):
            opened().call("aclrtResetEvent", self.npu_event, stream.npu_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Makes later work of a stream wait for this event; the current stream where none is given."""
        _or_current(stream).wait_event(self)

    def query(self) -> bool:
        """Whether the marked work is done; True where nothing was marked."""
        status = ctypes.c_int(1)
        if self.npu_event:
            with on_device(self._device):
                opened().call("aclrtQueryEventStatus", self.npu_event, ctypes.byref(status))
        return status.value == 1

    def synchronize(self) -> None:
        """Waits until the marked work is done."""
        if self.npu_event:
            with on_device(self._device):
                opened().call("aclrtSynchronizeEvent", self.npu_event)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another; both must have been made with ``enable_timing=True``."""
        if not (self._flag & _an_event("Event.elapsed_time", end_event)._flag & acl.EVENT_TIME_LINE):
            raise ValueError("elapsed_time needs events made with enable_timing=True")
        if not (self.npu_event and end_event.npu_event):
            raise ValueError("elapsed_time needs both events to have been recorded")
        milliseconds = ctypes.c_float()
        with on_device(self._device):
            opened().call("aclrtEventElapsedTime", ctypes.byref(milliseconds), self.npu_event, end_event.npu_event)
        return milliseconds.value

    def __del__(self) -> None:
        if self.npu_event:
            opened().functions["aclrtDestroyEvent"](self.npu_event)


class ExternalEvent(Event):
    """``Event(external=True)``."""

    def __init__(self) -> None:
        super().__init__(external=True)


def current_stream(device: DeviceLike = None) -> Stream:
    """The calling thread's current stream of an NPU; the default one at start."""
    index = index_of(device)
    return Stream._of(index, _core.npu_current_stream(index))


def default_stream(device: DeviceLike = None) -> Stream:
    """The NPU's default stream."""
    return Stream._of(index_of(device), 0)


def set_stream(stream: Stream) -> None:
    """Makes a stream the calling thread's current one of its NPU; None does nothing."""
    if stream is None:
        return
    a_stream(stream)
    _core.npu_swap_stream(stream.device_index, stream.npu_stream)


class StreamContext:
    """``with npu.stream(s):`` makes a stream current, and its NPU; None does nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = None if stream is None else a_stream(stream)
        self._device: int | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device = _core.npu_set_device(self.stream.device_index)
            self._handle = _core.npu_swap_stream(self.stream.device_index, self.stream.npu_stream)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            if self._device is None:
                raise not_entered(self)
            _core.npu_swap_stream(self.stream.device_index, self._handle)
            _core.npu_set_device(self._device)


def stream(stream: Stream | None) -> StreamContext:
    """Makes a stream current for a ``with`` block."""
    return StreamContext(stream)


def a_stream(value: Stream) -> Stream:
    """The argument of a function that takes a stream. Raises TypeError for anything else."""
    if not isinstance(value, Stream):
        raise TypeError(f"expected an npu.Stream, got {type(value).__name__} {value!r}")
    return value


def _an_event(function: str, value: Event) -> Event:
    if not isinstance(value, Event):
        raise TypeError(f"{function}: expected an npu.Event, got {type(value).__name__} {value!r}")
    return value


def _or_current(stream: Stream | None) -> Stream:
    return current_stream() if stream is None else a_stream(stream)


def _stream_error(library: Acl, code: int, what: str, stream: Stream) -> NpuError:
    launches = _core.npu_recent_launches(stream.device_index, stream.npu_stream)
    return explain(code, f"{what} on {stream.device}", library.recent_message(), launches)
