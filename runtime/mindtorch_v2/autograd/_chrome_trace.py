"""A recording as a trace in Chrome's JSON format, for Perfetto (https://ui.perfetto.dev) or ``chrome://tracing``.

A thread of the host is a lane of the program's process, a stream one of its device's. Names and categories are those
of PyTorch's traces (``cpu_op``, ``user_annotation``, ``kernel``, ``gpu_memcpy``, …), beside what it has no name for:
``launch``, ``encode``, ``commit``, ``wait``, ``replay``, ``event wait``. Arrows lead from what the host queued to what
the device ran (``ac2g``), and from a call to its node's backward (``fwdbwd``).
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ._profiler_events import ROLES, Owners, streams_of, title_of
from ._recording import DeviceSpan, Recording

__all__ = ["trace_of", "write"]

Event = dict[str, Any]
DEVICES_SORT = 5_000_000  # below the host's threads


def trace_of(recording: Recording, name: str = "", metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The trace as what JSON is made of. Times are in microseconds of the monotonic clock."""
    devices = sorted({span.device for span in recording.device_spans})
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": number, "name": device} for number, device in enumerate(devices)],
        **(metadata or {}),
        "host_name": platform.node(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": recording.clock_offset,
        "notes": list(recording.notes),
        "traceName": name,
        "traceEvents": list(_events(recording, devices)),
    }


def write(path: str | os.PathLike[str], trace: Mapping[str, Any]) -> None:
    """Writes a trace, compressed where the name ends with ``.gz``. The file is put in place once it is whole.

    Raises OSError where it cannot be written, which leaves what was there.
    """
    target = Path(path)
    data = json.dumps(trace, separators=(",", ":"), default=str).encode()
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                file.write(gzip.compress(data, 6) if target.name.endswith(".gz") else data)
                file.flush()
                os.fchmod(file.fileno(), 0o666 & ~_umask())
                Path(file.name).replace(target)
            except BaseException:
                with suppress(OSError):
                    Path(file.name).unlink()
                raise
    except OSError as error:  # of the class that its number has
        raise OSError(error.errno, f"the trace cannot be written: {error.strerror}", str(target)) from None


def _umask() -> int:
    """The process's, which is only told when it is set."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _events(recording: Recording, devices: list[str]) -> Iterator[Event]:
    process, owners = os.getpid(), Owners.of(recording.spans)
    yield from _process(process, "python", "CPU", process)
    for thread in dict.fromkeys(span.thread for span in recording.spans):
        named = recording.threads.get(thread)
        yield from _lane(process, thread, f"thread {thread}" + (f" ({named})" if named else ""), thread)
    yield from _host_events(recording, process)
    yield from _backward_arrows(recording, process)
    yield from _memory_events(recording, process)
    yield from _device_events(recording, owners, devices, process)


def _process(process: int, name: str, label: str, order: int) -> Iterator[Event]:
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}
    yield {"ph": "M", "name": "process_labels", "pid": process, "tid": 0, "args": {"labels": label}}
    yield {"ph": "M", "name": "process_sort_index", "pid": process, "tid": 0, "args": {"sort_index": order}}


def _lane(process: int, lane: int, name: str, order: int) -> Iterator[Event]:
    yield {"ph": "M", "name": "thread_name", "pid": process, "tid": lane, "args": {"name": name}}
    yield {"ph": "M", "name": "thread_sort_index", "pid": process, "tid": lane, "args": {"sort_index": order}}


def _slice(category: str, name: str, process: int, lane: int, begin: int, end: int, args: Event) -> Event:
    place = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": lane}
    return {**place, "ts": begin / 1000, "dur": (end - begin) / 1000, "args": args}


def _arrow(category: str, number: int, begin: tuple[int, int, int], end: tuple[int, int, int]) -> Iterator[Event]:
    """From a process, lane and time to others."""
    common = {"cat": category, "name": category, "id": number}
    for phase, (process, lane, time) in (("s", begin), ("f", end)):
        yield {
            "ph": phase,
            **common,
            "pid": process,
            "tid": lane,
            "ts": time / 1000,
            **({"bp": "e"} if phase == "f" else {}),
        }


def _host_events(recording: Recording, process: int) -> Iterator[Event]:
    for number, span in enumerate(recording.spans, 1):
        args: Event = {"External id": number}
        if span.sequence >= 0:
            args["Sequence number"] = span.sequence
        if span.overload:
            args["Overload name"] = span.overload
        if span.shapes is not None:
            args["Input Dims"] = span.shapes
            args["Input type"] = span.types
        if span.stack:
            args["Call stack"] = ";".join(span.stack)
        category = "cpu_op" if span.category == "backward" else span.category
        yield _slice(category, title_of(span), process, span.thread, span.begin, span.end, args)


def _backward_arrows(recording: Recording, process: int) -> Iterator[Event]:
    """From the call that recorded a node, the innermost of those with its number, to its backward."""
    forward = {
        span.sequence: span
        for span in recording.spans
        if span.category == "cpu_op" and span.sequence >= 0 and not span.name.startswith("autograd::engine")
    }
    for span in recording.spans:
        if span.category == "backward" and span.sequence in forward:
            call = forward[span.sequence]
            begin, end = (process, call.thread, call.begin), (process, span.thread, span.begin)
            yield from _arrow("fwdbwd", span.sequence, begin, end)


def _memory_events(recording: Recording, process: int) -> Iterator[Event]:
    total: dict[str, int] = {}
    for change in recording.memory:
        device = str(change.device)
        total[device] = total.get(device, 0) + change.nbytes
        args = {
            "Device": device,
            "Addr": change.address,
            "Bytes": change.nbytes,
            "Total since the start": total[device],
        }
        place = {"pid": process, "tid": change.thread, "ts": change.time / 1000}
        yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", **place, "args": args}


def _device_events(recording: Recording, owners: Owners, devices: list[str], process: int) -> Iterator[Event]:
    streams = streams_of(recording.device_spans)
    for number, device in enumerate(devices):
        yield from _process(number, device, device, DEVICES_SORT + number)
    for (device, stream, lane), number in streams.items():
        name = "the host's copies" if stream is None else f"stream {number // 1000 if lane else number}"
        name += f", lane {lane} of a graph" if lane else ""
        yield from _lane(devices.index(device), number, name, number)
    graphs = {(span.thread, span.queued) for span in recording.device_spans if span.kind == "graph"}
    for number, span in enumerate(recording.device_spans, 1):
        chip, lane = devices.index(span.device), streams[span.device, span.stream, span.lane]
        args = _device_args(span, number)
        caller = owners.around(span.thread, span.queued) if span.queued else -1
        if caller >= 0:
            args["External id"] = caller + 1
        yield _slice(
            ROLES.get(span.kind, span.kind),
            title_of(span),
            chip,
            lane,
            span.begin,
            span.end,
            args,
        )
        inside = span.kind != "graph" and (span.thread, span.queued) in graphs  # its graph has the arrow
        if caller >= 0 and span.stream is not None and not inside:
            yield from _arrow("ac2g", number, (process, span.thread, span.queued), (chip, lane, span.begin))


def _device_args(span: DeviceSpan, number: int) -> Event:
    args: Event = {"correlation": number}
    if span.queued:
        args["queued for (us)"] = (span.begin - span.queued) / 1000
    if span.blocks:
        args["blocks"] = span.blocks
    if span.nbytes:
        args["bytes"] = span.nbytes
    return args
