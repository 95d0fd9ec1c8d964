"""A recording as events: who called whom, what it took on a device, and what memory."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._recording import DeviceSpan, Recording, Span
from .profiler_util import MEMORY_EVENT_NAME, DeviceType, EventList, FunctionEvent

__all__ = ["ROLES", "Owners", "events_of", "streams_of", "title_of"]

CALLS = ("cpu_op", "backward", "user_annotation")  # what has a name of its own; others are told with what they are
BACKWARD_SCOPE = 1  # PyTorch's numbers of what an event stands for
# What takes time on a device, by PyTorch's names of it.
ROLES = {"kernel": "kernel", "copy": "gpu_memcpy", "fill": "gpu_memset"}
WAYS = {
    "host to device": "Memcpy HtoD",
    "device to host": "Memcpy DtoH",
    "device to device": "Memcpy DtoD",
    "host to host": "Memcpy HtoH",
}
STEP = "ProfilerStep#"


def title_of(span: Span | DeviceSpan) -> str:
    """What a span is called in tables and traces."""
    if isinstance(span, Span):
        return span.name if span.category in CALLS else f"{span.category} {span.name}".rstrip()
    if span.kind == "copy":
        return WAYS.get(span.name, f"Memcpy {span.name}")
    return span.name or {"fill": "Memset"}.get(span.kind, span.kind)


@dataclass(frozen=True)
class Owners:
    """The host's spans by thread and time."""

    spans: Sequence[Span]
    places: dict[int, list[int]]
    begins: dict[int, list[int]]

    @staticmethod
    def of(spans: Sequence[Span]) -> Owners:
        """From a recording's spans, which are in the order in which they began."""
        places: dict[int, list[int]] = {}
        for place, span in enumerate(spans):
            places.setdefault(span.thread, []).append(place)
        begins = {thread: [spans[place].begin for place in own] for thread, own in places.items()}
        return Owners(spans, places, begins)

    def around(self, thread: int, time: int, fits: Callable[[Span], bool] = lambda span: True) -> int:
        """The place of the innermost span that fits, of a thread at a time; -1 where there is none."""
        own = self.places.get(thread)
        at = bisect_right(self.begins[thread], time) - 1 if own else -1
        place = own[at] if own and at >= 0 else -1
        while place >= 0 and (self.spans[place].end < time or not fits(self.spans[place])):
            place = self.spans[place].parent
        return place


def streams_of(spans: Sequence[DeviceSpan]) -> dict[tuple[str, int | None, int], int]:
    """Numbers for what runs side by side, by device, stream and lane of a graph: streams of a device from 1 on.

    0 is what the host does itself with a device's memory. A graph's further lanes have 1000 times the stream's number,
    and their own.
    """
    found: dict[tuple[str, int | None, int], int] = {}
    for device in sorted({span.device for span in spans}):
        handles = sorted({span.stream for span in spans if span.device == device and span.stream is not None})
        numbers: dict[int | None, int] = {None: 0, **{handle: number for number, handle in enumerate(handles, 1)}}
        for span in spans:
            if span.device == device:
                number = numbers[span.stream]
                found[device, span.stream, span.lane] = number + 1000 * number * (span.lane > 0) + span.lane
    return found


def events_of(recording: Recording, use_device: str | None, memory: bool, flops: bool) -> EventList:
    """The events of a recording: the host's in the order in which they began, memory outside of calls, the devices'."""
    owners, threads = Owners.of(recording.spans), dict[int, int]()
    for span in recording.spans:
        threads.setdefault(span.thread, len(threads) + 1)

    def microseconds(time: int) -> float:
        return (time - recording.begin) / 1000

    recorded_on: dict[int, int] = {}  # by sequence number: the thread of the forward call
    for span in recording.spans:
        if span.category == "cpu_op" and span.sequence >= 0 and not span.name.startswith("autograd::engine"):
            recorded_on.setdefault(span.sequence, threads[span.thread])
    events = [_event(number, span, microseconds, threads, recorded_on) for number, span in enumerate(recording.spans)]
    for event, span in zip(events, recording.spans, strict=True):
        event.use_device = use_device
        event.flops = _flops(span) if flops else None
    loose = _count_memory(recording, owners, events, threads, microseconds, use_device) if memory else []
    found = EventList([*events, *loose], use_device=use_device, profile_memory=memory, with_flops=flops)
    found.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    found._build_tree()
    _give_backward_its_stacks(found)
    found += _add_kernels(recording, owners, events, microseconds, use_device)
    return found


def _event(
    number: int,
    span: Span,
    microseconds: Callable[[int], float],
    threads: dict[int, int],
    recorded_on: dict[int, int],
) -> FunctionEvent:
    backward = span.category == "backward" or span.name.startswith("autograd::engine")
    title = title_of(span)
    return FunctionEvent(
        id=number + 1,
        name=STEP[:-1] + "*" if title.startswith(STEP) else title,
        trace_name=title,
        overload_name=span.overload,
        thread=threads[span.thread],
        start_us=microseconds(span.begin),
        end_us=microseconds(span.end),
        fwd_thread=recorded_on.get(span.sequence, 0) if backward else 0,
        input_shapes=[[] if isinstance(shape, list) else list(shape) for shape in span.shapes or ()],
        structured_input_shapes=_lists(span.shapes),
        input_dtypes=list(span.types or ()),
        concrete_inputs=[],
        kwinputs={},
        stack=list(span.stack),
        scope=BACKWARD_SCOPE if span.category == "backward" else 0,
        is_async=span.thread != span.end_thread,
        sequence_nr=span.sequence,
        is_user_annotation=span.category == "user_annotation",
        activity_type=span.category,
        device_resource_id=span.thread,
    )


def _give_backward_its_stacks(events: EventList) -> None:
    """Where a node was recorded says more than where backward was called."""
    recorded_at: dict[int, list[str]] = {}
    for event in events:
        if event.sequence_nr >= 0 and event.scope != BACKWARD_SCOPE and not event.name.startswith("autograd::engine"):
            recorded_at.setdefault(event.sequence_nr, event.stack)
    for event in events:
        around = event
        while around is not None and around.scope != BACKWARD_SCOPE:
            around = around.cpu_parent
        if around is not None:
            event.stack = recorded_at.get(around.sequence_nr, [])


def _lists(shapes: Sequence[Any] | None) -> list[Any]:
    return [[list(one) for one in shape] if isinstance(shape, list) else list(shape) for shape in shapes or ()]


def _count_memory(
    recording: Recording,
    owners: Owners,
    events: Sequence[FunctionEvent],
    threads: dict[int, int],
    microseconds: Callable[[int], float],
    use_device: str | None,
) -> list[FunctionEvent]:
    """Counts memory at the calls during which it came or went; gives an event for each change outside of all calls."""
    loose: list[FunctionEvent] = []
    for change in recording.memory:
        place = owners.around(change.thread, change.time)
        on_cpu = change.device.type == "cpu"
        if place < 0:
            time = microseconds(change.time)
            number = threads.setdefault(change.thread, len(threads) + 1)
            event = FunctionEvent(0, MEMORY_EVENT_NAME, number, time, time, input_shapes=[], stack=[], fwd_thread=0)
            event.use_device, event.overload_name = use_device, ""
            loose.append(event)
            _add_memory(event, change.nbytes, on_cpu)
        while place >= 0:
            _add_memory(events[place], change.nbytes, on_cpu)
            place = recording.spans[place].parent
    return loose


def _add_memory(event: FunctionEvent, nbytes: int, on_cpu: bool) -> None:
    if on_cpu:
        event.cpu_memory_usage += nbytes
    else:
        event.device_memory_usage += nbytes


def _add_kernels(
    recording: Recording,
    owners: Owners,
    events: Sequence[FunctionEvent],
    microseconds: Callable[[int], float],
    use_device: str | None,
) -> list[FunctionEvent]:
    """Counts a device's times at the calls that asked for them; gives an event for each."""
    if use_device is None:
        return []
    streams, found = streams_of(recording.device_spans), list[FunctionEvent]()
    for span in recording.device_spans:
        if span.kind not in ROLES:
            continue
        title, index = title_of(span), int(span.device.rpartition(":")[2])
        place = owners.around(span.thread, span.queued, lambda caller: caller.category in CALLS)
        if place >= 0:
            events[place].append_kernel(title, index, (span.end - span.begin) / 1000)
        stream = streams[span.device, span.stream, span.lane]
        event = FunctionEvent(
            id=len(events) + len(found) + 1,
            name=title,
            trace_name=title,
            overload_name="",
            thread=stream,
            start_us=microseconds(span.begin),
            end_us=microseconds(span.end),
            input_shapes=[],
            stack=[],
            fwd_thread=0,
            device_type=DeviceType.PrivateUse1,
            device_index=index,
            use_device=use_device,
            activity_type=ROLES[span.kind],
        )
        found.append(event)
    return found


def _flops(span: Span) -> int:
    """Operations in floating point, by the shapes of the arguments, of the operators whose work these settle."""
    shapes = [tuple(shape) for shape in span.shapes or () if not isinstance(shape, list)]
    name = span.name.removeprefix("aten::")
    if name in ("mul", "add") and shapes:
        return int(math.prod(shapes[0]))
    first = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}.get(name)
    if first is None or len(shapes) < first + 2 or not shapes[first] or not shapes[first + 1]:
        return 0
    return int(2 * math.prod(shapes[first]) * shapes[first + 1][-1])
