"""A captured graph to look at: as a picture, as a track for Perfetto, or in the DOT language."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

__all__ = ["write_picture"]

Log = Sequence[tuple[int, str]]  # what was captured, in order: (handle of the stream, name of the kernel)

_WIDTH, _HEIGHT, _GAP, _MARGIN = 260, 28, 14, 20  # of a box of the picture, in pixels
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})  # in XML
_WAITS = "wait for an update of "  # how the log has what a replay waits for


def write_picture(log: Log, path: Path) -> None:
    """Writes a log in the form that the file's name ends with: ``.svg``, ``.json`` (Perfetto), or else DOT."""
    write = {".svg": _svg, ".json": _trace}.get(path.suffix.lower(), _dot)
    path.write_text(write(log))


def _dot(log: Log) -> str:
    lines, last = ["digraph npu_graph {", "  node [shape=box];"], dict[int, int]()
    for number, (stream, name) in enumerate(log):
        lines.append(f"  n{number} [label={json.dumps(name)}];")
        if stream in last:
            lines.append(f'  n{last[stream]} -> n{number} [label="stream {stream:#x}"];')
        last[stream] = number
    return "\n".join([*lines, "}\n"])


def _trace(log: Log) -> str:
    """Chrome's format: a thread for each stream, and a task for each microsecond, as a capture knows no times."""
    streams = list(dict.fromkeys(stream for stream, _ in log))
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 0, "tid": tid, "name": "thread_name", "args": {"name": f"stream {stream:#x}"}}
        for tid, stream in enumerate(streams)
    ]
    events += [
        {
            "ph": "X",
            "pid": 0,
            "tid": streams.index(stream),
            "ts": number,
            "dur": 1,
            "name": name,
            "cat": "wait" if name.startswith(_WAITS) else "kernel",
            "args": {"task": number},
        }
        for number, (stream, name) in enumerate(log)
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, indent=1)


def _svg(log: Log) -> str:
    """A column for each stream, a row for each task; an update's wait is drawn in another colour."""
    streams = list(dict.fromkeys(stream for stream, _ in log))
    width = 2 * _MARGIN + max(1, len(streams)) * (_WIDTH + _GAP)
    height = 2 * _MARGIN + (len(log) + 1) * (_HEIGHT + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for column in range(len(streams)):
        parts.append(f'<text x="{_left(column)}" y="{_MARGIN + 14}" fill="#555555">stream {column}</text>')
    last: dict[int, int] = {}
    for row, (stream, name) in enumerate(log):
        left, top = _left(streams.index(stream)), _top(row)
        middle = left + _WIDTH // 2
        if stream in last:
            start = _top(last[stream]) + _HEIGHT
            parts.append(f'<line x1="{middle}" y1="{start}" x2="{middle}" y2="{top}" stroke="#888888"/>')
        fill = "#fde2b8" if name.startswith(_WAITS) else "#d6e6f7"
        parts.append(
            f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="{fill}" stroke="#7a8a99"/>'
        )
        parts.append(
            f'<text x="{middle}" y="{top + 18}" text-anchor="middle">{_shortened(name).translate(_ESCAPED)}</text>'
        )
        last[stream] = row
    return "\n".join([*parts, "</svg>\n"])


def _left(column: int) -> int:
    return _MARGIN + column * (_WIDTH + _GAP)


def _top(row: int) -> int:
    return _MARGIN + (row + 1) * (_HEIGHT + _GAP) - _GAP


def _shortened(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"
