"""A profile as a table of text, with the columns and the widths of PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Widths", "format_memory", "format_share", "format_time", "table"]

WIDTH = 12  # of a column of figures
GAP = "  "
UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


@dataclass(frozen=True)
class Widths:
    """How wide the columns of text become at most; None: as they need."""

    name: int | None
    shapes: int | None
    source: int | None


@dataclass(frozen=True)
class Column:
    """A column: its title, its width, and the cells."""

    title: str
    width: int
    cells: Sequence[str]
    left: bool = False

    def place(self, text: str) -> str:
        return (text.ljust(self.width) if self.left else text.rjust(self.width)) + GAP


def format_time(us: float, unit: str | None = None) -> str:
    """Microseconds in the unit that suits them, or in the one that is asked for."""
    if unit not in UNITS:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    return f"{us / UNITS[unit]:.3f}{unit}"


def format_share(us: float, total: float) -> str:
    """A part of a whole in percent."""
    return f"{us * 100.0 / total:.2f}%" if total else "NaN"


def format_memory(nbytes: int) -> str:
    """Bytes in the unit that suits them."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def shortened(text: str, width: int | None) -> str:
    """A name that fits its column."""
    return text[: width - 3] + "..." if width is not None and len(text) >= width - 3 else text


def end_of(path: str, width: int) -> str:
    """The last part of a place in a file."""
    if len(path) <= width:
        return path
    tail = path[len(path) - width :]
    return "..." + tail[3:] if len(tail) > 3 else tail


def _width(texts: Sequence[str], most: int | None) -> int:
    longest = max((len(text) for text in texts), default=0) + 4
    return longest if most is None else min(longest, most)


def device_total(events: Sequence[Any]) -> float:
    """What devices took in all: kernels have events of their own."""
    kernels = [event for event in events if event.device_type.name != "CPU" and not event.is_user_annotation]
    return float(sum(event.self_device_time_total for event in kernels))


def table(
    events: Sequence[Any],
    *,
    sort_by: str | None,
    row_limit: int,
    widths: Widths,
    header: str | None,
    profile_memory: bool,
    with_flops: bool,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """See `EventList.table`."""
    if not events:
        return ""
    if sort_by is not None:
        attribute = sort_by
        for name in ("cuda", "xpu", "privateuse1"):
            attribute = attribute.replace(name, "device")
        events = sorted(events, key=lambda event: getattr(event, attribute), reverse=True)
    cpu, device = sum(event.self_cpu_time_total for event in events), device_total(events)
    rows = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
    rows = rows[:row_limit] if row_limit >= 0 else rows
    for event in rows:
        event.self_cpu_percent = format_share(event.self_cpu_time_total, cpu)
        event.total_cpu_percent = 0 if event.is_async else format_share(event.cpu_time_total, cpu)
        event.total_device_percent = format_share(event.self_device_time_total, device)
    columns = _columns(events, rows, widths, profile_memory, with_flops, time_unit)
    rule = "".join("-" * column.width + GAP for column in columns)
    double = "=" * (len(rule) - len(GAP))
    lines = [double, header] if header is not None else []
    lines += [double, "This report only display top-level ops statistics"] if top_level_events_only else []
    lines += [rule, "".join(column.place(column.title) for column in columns), rule]
    with_stacks = any(event.stack for event in events)
    for number, event in enumerate(rows):
        lines.append("".join(column.place(column.cells[number]) for column in columns))
        if with_stacks:
            lines += _rest_of_stack(event.stack or [], columns)
    lines += [rule, f"Self CPU time total: {format_time(cpu, time_unit)}"]
    if _has_device_time(events):
        lines.append(f"Self {_device_name(events)} time total: {format_time(device, time_unit)}")
    return "\n".join([*lines, ""])


def _has_device_time(events: Sequence[Any]) -> bool:
    return any(event.self_device_time_total > 0 for event in events)


def _device_name(events: Sequence[Any]) -> str:
    return events[0].use_device.upper() if events[0].use_device else "None"


def _rest_of_stack(stack: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """Lines below an event's own: the other frames of its stack, and an empty one."""
    at = next(number for number, column in enumerate(columns) if column.title == "Source Location")
    texts = [end_of(entry, columns[at].width) for entry in stack[1:]] + [""]
    return [
        "".join(column.place(text if number == at else "") for number, column in enumerate(columns)) for text in texts
    ]


def _columns(
    events: Sequence[Any],
    rows: Sequence[Any],
    widths: Widths,
    profile_memory: bool,
    with_flops: bool,
    time_unit: str | None,
) -> list[Column]:
    def figures(title: str, cells: Sequence[str]) -> Column:
        return Column(title, WIDTH, cells)

    def times(title: str, attribute: str) -> Column:
        return figures(title, [format_time(getattr(event, attribute), time_unit) for event in rows])

    def memory(title: str, attribute: str) -> Column:
        return figures(title, [format_memory(getattr(event, attribute)) for event in rows])

    device, name_width = _device_name(events), _width([event.key for event in events], widths.name)
    found = [Column("Name", name_width, [shortened(event.key, widths.name) for event in rows])]
    if any(event.overload_name for event in events):
        names = [shortened(event.overload_name or "", widths.name) for event in rows]
        found.append(Column("Overload Name", name_width, names))
    found += [
        figures("Self CPU %", [event.self_cpu_percent for event in rows]),
        times("Self CPU", "self_cpu_time_total"),
        figures("CPU total %", [str(event.total_cpu_percent) for event in rows]),
        times("CPU total", "cpu_time_total"),
        times("CPU time avg", "cpu_time"),
    ]
    if _has_device_time(events):
        found += [
            times(f"Self {device}", "self_device_time_total"),
            figures(f"Self {device} %", [event.total_device_percent for event in rows]),
            times(f"{device} total", "device_time_total"),
            times(f"{device} time avg", "device_time"),
        ]
    if profile_memory:
        found += [memory("CPU Mem", "cpu_memory_usage"), memory("Self CPU Mem", "self_cpu_memory_usage")]
        if any(event.self_device_memory_usage > 0 for event in events) and events[0].use_device:
            found.append(memory(f"{device} Mem", "device_memory_usage"))
            found.append(memory(f"Self {device} Mem", "self_device_memory_usage"))
    found.append(figures("# of Calls", [str(event.count) for event in rows]))
    if any(event.node_id != -1 for event in events):
        found.append(figures("Node ID", [str(event.node_id) for event in rows]))
    if any(event.input_shapes for event in events):
        width = _width([str(event.input_shapes) for event in events], widths.shapes)
        found.append(Column("Input Shapes", width, [str(event.input_shapes)[:width] for event in rows]))
    if any(event.stack for event in events):
        width = _width([entry for event in events for entry in event.stack or ()], widths.source)
        cells = [end_of(event.stack[0], width) if event.stack else "" for event in rows]
        found.append(Column("Source Location", width, cells, left=True))
    counted = [event.flops for event in events if event.flops] if with_flops else []
    if counted:
        power = max(0, min(int(math.log10(min(counted)) / 3), len(FLOPS) - 1))
        cells = [f"{event.flops / 10 ** (3 * power):8.3f}" if event.flops else "--" for event in rows]
        found.append(figures(f"Total {FLOPS[power]}", cells))
    return found
