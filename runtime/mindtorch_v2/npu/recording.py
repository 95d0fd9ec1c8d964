"""What is recorded instead of run: streams that are captured into a graph, or that update one."""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .runtime import on_device, opened
from .streams import Stream, a_stream, current_stream

__all__ = [
    "PinnedBytes",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "is_current_stream_capturing",
    "keep",
    "kept_in",
    "model_of",
    "records",
]


@names_wrong_types
def model_of(stream: Stream) -> int:
    """The handle of the graph that a stream is being captured for; 0 where it is not."""
    status, model = ctypes.c_int(), ctypes.c_void_p()
    with on_device(stream.device_index):
        opened().call("aclmdlRICaptureGetInfo", stream.npu_stream, ctypes.byref(status), ctypes.byref(model))
    return (model.value or 0) if status.value else 0


def is_current_stream_capturing() -> bool:
    """Whether what is queued on the current stream is captured into a graph instead of run."""
    return _core.npu_recording() and model_of(current_stream()) != 0


# ---------------------------------------------------------------- what a recording keeps alive
class _Kept(threading.local):
    def __init__(self) -> None:
        self.lists: list[list[Any]] = []


_kept = _Kept()


class kept_in:  # noqa: N801  (used as a context manager)
    """Makes a list the one that ``keep`` adds to, for this thread."""

    def __init__(self, objects: list[Any]) -> None:
        self._objects = objects

    def __enter__(self) -> None:
        _kept.lists.append(self._objects)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _kept.lists[:] = [each for each in _kept.lists if each is not self._objects]


def records() -> bool:
    """Whether this thread records a graph or an update, on the stream that is current."""
    return bool(_kept.lists)


def keep(thing: Any) -> None:
    """Keeps something alive for as long as what is being recorded may run. Raises RuntimeError where nothing is."""
    if not _kept.lists:
        raise RuntimeError("keep(): nothing is being recorded on this thread")
    _kept.lists[-1].append(thing)


class PinnedBytes:
    """Bytes in host memory that a device copies from by itself, so that the copy may be queued and recorded."""

    address = 0

    def __init__(self, data: bytes) -> None:
        pointer = ctypes.c_void_p()
        opened().call("aclrtMallocHost", ctypes.byref(pointer), len(data))
        self.address = pointer.value or 0
        ctypes.memmove(self.address, data, len(data))

    def __del__(self) -> None:
        if self.address:
            opened().functions["aclrtFreeHost"](self.address)


# ---------------------------------------------------------------- task groups
_updating: set[Stream] = set()


def graph_task_group_begin(stream: Stream) -> None:
    """From now on what a captured stream gets is a group, whose tasks can be updated together later."""
    with on_device(a_stream(stream).device_index):
        opened().call("aclmdlRICaptureTaskGrpBegin", stream.npu_stream)


def graph_task_group_end(stream: Stream) -> int:
    """Ends the group that was begun on a captured stream, and returns its handle."""
    handle = ctypes.c_void_p()
    with on_device(a_stream(stream).device_index):
        opened().call("aclmdlRICaptureTaskGrpEnd", stream.npu_stream, ctypes.byref(handle))
    return handle.value or 0


def graph_task_update_begin(stream: Stream, handle: int) -> None:
    """From now on what a stream gets is kept, to take the place of a group's tasks."""
    if not isinstance(handle, int):
        raise TypeError(
            f"graph_task_update_begin(): expected the handle that graph_task_group_end returned, an int, got "
            f"{type(handle).__name__}"
        )
    with on_device(a_stream(stream).device_index):
        opened().call("aclmdlRICaptureTaskUpdateBegin", stream.npu_stream, handle)
    _updating.add(stream)
    _core.npu_begin_recording(0, 0)


def graph_task_update_end(stream: Stream) -> None:
    """Queues the replacement of the group's tasks; raises ``NpuError`` where they differ in number or kind."""
    if a_stream(stream) in _updating:
        _updating.remove(stream)
        _core.npu_end_recording(0)
    with on_device(stream.device_index):
        opened().call("aclmdlRICaptureTaskUpdateEnd", stream.npu_stream)
