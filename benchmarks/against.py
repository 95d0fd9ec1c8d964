"""``python -m benchmarks.against REVISION``: what calls cost, beside what they cost at another revision.

Both trees are built alike and take turns on one core. A figure is the least of all turns, over several processes: what
disturbs a call only makes it dearer, and a process may have bad luck with its addresses for as long as it lives. On a
machine that others use ``--instructions`` decides, which counts them by Valgrind's callgrind. The status is 1 where a
case is dearer by more than ``--limit`` per cent.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.autograd_calls import in_bytes
from benchmarks.calls import CASES, MEMORY
from benchmarks.contestant import Contestant
from benchmarks.report import REPORT, duration, write_section

__all__ = ["Comparison", "export", "least", "main"]

ROOT = Path(__file__).resolve().parents[1]
PROCESSES, ROUNDS = 3, 5
SECTION = "Against an earlier commit"
PADDING = 1_000  # objects more in the memory of each further process


@dataclass(frozen=True)
class Comparison:
    """A case at both revisions, in seconds, instructions or bytes."""

    case: str
    before: float
    now: float

    @property
    def ratio(self) -> float:
        """How many times what it was."""
        return self.now / self.before

    def is_worse(self, limit: float) -> bool:
        """Whether it is more than ``limit`` per cent dearer."""
        return self.ratio > 1 + limit / 100

    def cells(self, counted: bool) -> tuple[str, ...]:
        """The row of the table."""
        if self.case in MEMORY:
            return self.case, in_bytes(self.before), in_bytes(self.now), f"{self.ratio:.3f}"
        shown = (lambda figure: f"{figure:,.0f}") if counted else duration
        return self.case, shown(self.before), shown(self.now), f"{self.ratio:.3f}"


def least(turns: Iterable[Mapping[str, tuple[float, float]]]) -> list[Comparison]:
    """Of all turns the least figure of each side."""
    found: dict[str, tuple[float, float]] = {}
    for turn in turns:
        for case, (before, now) in turn.items():
            earlier = found.get(case, (before, now))
            found[case] = min(before, earlier[0]), min(now, earlier[1])
    return [Comparison(case, before, now) for case, (before, now) in found.items()]


def export(revision: str, folder: Path, repository: Path = ROOT) -> Path:
    """The tree of a revision in a folder of its own below ``folder``, where it stays for the next time."""
    name = f"{revision}^{{commit}}"
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", name], cwd=repository, capture_output=True, text=True
    )
    if found.returncode != 0:
        raise SystemExit(f"{revision!r} is no revision of {repository}")
    tree = folder / found.stdout[:12]
    if not tree.exists():
        packed = subprocess.run(
            ["git", "archive", found.stdout.strip()], cwd=repository, capture_output=True, check=True
        )
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = tempfile.mkdtemp(dir=folder)
        subprocess.run(["tar", "-x", "-C", unfinished], input=packed.stdout, check=True)
        Path(unfinished).rename(tree)
    return tree


def build(tree: Path) -> None:
    """Compiles a tree in place."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    command = ["make", "--silent", "core", f"PYTHON={sys.executable}"]
    built = subprocess.run(command, cwd=tree, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if built.returncode != 0:
        raise SystemExit(f"{tree} cannot be built:\n{built.stdout[-2000:]}{built.stderr[-2000:]}")


class Side:
    """One tree's processes."""

    def __init__(self, tree: Path, folder: str, counted: bool) -> None:
        self._tree, self._folder, self._counted = tree, folder, counted

    def process(self, padding: int) -> Contestant:
        """A new process that measures calls."""
        kind, under, dumps = "time", [], f"{self._folder}/{self._tree.name}.{padding}"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # the cases are those of this tree on both sides
        if self._counted:
            kind = "instructions"
            under = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={dumps}"]
            environment |= {"PYTHONHASHSEED": "0", "MINDTORCH_CACHE_DIR": f"{self._folder}/kernels"}
            if platform.machine() == "x86_64":  # Valgrind has no AVX-512; kernels are built for the machine
                environment |= {"CC": "cc -mno-avx512f", "CXX": "c++ -mno-avx512f"}
        arguments = (str(self._tree), kind, str(padding), dumps)
        return Contestant("benchmarks.calls", *arguments, under=under, environment=environment)

    def node_bytes(self, case: str) -> float:
        """Memory is measured in a fresh process each time."""
        with Side(self._tree, self._folder, False).process(0) as process:
            return process.measure(case)


def turns(
    before: Side, now: Side, cases: Sequence[str], processes: int, rounds: int
) -> Iterable[dict[str, tuple[float, float]]]:
    """The figures of both sides, one turn after the other."""
    calls = [case for case in cases if case not in MEMORY]
    for number in range(processes):
        with before.process(number * PADDING) as first, now.process(number * PADDING) as second:
            for _ in range(rounds):
                yield {case: (first.measure(case), second.measure(case)) for case in calls}
        yield {case: (before.node_bytes(case), now.node_bytes(case)) for case in cases if case in MEMORY}


def show(found: Sequence[Comparison], revision: str, counted: bool, limit: float, console: Console) -> None:
    """Prints the table; what is dearer than allowed is red, and counted below."""
    what = "instructions of a call" if counted else "CPU time of a call"
    table = Table("what", revision, "now", "ratio", title=f"The least {what}", title_justify="left")
    for item in found:
        table.add_row(*map(escape, item.cells(counted)), style="red" if item.is_worse(limit) else None)
    console.print(table)
    worse = sum(item.is_worse(limit) for item in found)
    console.print(f"{worse} of {len(found)} are worse by more than {limit:g} %")


def text(found: Sequence[Comparison], revision: str, counted: bool) -> str:
    """The table as Markdown, with the command it comes from."""
    command = f"python -m benchmarks.against {revision}{' --instructions' if counted else ''}"
    what = "instructions" if counted else "CPU time"
    rows = [("what", revision, "now", "ratio"), ("---",) * 4, *(item.cells(counted) for item in found)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        f"The least {what} of a call on 4×4 tensors, of several processes in turn, at an earlier commit and now "
        f"(`benchmarks/calls.py`).\nWritten by `{command} --write`.\n\n{table}\n"
    )


def main() -> None:
    """Builds, measures and reports."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.against", description="Calls, beside another revision's."
    )
    parser.add_argument("revision", help="what to compare with: a commit, branch or tag")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions (needs Valgrind) instead of time"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases whose names contain this")
    parser.add_argument("--limit", type=float, default=3.0, metavar="PERCENT", help="how much dearer is allowed (3)")
    parser.add_argument(
        "--processes", type=int, default=PROCESSES, help=f"of each side, one after the other ({PROCESSES})"
    )
    parser.add_argument(
        "--rounds", type=int, default=0, help=f"of each pair of processes ({ROUNDS}; 1 with --instructions)"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    cases = [case for case in (*CASES, *MEMORY) if options.only in case]
    if not cases:
        parser.error(f"no case has {options.only!r} in its name: there are {', '.join((*CASES, *MEMORY))}")
    if options.instructions and shutil.which("valgrind") is None:
        parser.error("--instructions needs valgrind (Debian: apt-get install valgrind)")
    console = Console() if sys.stdout.isatty() else Console(width=100)
    tree = export(options.revision, ROOT / "build/against")
    for place in (tree, ROOT):
        with console.status(f"building {place}"):
            build(place)
    with tempfile.TemporaryDirectory() as folder, console.status("measuring"):
        sides = [Side(place, folder, options.instructions) for place in (tree, ROOT)]
        rounds = options.rounds or (1 if options.instructions else ROUNDS)
        found = least(turns(sides[0], sides[1], cases, options.processes, rounds))
    show(found, options.revision, options.instructions, options.limit, console)
    if options.write:
        write_section(SECTION, text(found, options.revision, options.instructions), REPORT)
    raise SystemExit(any(item.is_worse(options.limit) for item in found))


if __name__ == "__main__":
    main()
