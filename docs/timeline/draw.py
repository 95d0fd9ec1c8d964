"""Draws a trace of ``torch.npu.profile`` as a picture (SVG): a lane a thread or stream, as Perfetto shows them.

    python docs/timeline/draw.py trace.json timeline.svg [--from LABEL]

With ``--from`` the picture has what happens during the first slice of that name. It needs no package beside Python.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH, LEFT, ROW, GAP = 1280, 150, 20, 8  # pixels
LETTER = 6.1  # of a letter of a label, about
COLOURS = {
    "user_annotation": ("labels", "#cfe8cf"),
    "cpu_op": ("operators", "#c6dbf5"),
    "launch": ("launches", "#ffd9a0"),
    "encode": ("encodes", "#fff0b3"),
    "commit": ("commits", "#f7b6d2"),
    "replay": ("replays", "#f7b6d2"),
    "copy": ("copies", "#b5e3dd"),
    "wait": ("waits", "#f4b8b0"),
    "event": ("events", "#e3d3f0"),
    "kernel": ("kernels", "#d4c2ee"),
    "gpu_memcpy": ("copies of the device", "#9fd8cf"),
    "gpu_memset": ("fills", "#9fd8cf"),
    "graph": ("graphs", "#e0e0e0"),
    "event wait": ("waits for events", "#f7cfc9"),
}
OTHER = ("other", "#eeeeee")
UNSHOWN = ("event record", "call")  # of no length, or of no interest


@dataclass(frozen=True)
class Slice:
    """A bar: where it is, and how deep in others of its lane."""

    lane: tuple[int, int]
    category: str
    name: str
    begin: float
    end: float
    depth: int


@dataclass(frozen=True)
class Arrow:
    """From a lane at a time to another one."""

    lane: tuple[int, int]
    time: float
    to_lane: tuple[int, int]
    to_time: float


def slices_of(events: Iterable[dict[str, Any]], window: tuple[float, float]) -> list[Slice]:
    """The bars of a window of time, each with its depth: how many bars of its lane are around it."""
    found: list[Slice] = []
    own: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] not in UNSHOWN:
            own.setdefault((event["pid"], event["tid"]), []).append(event)
    for lane, bars in own.items():
        ends: list[float] = []
        for bar in sorted(bars, key=lambda bar: (bar["ts"], -bar["dur"])):
            begin, end = bar["ts"], bar["ts"] + bar["dur"]
            while ends and ends[-1] <= begin:
                ends.pop()
            if begin < window[1] and end > window[0]:
                found.append(
                    Slice(lane, bar["cat"], bar["name"], max(begin, window[0]), min(end, window[1]), len(ends))
                )
            ends.append(end)
    return found


def arrows_of(events: Iterable[dict[str, Any]], window: tuple[float, float]) -> list[Arrow]:
    """From what was queued to what ran, where that is shown."""
    shown = {(bar["pid"], bar["tid"], bar["ts"]) for bar in events if bar["ph"] == "X" and bar["cat"] not in UNSHOWN}
    starts = {event["id"]: event for event in events if event["ph"] == "s" and event["cat"] == "ac2g"}
    found = []
    for event in events:
        start = starts.get(event.get("id")) if event["ph"] == "f" and event["cat"] == "ac2g" else None
        if start is None or (event["pid"], event["tid"], event["ts"]) not in shown:
            continue
        if window[0] <= start["ts"] and event["ts"] <= window[1]:
            found.append(Arrow((start["pid"], start["tid"]), start["ts"], (event["pid"], event["tid"]), event["ts"]))
    return found


def window_of(events: Iterable[dict[str, Any]], label: str | None) -> tuple[float, float]:
    """From the first bar's begin to the last one's end; with a label those of the first bar of that name."""
    bars = [event for event in events if event["ph"] == "X" and label in (None, event["name"])]
    if not bars:
        raise ValueError(f"the trace has no slice named {label!r}" if label else "the trace has no slices")
    if label is not None:
        bars = bars[:1]
    return min(bar["ts"] for bar in bars), max(bar["ts"] + bar["dur"] for bar in bars)


def draw(trace: dict[str, Any], label: str | None = None) -> str:
    """The picture of a trace, or of the first slice with a name and what happens meanwhile."""
    events = trace["traceEvents"]
    begin, end = window = window_of(events, label)
    slices, arrows = slices_of(events, window), arrows_of(events, window)
    names = {
        (event["pid"], event["tid"] if event["name"] == "thread_name" else None): event["args"]["name"]
        for event in events
        if event["name"] in ("thread_name", "process_name")
    }
    order = {
        (event["pid"], event["tid"] if event["name"] == "thread_sort_index" else None): event["args"]["sort_index"]
        for event in events
        if event["name"] in ("thread_sort_index", "process_sort_index")
    }
    lanes = sorted({bar.lane for bar in slices}, key=lambda lane: (order[lane[0], None], order[lane]))
    scale = (WIDTH - LEFT - 10) / (end - begin)
    tops: dict[tuple[int, int], float] = {}
    parts, y, process = list[str](), 34.0, None
    for lane in lanes:
        if lane[0] != process:
            process = lane[0]
            parts.append(f'<rect x="0" y="{y:g}" width="{WIDTH}" height="18" fill="#e8ebf0"/>')
            parts.append(f'<text x="8" y="{y + 13:g}" font-weight="bold">{html.escape(names[process, None])}</text>')
            y += 18 + GAP / 2
        depth = 1 + max(bar.depth for bar in slices if bar.lane == lane)
        tops[lane] = y
        parts.append(f'<text x="8" y="{y + 14:g}" fill="#444">{html.escape(shorten(names[lane], LEFT - 12))}</text>')
        y += depth * ROW + GAP
        parts.append(f'<line x1="0" y1="{y - GAP / 2:g}" x2="{WIDTH}" y2="{y - GAP / 2:g}" stroke="#e0e0e0"/>')
    parts[:0] = axis(end - begin, scale, y)
    for bar in slices:
        parts.append(picture_of(bar, LEFT + (bar.begin - begin) * scale, tops[bar.lane] + bar.depth * ROW, scale))
    for arrow in arrows:
        x1, x2 = (LEFT + (time - begin) * scale for time in (arrow.time, arrow.to_time))
        y1, y2 = bottom_of(arrow, slices, tops), tops[arrow.to_lane]
        bend = max(12.0, (x2 - x1) / 2)
        path = f"M{x1:.1f} {y1:.1f} C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2 + 2:.1f}"
        parts.append(f'<path d="{path}" fill="none" stroke="#8a6d3b" stroke-opacity="0.55" marker-end="url(#head)"/>')
    parts += legend(slices, y + 16)
    return page(parts, y + 30)


def shorten(text: str, width: float) -> str:
    """As much of a text as fits; nothing where not even three letters do."""
    letters = int(width / LETTER)
    if len(text) <= letters:
        return text
    return text[: letters - 1] + "…" if letters > 3 else ""


def picture_of(bar: Slice, x: float, y: float, scale: float) -> str:
    """A bar with its name, as far as that fits, and its length for who points at it."""
    width = (bar.end - bar.begin) * scale
    colour = COLOURS.get(bar.category, OTHER)[1]
    title = html.escape(f"{bar.name}: {bar.end - bar.begin:.1f} us")
    place = f'x="{x:.2f}" y="{y:g}" width="{max(width, 0.6):.2f}" height="{ROW - 2}"'
    edge = ' stroke="#00000030"' if width > 3 else ""
    rect = f'<rect {place} fill="{colour}"{edge}><title>{title}</title></rect>'
    text = html.escape(shorten(bar.name.removeprefix("autograd::engine::evaluate_function: "), width - 6))
    return rect + (f'<text x="{x + 3:.2f}" y="{y + 13:g}" pointer-events="none">{text}</text>' if text else "")


def bottom_of(arrow: Arrow, slices: Sequence[Slice], tops: dict[tuple[int, int], float]) -> float:
    """Where an arrow leaves: below the innermost bar that it comes from."""
    around = [b.depth for b in slices if b.lane == arrow.lane and b.begin <= arrow.time <= b.end]
    return tops[arrow.lane] + (1 + max(around, default=0)) * ROW - 4


def axis(length: float, scale: float, bottom: float) -> list[str]:
    """Times at round steps, from the picture's begin on."""
    step = next(
        step for step in (10.0**power * digit for power in range(-1, 9) for digit in (1, 2, 5)) if step * scale > 90
    )
    found = []
    for number in range(int(length / step) + 1):
        x, time = LEFT + number * step * scale, number * step
        words = f"{time / 1000:g} ms" if length > 2000 else f"{time:g} us"
        found.append(f'<line x1="{x:.1f}" y1="22" x2="{x:.1f}" y2="{bottom:g}" stroke="#f0f0f0"/>')
        found.append(f'<text x="{x:.1f}" y="16" fill="#666" text-anchor="middle">{words}</text>')
    return found


def legend(slices: Sequence[Slice], y: float) -> list[str]:
    """What the colours mean, of those that are there."""
    there = {COLOURS.get(bar.category, OTHER) for bar in slices}
    found, x = [], float(LEFT)
    for name, colour in dict.fromkeys([*COLOURS.values(), OTHER]):
        if (name, colour) in there:
            found.append(f'<rect x="{x:g}" y="{y - 10:g}" width="12" height="12" fill="{colour}" stroke="#00000030"/>')
            found.append(f'<text x="{x + 17:g}" y="{y:g}" fill="#444">{name}</text>')
            x += 30 + LETTER * len(name)
    return found


def page(parts: Sequence[str], height: float) -> str:
    """The file around what was drawn."""
    size = f'width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}"'
    head = '<marker id="head" markerWidth="6" markerHeight="6" refX="4" refY="3" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Roboto, Arial, sans-serif" font-size="11">',
            f'<defs>{head}<path d="M0 0 L6 3 L0 6 z" fill="#8a6d3b"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--from", dest="label", help="the name of a slice: the picture has what happens during it")
    options = parser.parse_args()
    data = options.trace.read_bytes()
    trace = json.loads(gzip.decompress(data) if options.trace.suffix == ".gz" else data)
    options.picture.write_text(draw(trace, options.label))


if __name__ == "__main__":
    main()
