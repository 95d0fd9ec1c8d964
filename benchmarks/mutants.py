"""``python -m benchmarks.mutants``: a hundred thousand mutants of YAML files, each through the commands.

The files are our own declarations and PyTorch's. What must hold is in ``soundness.py``. A mutant is made from the seed
and its number alone: ``--only N`` runs one again. The mutants that broke a rule are kept in ``build/mutants``.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import re
import resource
import sys
import textwrap
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks.corpus import packaged
from benchmarks.mutation import mutant
from benchmarks.report import REPORT, write_section
from benchmarks.soundness import Outcome, check_ours, check_torch, guarded, sandbox

ROOT = Path(__file__).resolve().parents[1]
BATCH = 200
MEMORY = 512 << 20  # bytes beyond what a process has when it starts: some ten thousand times a mutant's length
KINDS = ("our entries", "our files", "PyTorch's entries")
_AROUND = re.compile(r"^  (?:structured_delegate|autogen):.*\n", re.MULTILINE)  # names of entries that are not there


@dataclass
class Tally:
    """What became of the mutants of one kind; memory is in MiB."""

    mutants: int = 0
    accepted: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: float = 0.0

    def add(self, outcome: Outcome, seconds: float) -> None:
        """Count one mutant."""
        self.mutants += 1
        self.accepted += outcome.accepted
        self.codes.update(outcome.codes)
        self.slowest = max(self.slowest, seconds)

    def merge(self, other: Tally) -> None:
        """Count those of another process."""
        self.mutants += other.mutants
        self.accepted += other.accepted
        self.codes.update(other.codes)
        self.slowest = max(self.slowest, other.slowest)
        self.memory = max(self.memory, other.memory)


@dataclass
class Batch:
    """The tallies of some mutants by kind, and what broke a rule: number, and why."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    broken: list[tuple[int, str]] = field(default_factory=list)


# ---------------------------------------------------------------- files to start from


@cache
def our_files() -> tuple[str, ...]:
    """The files of our own that have operators in them."""
    folders = ("ops_yaml", "examples", "tests/codegen")
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.yaml"))]
    return tuple(path.read_text("utf-8") for path in paths)


@cache
def our_entries() -> tuple[str, ...]:
    """Each entry of those files as a file: what is changed then matters."""
    found = []
    for text in our_files():
        head, *entries = re.split(r"^(?=- func: )", text, flags=re.MULTILINE)
        found += [head + entry for entry in entries]
    return tuple(found)


@cache
def torch_entries() -> tuple[tuple[str, str], ...]:
    """Operators of native_functions.yaml with their gradients, those that can be imported alone."""
    root = packaged()
    native = (root / "ATen/native/native_functions.yaml").read_text("utf-8")
    derivatives = (root / "autograd/derivatives.yaml").read_text("utf-8")
    functions = {_name(text): _AROUND.sub("", text) for text in _entries(native, "func")}
    pairs = [(functions[_name(text)], text) for text in _entries(derivatives, "name") if _name(text) in functions]
    return tuple(pair for pair in pairs if _can_be_imported(*pair))


def _can_be_imported(native: str, derivatives: str) -> bool:
    with sandbox() as folder:
        return check_torch(native.encode(), derivatives.encode(), folder).accepted


def _entries(text: str, key: str) -> list[str]:
    return re.split(rf"^(?=- {key}: )", text, flags=re.MULTILINE)[1:]


def _name(entry: str) -> str:
    return re.split(r"[:(]\s*", entry, maxsplit=2)[1]


# ---------------------------------------------------------------- one mutant


def kind_of(number: int) -> str:
    """Mutants of whole files are slow, and there are few."""
    return KINDS[1] if number % 50 == 0 else KINDS[2] if number % 3 == 0 else KINDS[0]


def texts_of(seed: int, number: int) -> tuple[str, list[bytes], random.Random]:
    """A mutant: its kind, its file or its two files, and the random numbers that come next."""
    rng = random.Random(f"{seed}:{number}")
    kind = kind_of(number)
    if kind != KINDS[2]:
        return kind, [mutant(our_files() if kind == KINDS[1] else our_entries(), rng)], rng
    chosen = rng.sample(torch_entries(), 2)
    native, derivatives = ("".join(texts) for texts in zip(*chosen, strict=True))
    which = rng.choice("ndb")
    return (
        kind,
        [
            mutant([native], rng) if which in "nb" else native.encode(),
            mutant([derivatives], rng) if which in "db" else derivatives.encode(),
        ],
        rng,
    )


def check(seed: int, number: int) -> tuple[str, Outcome]:
    """Run the commands on one mutant. Raises UnsoundError, or whatever a command raised."""
    kind, texts, rng = texts_of(seed, number)
    with sandbox() as folder, guarded(folder):
        if kind == KINDS[2]:
            return kind, check_torch(texts[0], texts[1], folder)
        return kind, check_ours(texts[0], folder, rng.randrange(6))


def run_batch(seed: int, numbers: range) -> Batch:
    """Run some mutants in this process."""
    faulthandler.dump_traceback_later(600, exit=True)  # a hang where no signal is looked at
    batch = Batch()
    for number in numbers:
        started = time.process_time()
        try:
            kind, outcome = check(seed, number)
        except Exception:  # whatever it is, it is what the run looks for
            batch.broken.append((number, traceback.format_exc(limit=-3)))
            continue
        batch.tallies.setdefault(kind, Tally()).add(outcome, time.process_time() - started)
    for tally in batch.tallies.values():
        tally.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    faulthandler.cancel_dump_traceback_later()
    return batch


def start_process() -> None:
    """Bound this process's memory: more is a MemoryError, which is a traceback."""
    our_entries(), torch_entries()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


# ---------------------------------------------------------------- all mutants


def run_all(seed: int, count: int, jobs: int, console: Console) -> Batch:
    """Run all mutants in ``jobs`` processes, with a line of progress."""
    total = Batch()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as progress, ProcessPoolExecutor(jobs, initializer=start_process) as pool:
        task = progress.add_task("mutants", total=count)
        starts = range(0, count, BATCH)
        running = [pool.submit(run_batch, seed, range(start, min(count, start + BATCH))) for start in starts]
        for future in as_completed(running):
            batch = future.result()
            for kind, tally in batch.tallies.items():
                total.tallies.setdefault(kind, Tally()).merge(tally)
            total.broken += batch.broken
            for number, why in batch.broken:
                progress.console.print(f"mutant {number}: {why.splitlines()[-1]}", markup=False)
            progress.advance(task, sum(t.mutants for t in batch.tallies.values()) + len(batch.broken))
    return total


def keep(seed: int, broken: list[tuple[int, str]], folder: Path) -> None:
    """Leave the mutants that broke a rule where one can look at them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, why in broken:
        _, texts, _ = texts_of(seed, number)
        for i, data in enumerate(texts):
            (folder / f"{seed}-{number}-{i}.yaml").write_bytes(data)
        (folder / f"{seed}-{number}.txt").write_text(why)


COLUMNS = ("mutants of", "mutants", "accepted", "with findings", "codes", "slowest", "memory", "broken rules")


def rows(total: Batch) -> Iterator[tuple[str, ...]]:
    """The table, a row a kind."""
    broken = Counter(kind_of(number) for number, _ in total.broken)
    for kind in KINDS:
        tally = total.tallies.get(kind, Tally())
        yield (
            kind,
            f"{tally.mutants + broken[kind]:,}",
            f"{tally.accepted:,}",
            f"{tally.mutants - tally.accepted:,}",
            str(len(tally.codes)),
            f"{tally.slowest:.2f} s",
            f"{tally.memory:.0f} MiB",
            str(broken[kind]),
        )


def main() -> int:
    """Run, show the table, and write it; the exit status says whether a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description="Mutants of YAML files.")
    parser.add_argument("--count", type=int, default=100_000, help="how many (default: 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="what they are made from (default: 0)")
    parser.add_argument("--only", type=int, metavar="N", help="one mutant, with its traceback")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default: the cores)")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md as it is")
    options = parser.parse_args()
    if options.only is not None:
        for data in texts_of(options.seed, options.only)[1]:
            sys.stdout.buffer.write(data + b"\n----\n")
        print(check(options.seed, options.only))
        return 0
    console = Console()
    started = time.perf_counter()
    total = run_all(options.seed, options.count, options.jobs, console)
    took = time.perf_counter() - started
    table = Table(
        *COLUMNS, title=f"{options.count:,} mutants in {took:.0f} s, seed {options.seed}", title_justify="left"
    )
    for row in rows(total):
        table.add_row(*row)
    console.print(table)
    if total.broken:
        keep(options.seed, total.broken, ROOT / "build/mutants")
    if not options.no_write:
        write_section("Mutants", section(options, took, list(rows(total))), REPORT)
    return 1 if total.broken else 0


def section(options: argparse.Namespace, took: float, table: list[tuple[str, ...]]) -> str:
    """What docs/benchmarks.md says."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *table]
    text = (
        f"{options.count:,} files, made from valid ones by changing bytes, characters, words, lines and trees, each "
        "through `generate` for two targets, `check`, and `fmt`, `lint` or `list`; PyTorch's through `import` and "
        "`generate`. A rule is broken by a traceback, a hang, memory that is not linear, a finding without a place in "
        "the file, output outside its folder, generated code that does not compile or names something undefined, and "
        f"code of the file's that is run. Run by `python -m benchmarks.mutants --seed {options.seed}` in {took:.0f} s "
        f"with {options.jobs} processes."
    )
    shown = "\n".join(f"| {' | '.join(row)} |" for row in lines)
    return f"{textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)}\n\n{shown}\n"


if __name__ == "__main__":
    sys.exit(main())
