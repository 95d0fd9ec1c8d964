"""One recording of what a program did: the host's spans from the core, and a device's own where it tells.

A recording runs from `begin` to `end`; there is one at a time in a process. What is made of it, events, tables and
traces, is for those who asked for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._hooks import hooks

__all__ = ["DeviceSpan", "Memory", "Recorder", "Recording", "Span"]

MOST_SPANS = 4_000_000  # of 72 bytes each, and as many of a device


@dataclass(frozen=True)
class Span:
    """Something the host did: an operator's call (``cpu_op``), a block with a label, a launch, a wait, a copy, …

    Times are in ns of the monotonic clock, threads have the system's numbers. ``shapes`` and ``types`` are those of an
    operator's arguments, in the schema's order; ``stack`` is where it was called, innermost first.
    """

    category: str
    name: str
    overload: str
    begin: int
    end: int
    thread: int
    end_thread: int
    parent: int  # its place among the spans; -1: none
    sequence: int  # of the node that the call records, or that runs; -1: none
    shapes: Sequence[Any] | None = None
    types: Sequence[str] | None = None
    stack: Sequence[str] = ()


@dataclass(frozen=True)
class Memory:
    """Memory that was taken (``nbytes`` above 0) or given back."""

    time: int
    nbytes: int
    address: int
    device: Any
    thread: int


@dataclass(frozen=True)
class DeviceSpan:
    """Something that a device did: a ``kernel``, a ``copy``, a ``fill``, a wait for an event, a run of a graph, …

    ``queued`` is when thread ``thread`` of the host asked for it, 0 where nobody noted that. ``stream`` is a handle,
    None for what the host did itself with the device's memory; ``lane`` is which of a captured graph's streams.
    """

    kind: str
    name: str
    device: str
    stream: int | None
    lane: int
    queued: int
    begin: int
    end: int
    thread: int
    blocks: int = 0
    nbytes: int = 0


@dataclass(frozen=True)
class Recording:
    """What was recorded between two points in time. ``notes`` say what is not in it, and why."""

    begin: int
    end: int
    clock_offset: int  # what makes the monotonic clock that of the calendar, ns
    spans: Sequence[Span]
    memory: Sequence[Memory]
    device_spans: Sequence[DeviceSpan]
    threads: dict[int, str]  # the system's number: name
    notes: tuple[str, ...] = ()
    failure: Exception | None = None  # the error of what failed on a device


def format_frame(code: Any, line: int) -> str:
    """A frame as PyTorch's profiler writes it."""
    return f"{code.co_filename}({line}): {code.co_name}"


_running = threading.Lock()  # held while a recording runs; of a forked child a new one


def is_recording() -> bool:
    """Whether a recording runs."""
    return _running.locked()


@dataclass
class Recorder:
    """Begins and ends a recording: ``all_threads``, or the calling one alone.

    ``device`` asks devices, too. In a forked child the recording is over: `end` gives None there.
    """

    all_threads: bool = False
    shapes: bool = False
    stacks: bool = False
    memory: bool = False
    device: bool = True
    _process: int = field(default=0, init=False)
    _began: int = field(default=0, init=False)
    _runs: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Raises RuntimeError while another recording runs."""
        if not _running.acquire(blocking=False):
            raise RuntimeError(
                "a profiler runs already, and there is one at a time in a process: leave it before this one begins"
            )
        thread = None if self.all_threads else threading.get_native_id()
        if self.device and hooks.device_timeline is not None:
            hooks.device_timeline.begin(MOST_SPANS)
        _core.profiler_begin(thread, self.shapes, self.stacks, self.memory, MOST_SPANS)
        self._process, self._began, self._runs = os.getpid(), _core.clock_ns(), True

    def end(self) -> Recording | None:
        """Waits for the devices, and gives what was recorded."""
        self._runs = False
        if self._process != os.getpid():
            return None
        device_spans: Sequence[DeviceSpan] = ()
        notes: list[str] = []
        failure: Exception | None = None
        try:
            if self.device and hooks.device_timeline is not None:
                device_spans, notes, failure = hooks.device_timeline.end()
            ended = _core.clock_ns()
            _core.profiler_end()
            spans, memory = _core.profiler_records()
            if dropped := _core.profiler_dropped():
                notes.append(f"{dropped} spans of the host found no room: at most {MOST_SPANS} are kept")
        finally:
            _core.profiler_forget()
            _running.release()
        return Recording(
            self._began,
            ended,
            time.time_ns() - time.monotonic_ns(),
            tuple(read_spans(spans)),
            tuple(Memory(*change) for change in memory),
            tuple(device_spans),
            {thread.native_id: thread.name for thread in threading.enumerate() if thread.native_id is not None},
            tuple(notes),
            failure,
        )

    def __del__(self) -> None:
        """One that is dropped while it runs records no more."""
        if self._runs and self._process == os.getpid():
            if hooks.device_timeline is not None:
                hooks.device_timeline.drop()
            _core.profiler_forget()
            _running.release()


def read_spans(records: Iterable[tuple[Any, ...]]) -> Iterable[Span]:
    """The core's records with their names and stacks in words."""
    for category, what, begin, end, thread, end_thread, parent, sequence, details in records:
        name, overload = what, ""
        if isinstance(what, _core.OpOverload):
            name, overload = f"{what.namespace}::{what._schema.name}", what._schema.overload
        shapes, types, stack = details or (None, None, None)
        frames = [format_frame(code, line) for code, line in stack or ()]
        yield Span(category, name, overload, begin, end, thread, end_thread, parent, sequence, shapes, types, frames)


def _after_fork() -> None:
    global _running
    _running = threading.Lock()
    _core.profiler_forget()


os.register_at_fork(after_in_child=_after_fork)
