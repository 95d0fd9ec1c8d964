"""A figure beside its peer and its target, as a table on the screen and in ``docs/benchmarks.md``."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

REPORT = Path(__file__).resolve().parents[1] / "docs/benchmarks.md"
COLUMNS = ("what", "ours", "peer", "the peer is", "ratio", "target", "met")


@dataclass(frozen=True)
class Result:
    """One figure. Times are in seconds; ``limit`` bounds ours / peer, or ours itself where there is no peer.

    ``shown`` writes a figure, where that is not a time.
    """

    what: str
    ours: float
    peer: float | None
    peer_is: str
    limit: float | None
    shown: Callable[[float], str] | None = None

    @property
    def measured(self) -> float:
        """What ``limit`` bounds."""
        return self.ours if self.peer is None else self.ours / self.peer

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        shown = self.shown or duration
        if self.limit is None:
            target, met = "", ""
        else:
            target = f"≤ {shown(self.limit)}" if self.peer is None else f"≤ {fraction(self.limit)}"
            met = "yes" if self.measured <= self.limit else "no"
        ratio = "" if self.peer is None else fraction(self.ours / self.peer)
        peer = "" if self.peer is None else shown(self.peer)
        return self.what, shown(self.ours), peer, self.peer_is, ratio, target, met


def fraction(ratio: float) -> str:
    """A ratio as one reads it: ``1/8.69``, or ``0.91`` where it is not far from one."""
    return f"1/{1 / ratio:.3g}" if ratio < 0.5 else f"{ratio:.2g}"


def mebibytes(figure: float) -> str:
    """Memory as one reads it."""
    return f"{figure:.0f} MiB"


def number(figure: float) -> str:
    """A figure without a unit."""
    return f"{figure:.3g}"


def duration(seconds: float) -> str:
    """A time with three significant digits and its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def show(results: Sequence[Result], console: Console) -> None:
    """Prints the table."""
    table = Table(*COLUMNS, title="Medians of interleaved rounds", title_justify="left")
    for result in results:
        style = "red" if result.cells()[-1] == "no" else None
        table.add_row(*map(escape, result.cells()), style=style)
    console.print(table)


def write(results: Sequence[Result], path: Path) -> None:
    """Writes the table as Markdown, with the machine and the command it comes from; sections below it stay."""
    known = path.read_text() if path.exists() else ""
    sections = known[known.find("\n## ") :] if "\n## " in known else ""
    path.write_text(
        f"""# Benchmarks

Written by `python -m benchmarks` (or `make bench`), which shows the same table. Every figure is the median of rounds in
which the contestants took turns in one run, or, for calls and gradients beside PyTorch, of the round whose ratio is the
median, on one core; calls are thread CPU time, start-up is wall time. A ratio is ours / peer.

{_table(results)}

Operator calls are `fused::scaled_add` of `examples/scaled_add` on 4×4 float32 CPU tensors. The peer is
`torch.library.custom_op` whose Python body reaches the same C kernel through ctypes, in a process of its own.
`Function.apply` multiplies two such tensors and saves both; a chain applies one operator over and over to one, and a
node's memory is what the resident set of a fresh process grows by while the chain is recorded: node, edges, and what it
keeps alive (`benchmarks/autograd_calls.py`; the passes are process CPU time). What makes, reads, views, copies, joins
and reduces small tensors stands there as it is called (`benchmarks/small_calls.py`): `x` and `y` are 4×4 float32, `row`
is 1×4, `turned` transposed, `a` a leaf that requires grad, `one` has no dimensions, `array` is NumPy's, `at` and
`places` are indices. Launches
are of the same example's AscendC kernel, from Python until it is queued on the simulated NPU; the peer is a plain
Python class around ctypes with a cache of symbols (`benchmarks/launch.py`). What a profiler adds is the time of a call
that `torch.profiler.profile` records, less that of the same call without it (`benchmarks/profiled.py`). On the
simulated NPU
(`benchmarks/simulated_npu.py`) times are wall time, but for the launch: a launch and its synchronisation beside a job
handed to a thread and back with a mutex and a condition variable, in the same process; `add` and memcpy for each GiB
read or written, by as many threads as they use by themselves. Graphs of the simulated NPU (`benchmarks/graphs.py`)
are timed in thread CPU time, but for the replay with its kernels, of which most are the kernels: the simulator runs
them on this machine's cores, about 150 ns each; the decoder is that of `examples/graph_decode`.

Machine: {_machine()}.
{sections}"""
    )


def _table(results: Sequence[Result]) -> str:
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(result.cells() for result in results)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _machine() -> str:
    return f"{processor()}, {platform.system()}, CPython {platform.python_version()}, {compiler()}"


def write_results(title: str, text: str, results: Sequence[Result], path: Path) -> None:
    """A section of its own for a table that takes long to measure, and the machine, which may be another one's."""
    write_section(title, f"{text}\n\n{_table(results)}\n\nMachine: {_machine()}.\n", path)


def write_section(title: str, text: str, path: Path) -> None:
    """Puts a section of another command's into the file, in place of the one it has of that title."""
    before, _, rest = path.read_text().partition(f"\n## {title}\n")
    after = rest[rest.find("\n## ") :] if "\n## " in rest else ""
    path.write_text(f"{before}\n## {title}\n\n{text}{after}")


def processor() -> str:
    """The processor's name and the number of cores this process may use."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def compiler() -> str:
    """The first line of what the C compiler says of itself."""
    return subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
