"""A profile of kernels on the simulated NPU: what each pipe of each core did, and an estimate of when.

The simulator knows no time. A checked kernel records its instructions and what orders them; a model of the Ascend
910B's core, the tables below, says how long each would take, and the pipes' waits for each other say when it could
begin. It is an estimate for choosing tile sizes and finding the pipe that holds up the others, and no measurement.
"""

from __future__ import annotations

import ctypes
import html
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import acl, runtime

__all__ = ["CoreProfile", "Interval", "KernelProfile", "PipeProfile", "profile_kernel"]

CLOCK_MHZ = 1850
VECTOR_CORES, CUBE_CORES = 48, 24
# Bytes in a cycle, for one core on its own; cores together share what the memory gives.
BANDWIDTH = {"MTE1": 256, "MTE2": 128, "MTE3": 128, "FIX": 128}
MEMORY_BANDWIDTH = 865  # bytes in a cycle: 1.6 TB/s
# Cycles before the first byte or element, and a vector instruction's for each repeat of 256 bytes.
START = {"S": 1, "V": 14, "M": 16, "MTE1": 32, "MTE2": 200, "MTE3": 200, "FIX": 64}
REPEAT = 1
# Instructions whose repeats take longer.
SLOW = {"Div": 4, "Exp": 4, "Ln": 4, "Sqrt": 4, "Rsqrt": 4, "Reciprocal": 2, "Gather": 8, "Sort32": 8}
# Multiplications in a cycle of the cube unit, by the bits of its operands: 16 x 16 x 16 of 16 bits.
PRODUCTS = {4: 16384, 8: 8192, 16: 4096, 32: 1024}
SCALAR_ACCESS = 8  # cycles of a value that the scalar unit reads or writes
_Recorded = tuple[int, int, int, list[list[str]]]  # a core: block, role, sub-block, events
PIPES = ("S", "MTE2", "MTE1", "M", "V", "FIX", "MTE3")
_ROLES = ("", "cube", "vector")
_COLOURS = dict(zip(PIPES, ("#888", "#4c78a8", "#72b7b2", "#e45756", "#f58518", "#b279a2", "#54a24b"), strict=True))


@dataclass(frozen=True)
class Interval:
    """One instruction: its pipe and name, when it begins and ends in cycles, and its bytes of device memory."""

    pipe: str
    name: str
    start: float
    end: float
    read: int
    written: int


@dataclass(frozen=True)
class PipeProfile:
    """What one pipe of a core did: instructions, cycles in which it was busy, bytes of device memory."""

    instructions: int
    busy: float
    read: int
    written: int


@dataclass(frozen=True)
class CoreProfile:
    """One core's instructions, in the order of its program. ``role`` is empty for a kernel of one kind of core."""

    block: int
    role: str
    sub_block: int
    intervals: tuple[Interval, ...]

    @property
    def cycles(self) -> float:
        """Estimated cycles from the first instruction to the end of the last."""
        return max((interval.end for interval in self.intervals), default=0.0)

    @property
    def pipes(self) -> dict[str, PipeProfile]:
        """The pipes that did something."""
        by_pipe: dict[str, list[Interval]] = defaultdict(list)
        for interval in self.intervals:
            by_pipe[interval.pipe].append(interval)
        return {
            pipe: PipeProfile(
                len(own),
                sum(interval.end - interval.start for interval in own),
                sum(interval.read for interval in own),
                sum(interval.written for interval in own),
            )
            for pipe, own in ((pipe, by_pipe[pipe]) for pipe in (*PIPES, *by_pipe) if pipe in by_pipe)
        }

    def picture(self, width: int = 72) -> str:
        """The pipes as lines of text, a column for ``cycles / width`` cycles: ``#`` busy, ``.`` waiting."""
        scale = width / (self.cycles or 1.0)
        lines = []
        for pipe in self.pipes:
            line = ["."] * width
            for interval in self.intervals:
                if interval.pipe == pipe:
                    first = min(int(interval.start * scale), width - 1)
                    line[first : max(first + 1, min(round(interval.end * scale), width))] = "#" * max(
                        1, min(round(interval.end * scale), width) - first
                    )
            lines.append(f"{pipe:>5} {''.join(line)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class KernelProfile:
    """One launch of a kernel: ``str()`` is a table and a picture of its slowest core."""

    kernel: str
    blocks: int
    cores: tuple[CoreProfile, ...] = field(repr=False)

    @property
    def slowest(self) -> CoreProfile:
        """The core that the launch waits for."""
        return max(self.cores, key=lambda core: core.cycles)

    @property
    def rounds(self) -> int:
        """How often the chip's cores are filled with blocks."""
        cores = CUBE_CORES if any(core.role == "cube" for core in self.cores) else VECTOR_CORES
        return -(-self.blocks // cores)

    @property
    def microseconds(self) -> float:
        """The estimated time of all blocks, without what a launch takes."""
        return self.rounds * self.slowest.cycles / CLOCK_MHZ

    def __str__(self) -> str:
        core = self.slowest
        where = f"block {core.block}" + (f", {core.role} core {core.sub_block}" if core.role else "")
        lines = [
            f"kernel {self.kernel}, {self.blocks} block{'s'[: self.blocks != 1]}: about {core.cycles:.0f} cycles a "
            f"block, {self.microseconds:.2f} us (estimated by a model of the 910B, not measured)",
            f"slowest core: {where}",
            " pipe  instructions  busy cycles   busy      read   written",
        ]
        for pipe, own in core.pipes.items():
            share = own.busy / (core.cycles or 1.0)
            lines.append(
                f"{pipe:>5} {own.instructions:>13} {own.busy:>12.0f} {share:>6.0%} {own.read:>9} {own.written:>9}"
            )
        return "\n".join([*lines, core.picture()])

    def save(self, path: str | Path) -> None:
        """Writes the slowest core's pipes as a picture (SVG), an instruction a bar with its name and cycles."""
        core = self.slowest
        scale = 1000 / (core.cycles or 1.0)
        title = f"{self.kernel}: about {core.cycles:.0f} cycles a block (estimated)"
        rows = list(core.pipes)
        size = f'width="1080" height="{60 + 30 * len(rows)}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
            f'<text x="60" y="20">{html.escape(title)}</text>',
        ]
        for row, pipe in enumerate(rows):
            parts.append(f'<text x="5" y="{50 + 30 * row}">{html.escape(pipe)}</text>')
        for interval in core.intervals:
            row, length = rows.index(interval.pipe), (interval.end - interval.start) * scale
            text = f"{interval.name}: cycles {interval.start:.0f} to {interval.end:.0f}"
            place = f'x="{60 + interval.start * scale:.2f}" y="{35 + 30 * row}"'
            parts.append(
                f'<rect {place} width="{max(length, 0.2):.2f}" height="20" '
                f'fill="{_COLOURS.get(interval.pipe, "#000")}"><title>{html.escape(text)}</title></rect>'
            )
        Path(path).write_text("\n".join([*parts, "</svg>", ""]))


def profile_kernel(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> list[KernelProfile]:
    """Calls ``function`` and profiles the AscendC kernels that it launches on the simulated NPU, a profile a launch.

    The figures are estimates. Raises ``RuntimeError`` on hardware, where kernels are not built for the checker
    (``MINDTORCH_SIM_CHECK=1``), with ``MINDTORCH_SIM_ISOLATE=1``, and where no kernel ran.
    """
    library = acl.library()
    if not library.simulated:
        raise RuntimeError("profile_kernel: the simulated NPU alone estimates; profile hardware with CANN's msprof")
    from . import build  # imported here: most programs build nothing, and it takes a tenth of the runtime's start

    if not build.checking():
        raise RuntimeError(
            "profile_kernel: kernels say what they do where they are built for the checker: set MINDTORCH_SIM_CHECK=1"
        )
    if os.environ.get("MINDTORCH_SIM_ISOLATE") == "1":
        raise RuntimeError(
            "profile_kernel: kernels in processes of their own record nothing: unset MINDTORCH_SIM_ISOLATE"
        )
    simulator = ctypes.CDLL(library.path)
    stop, free = simulator.mtsim_trace_stop, ctypes.CDLL(None).free
    stop.restype, free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    runtime.synchronize()
    simulator.mtsim_trace_start()
    try:
        function(*arguments, **keywords)
        runtime.synchronize()
    finally:
        pointer = stop()
        text = ctypes.string_at(pointer).decode()
        free(pointer)
    profiles = list(read_trace(text))
    if not profiles:
        raise RuntimeError("profile_kernel: no kernel that was built for the checker ran")
    return profiles


def read_trace(text: str) -> Iterator[KernelProfile]:
    """The profiles of what the simulator recorded, launch by launch."""
    launches: dict[int, tuple[str, int, list[_Recorded]]] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "core":
            *numbers, kernel = rest.split(" ", 5)
            launch, blocks, block, role, sub_block = map(int, numbers)
            cores = launches.setdefault(launch, (kernel, blocks, []))[2]
            cores.append((block, role, sub_block, []))
        else:
            cores[-1][3].append([word, *rest.split()])
    for _, (kernel, blocks, recorded) in sorted(launches.items()):
        if any(role for _, role, _, _ in recorded):  # a block that found out what it is, and began anew
            recorded = [core for core in recorded if core[1] != 0]
        active = min(len(recorded), VECTOR_CORES + CUBE_CORES)
        profiles = (
            CoreProfile(block, _ROLES[role], sub_block, tuple(_schedule(events, active)))
            for block, role, sub_block, events in sorted(recorded, key=lambda core: core[:3])
        )
        yield KernelProfile(kernel, blocks, tuple(profiles))


def cycles_of(pipe: str, name: str, moved: int, local: int, products: float, bits: int, active: int) -> float:
    """The model: how long an instruction takes on its pipe while ``active`` cores run."""
    start = START.get(pipe, 1)
    if pipe == "V":
        return start + -(-local // 256) * SLOW.get(name, REPEAT)
    if pipe == "M":
        return start + products / PRODUCTS.get(bits, PRODUCTS[16])
    if pipe == "S":
        return SCALAR_ACCESS if local or moved else start
    rate = BANDWIDTH.get(pipe, 128)
    return start + (moved / min(rate, MEMORY_BANDWIDTH / active) if moved else local / rate)


def _schedule(events: list[list[str]], active: int) -> Iterator[Interval]:
    """When each instruction runs: after those of its pipe and what it waits for, once the scalar unit issued it."""
    now: dict[str, float] = dict.fromkeys((*PIPES, ""), 0.0)
    given: dict[str, float] = defaultdict(float)
    for word, *rest in events:
        if word == "do":
            pipe, name = rest[:2]
            read, written, local = map(int, rest[2:5])
            cycles = cycles_of(pipe, name, read + written, local, float(rest[5]), int(rest[6]), active)
            if pipe != "S":
                now["S"] += START["S"]
            start = max(now[pipe], now["S"])
            now[pipe] = start + cycles
            yield Interval(pipe, name, start, now[pipe], read, written)
        elif word == "give":
            given[rest[1]] = max(now[rest[0]], now["S"])
        elif word == "take":
            now[rest[0]] = max(now[rest[0]], given[rest[1]])
        elif word == "wait":
            now[rest[0]] = max(now[rest[0]], now[rest[1]])
        else:
            now = dict.fromkeys(now, max(now.values()))
