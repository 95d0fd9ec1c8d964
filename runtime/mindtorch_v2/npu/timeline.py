"""What NPUs did and when, for a profiler: the simulated NPU records it, on the clock of the host.

CANN's own profiler is a tool of its own (msprof), and nothing here reads it: on hardware a trace has the host's side
alone, launches and waits included, and says so.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from typing import Any

from .. import _core
from .._hooks import hooks
from ..autograd._recording import DeviceSpan
from . import acl, runtime
from .errors import NpuError

__all__ = ["Timeline"]

AT_ONCE = 1024  # spans that one call takes
NO_TIMES = "kernels' times are absent: the simulated NPU alone tells them; on hardware use CANN's msprof beside this"


class Timed(ctypes.Structure):
    """``mtsim_timed`` of mtsim.h."""

    _fields_ = (
        ("queued", ctypes.c_int64),
        ("begin", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("bytes", ctypes.c_uint64),
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("thread", ctypes.c_uint32),
        ("lane", ctypes.c_uint32),
        ("blocks", ctypes.c_uint32),
        ("kind", ctypes.c_char * 24),
        ("name", ctypes.c_char * 64),
    )

    def span(self) -> DeviceSpan:
        """The same in Python's values."""
        return DeviceSpan(
            kind=self.kind.decode(errors="replace"),
            name=self.name.decode(errors="replace"),
            device=f"npu:{self.device}",
            stream=self.stream,
            lane=self.lane,
            queued=self.queued,
            begin=self.begin,
            end=self.end,
            thread=self.thread,
            blocks=self.blocks,
            nbytes=self.bytes,
        )


@functools.cache
def _simulator(path: str) -> Any:
    library = ctypes.CDLL(path)
    library.mtsim_timeline_start.argtypes = (ctypes.c_size_t,)
    library.mtsim_timeline_take.argtypes = (ctypes.POINTER(Timed), ctypes.c_size_t)
    library.mtsim_timeline_take.restype = library.mtsim_timeline_dropped.restype = ctypes.c_size_t
    return library


class Timeline:
    """What a recording asks NPUs. One that is opened while it runs is asked from then on."""

    def __init__(self) -> None:
        self._most = 0  # above 0: a recording runs

    def begin(self, most: int) -> None:
        """Starts recording, of at most ``most`` spans."""
        self._most = most
        if runtime.is_initialized():
            self._start(runtime.opened())

    def _start(self, library: acl.Acl) -> None:
        if self._most and library.simulated:
            _simulator(library.path).mtsim_timeline_start(self._most)

    def end(self) -> tuple[list[DeviceSpan], list[str], NpuError | None]:
        """Waits for the NPUs, but while a graph is captured.

        What they did, notes on what is not in it, and the error of what failed on one of them.
        """
        most, self._most = self._most, 0
        if not most or not runtime.is_initialized() or runtime.opened().forked:
            return [], [], None
        library, notes, failure = runtime.opened(), list[str](), None
        if _core.npu_recording():
            notes.append("the profile ended while a graph was captured, so it did not wait for the NPUs")
        else:
            failure = _wait_for_all()
        if not library.simulated:
            return [], [NO_TIMES], failure
        simulator = _simulator(library.path)
        simulator.mtsim_timeline_stop()
        spans = sorted(_taken(simulator), key=lambda span: span.begin)
        if dropped := simulator.mtsim_timeline_dropped():
            notes.append(f"{dropped} spans of the NPUs found no room: at most {most} are kept")
        return spans, notes, failure

    def drop(self) -> None:
        """Ends the recording, of which nobody wants to know."""
        self._most = 0
        if runtime.is_initialized() and runtime.opened().simulated:
            _simulator(runtime.opened().path).mtsim_timeline_stop()


def _wait_for_all() -> NpuError | None:
    failure: NpuError | None = None
    for index in range(runtime.device_count()):
        try:
            runtime.synchronize(index)
        except NpuError as error:
            failure = failure or error
    return failure


def _taken(simulator: Any) -> Iterator[DeviceSpan]:
    room = (Timed * AT_ONCE)()
    while count := simulator.mtsim_timeline_take(room, AT_ONCE):
        for number in range(count):
            yield room[number].span()


_timeline = Timeline()
hooks.fill(device_timeline=_timeline)
runtime.at_open.append(_timeline._start)
