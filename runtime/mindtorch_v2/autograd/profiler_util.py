"""What a profile is made of: events, one a call, and what several of a name come to, as PyTorch has them."""

from __future__ import annotations

import enum
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import _profiler_table
from ._profiler_table import format_time

_format_time = format_time  # PyTorch's name

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel", "MemRecordsAcc"]

MEMORY_EVENT_NAME = "[memory]"
STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


class DeviceType(enum.Enum):
    """Where an event took place, with PyTorch's numbers."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


class Interval:
    """From ``start`` to ``end``, in microseconds since the profile began."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length, in microseconds."""
        return self.end - self.start


class Kernel(NamedTuple):
    """What an operator's call ran on a device; ``duration`` in microseconds."""

    name: str
    device: int
    duration: float


class _Times:
    """Times of events and of averages, in microseconds, and in words."""

    count: int
    cpu_time_total: Any
    device_time_total: Any
    self_cpu_time_total: Any
    self_device_time_total: Any

    @property
    def cpu_time(self) -> float:
        """The average of a call's time."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The average of what a call took on devices."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class FunctionEvent(_Times):
    """One call of an operator, one block with a label, or one kernel; see `profile.events`.

    ``cpu_children`` and ``cpu_parent`` are the calls inside it and around it, ``kernels`` what it ran on a device.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: Any = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: Any = None,
        kwinputs: Any = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        activity_type: str | None = None,
        structured_input_shapes: Any = None,
        input_dtypes: Any = None,
    ) -> None:
        self.id, self.name, self.trace_name, self.overload_name = id, name, trace_name, overload_name
        self.time_range = Interval(start_us, end_us)
        self.thread, self.fwd_thread = thread, fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes, self.concrete_inputs, self.kwinputs = input_shapes, concrete_inputs, kwinputs
        self.stack, self.scope, self.use_device = stack, scope, use_device
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.sequence_nr, self.node_id = is_async, is_remote, sequence_nr, node_id
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy, self.flops = is_legacy, flops
        self.is_user_annotation, self.is_python_function = is_user_annotation, is_python_function
        self.activity_type = activity_type
        self.structured_input_shapes, self.input_dtypes = structured_input_shapes, input_dtypes
        self.self_cpu_percent: Any = -1
        self.total_cpu_percent: Any = -1
        self.total_device_percent: Any = -1

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Notes what this call ran on a device."""
        self._require_cpu()
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Notes a call that this one made itself."""
        self._require_cpu()
        _require_event(child)
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Sets the call that made this one."""
        self._require_cpu()
        _require_event(parent)
        self.cpu_parent = parent

    def _require_cpu(self) -> None:
        if self.device_type != DeviceType.CPU:
            raise AssertionError("Expected device_type to be CPU")

    @property
    def _counts_self(self) -> bool:
        return not self.is_async and self.device_type == DeviceType.CPU

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes of the CPU that the call took, less those that it gave back, without the calls inside it."""
        if not self._counts_self:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        """The same of devices."""
        if not self._counts_self:
            return 0
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def cpu_time_total(self) -> float:
        """How long the call took; 0 of a kernel."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """How long the call took, without the calls inside it."""
        if not self._counts_self:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:
        """How long its kernels took, and those of the calls inside it; of a kernel, how long that took."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type == DeviceType.CPU:
            own = sum(kernel.duration for kernel in self.kernels)
            return own + sum(child.device_time_total for child in self.cpu_children)
        return self.time_range.elapsed_us()

    @property
    def self_device_time_total(self) -> float:
        """The same without the calls inside it."""
        if self.is_async or not self.use_device:
            return 0
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    @property
    def key(self) -> str:
        """What averages are made by."""
        return self.name

    def __repr__(self) -> str:
        device, children = self.use_device, [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={children} "
            f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


def _require_event(value: object) -> None:
    if not isinstance(value, FunctionEvent):
        raise AssertionError(f"expected a FunctionEvent, got {type(value).__name__}")
    value._require_cpu()


_SUMS = (
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "device_memory_usage",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
    "count",
)
_OF_THE_FIRST = (
    "key",
    "node_id",
    "is_async",
    "is_remote",
    "cpu_parent",
    "cpu_children",
    "overload_name",
    "input_shapes",
    "stack",
    "scope",
    "device_type",
    "is_legacy",
    "use_device",
    "is_user_annotation",
)


class FunctionEventAvg(_Times):
    """What the events of one key come to: sums, which ``cpu_time`` and ``device_time`` divide by ``count``."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = self.is_remote = self.is_legacy = False
        self.is_user_annotation = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = self.device_memory_usage = 0
        self.self_cpu_memory_usage = self.self_device_memory_usage = 0
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.flops: int | None = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds an event, or an average, of the same key."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in _OF_THE_FIRST:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.flops is None:
            self.flops = other.flops
        elif other.flops is not None:
            self.flops += other.flops
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or averages of them, which prints as a table."""

    def __init__(self, events: Iterable[Any] = (), **options: Any) -> None:
        self._use_device: str | None = options.pop("use_device", None)
        self._profile_memory: bool = options.pop("profile_memory", False)
        self._with_flops: bool = options.pop("with_flops", False)
        super().__init__(events, **options)
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    def _build_tree(self) -> None:
        """Settles which events are inside which. One that its only parent repeats is left out."""
        self._populate_cpu_children()
        self._leave_out_repeated()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Settles which events are inside which, by time and thread."""
        by_thread: dict[int, list[FunctionEvent]] = defaultdict(list)
        for event in self:
            if event._counts_self:
                by_thread[event.thread].append(event)
        for events in by_thread.values():
            around: list[FunctionEvent] = []
            for event in sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)):
                while around and not event.time_range.end <= around[-1].time_range.end:
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _leave_out_repeated(self) -> None:
        """Of an operator whose whole work is a call of one of the same name there is one event."""
        while True:
            repeated = {
                id(event)
                for event in self
                if event.cpu_parent is not None
                and event.cpu_parent.name == event.name
                and len(event.cpu_parent.cpu_children) == 1
            }
            if not repeated:
                return
            for event in self:
                if id(event) in repeated:
                    event.cpu_parent.cpu_children, event.cpu_parent.kernels = event.cpu_children, event.kernels
                    for child in event.cpu_children:
                        child.cpu_parent = event.cpu_parent
            self[:] = [event for event in self if id(event) not in repeated]

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all events' own times, in microseconds."""
        total: float = sum(event.self_cpu_time_total for event in self)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table, an event a row.

        ``sort_by`` is an attribute (``cpu_time_total``, ``self_cpu_memory_usage``, ``count``, …), the largest first;
        ``time_unit`` is ``s``, ``ms`` or ``us`` for all times.
        """
        return _profiler_table.table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            widths=_profiler_table.Widths(max_name_column_width, max_shapes_column_width, max_src_column_width),
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Writes the CPU's events alone, for ``chrome://tracing``; the profile's own has all that was recorded."""
        events = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in self
            if event.trace_name is not None and event.device_type == DeviceType.CPU
        ]
        Path(path).write_text(json.dumps(events))

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` takes for ``metric``."""
        return list(STACK_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Writes a line a stack, outermost frame first, with the metric behind it: what flame graphs are drawn from."""
        if metric not in STACK_METRICS:
            raise ValueError(f"metric should be one of: {STACK_METRICS}")
        words, attribute = str.maketrans(" ;\t\n", "____"), attribute_of(metric)
        with Path(path).open("w") as file:
            for event in self:
                value = int(getattr(event, attribute))
                if event.stack and value > 0:
                    file.write(";".join(entry.translate(words) for entry in reversed(event.stack)) + f" {value}\n")

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """An average for each name, and where asked for each set of shapes, top of the stack, or overload."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        found: dict[tuple[str, ...], FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key = [str(event.key), str(event.node_id), str(event.device_type)]
            key += [str(event.is_legacy), str(event.is_user_annotation)]
            key += [event.overload_name or ""] if group_by_overload_name else []
            key += [str(event.input_shapes)] if group_by_input_shapes else []
            key += (event.stack or [])[:group_by_stack_n] if group_by_stack_n > 0 else []
            found[tuple(key)].add(event)
        averages = EventList(
            found.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for average in averages:
            average.stack = (average.stack or [])[:group_by_stack_n]
            average.input_shapes = average.input_shapes if group_by_input_shapes else ""
            average.overload_name = average.overload_name if group_by_overload_name else ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events together, under the key ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key = "Total"
        return total


def attribute_of(metric: str) -> str:
    """The attribute that a metric's name means: devices have one set of them."""
    for name in ("cuda", "xpu", "privateuse1"):
        metric = metric.replace(name, "device")
    return metric


class MemRecordsAcc:
    """Records of memory, pairs whose first item has ``start_ns()``: which of them lie in an interval."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        ordered = sorted(mem_records, key=lambda record: record[0].start_ns()) if len(mem_records) > 0 else []
        self._records: list[Any] = ordered

    def in_interval(self, start_ns: int, end_ns: int) -> Iterable[Any]:
        """The records from ``start_ns`` to ``end_ns``, both included."""
        return (record for record in self._records if start_ns <= record[0].start_ns() <= end_ns)
