"""``python -m benchmarks.fuzz --seed 0``: calls of everything public with odd arguments, beside PyTorch."""

from __future__ import annotations

import argparse
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import sanitized
from benchmarks.fuzz.arguments import Pool, draw
from benchmarks.fuzz.pair import ROOT, Limits, WorkerError
from benchmarks.fuzz.report import Totals, section, text_of
from benchmarks.fuzz.search import BATCH, Lane
from benchmarks.report import REPORT, write_section

__all__ = ["main"]

EXAMPLES = """\
examples:
  python -m benchmarks.fuzz --seed 0                  200,000 calls
  python -m benchmarks.fuzz --seed 0 --sanitized      the same, under AddressSanitizer and UndefinedBehaviorSanitizer
  python -m benchmarks.fuzz --against nothing         the same, for what ends a process or does not end alone: faster
  python -m benchmarks.fuzz --seed 0 --only 1234      one of them again, and what came of it
  python -m benchmarks.fuzz --seed 1 --match relu     calls of what has `relu` in its name

exit status: 0 no finding, 1 findings, 2 usage, or the search could not run"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz",
        description="Calls everything public of mindtorch_v2 with odd arguments, and compares with PyTorch.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--seed", type=int, default=0, help="what calls are drawn from (default: 0)")
    result.add_argument("--count", type=int, default=200_000, help="how many calls (default: 200,000)")
    result.add_argument("--start", type=int, default=0, metavar="N", help="the number of the first (default: 0)")
    result.add_argument("--only", type=int, metavar="N", help="the call of that number, and what came of it")
    result.add_argument("--match", default="", metavar="TEXT", help="draw only from what has this in its name")
    result.add_argument(
        "--processes", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
        help="calls that are made at a time (default: the cores)",
    )  # fmt: skip
    result.add_argument(
        "--against", choices=("torch", "nothing"), default="torch",
        help="compare with PyTorch, or look only for crashes, hangs and a sanitizer's reports (default: torch)",
    )  # fmt: skip
    result.add_argument("--sanitized", action="store_true", help="build the core with sanitizers, and call that")
    result.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after so many seconds")
    result.add_argument("--tries", type=int, default=80, help="calls to make a finding smaller (default: 80)")
    result.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md as it is")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit status."""
    options = parser().parse_args(arguments)
    console = Console()
    try:
        stage = sanitized.build(ROOT) if options.sanitized else None
        lane = Lane(Limits(), stage, options.tries, alone=options.against == "nothing")
        try:
            targets = [target for target in lane.find_targets() if options.match in target.name]
            if not targets:
                console.print(f"nothing has {options.match!r} in its name", markup=False)
                return 2
            if options.only is not None:
                return run_one(lane, Pool(targets), options.seed, options.only, console)
            return run_all(Pool(targets), options, stage, console)
        finally:
            lane.close()
    except (sanitized.BuildError, WorkerError) as error:
        console.print(str(error), markup=False)
        return 2


def run_one(lane: Lane, pool: Pool, seed: int, number: int, console: Console) -> int:
    """Make one call again, and show it, what came of it, and what it can be cut down to."""
    call = draw(pool, seed, number)
    ours, theirs = lane.outcomes(call)
    console.print(f"{call.source()}\n\nours: {ours}\n\nPyTorch: {theirs}", markup=False, highlight=False)
    found = lane.found(number, call, ours, theirs, set())
    if found is None:
        return 0
    console.print(f"\n{text_of(found)}", markup=False, highlight=False)
    return 1


class _Run:
    """All calls, by several lanes: each a thread that waits for its processes."""

    def __init__(self, pool: Pool, options: argparse.Namespace, progress: Progress) -> None:
        self.pool, self.options, self.progress = pool, options, progress
        self.totals = Totals()
        self.started = time.monotonic()
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[range] = queue.SimpleQueue()
        self._errors: list[WorkerError] = []
        last = options.start + options.count
        for start in range(options.start, last, BATCH):
            self._work.put(range(start, min(last, start + BATCH)))
        self._task = progress.add_task("calls", total=options.count)

    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.started

    def work(self, lane: Lane) -> None:
        """Make calls for as long as there are some and time is left."""
        try:
            while self.seconds() < self.options.seconds and not self._errors:
                try:
                    numbers = self._work.get_nowait()
                except queue.Empty:
                    break
                for found in lane.run(self.pool, self.options.seed, numbers, self._seen):
                    with self._lock:
                        if self.totals.add(found):
                            self._show(f"{text_of(found)}\n")
                with self._lock:
                    self.totals.calls += len(numbers)
                self.progress.advance(self._task, len(numbers))
        except WorkerError as error:
            self._errors.append(error)
        finally:
            lane.close()

    def _show(self, text: str) -> None:
        self.progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def run(self, lanes: Sequence[Lane]) -> None:
        """Until the last lane has ended."""
        threads = [threading.Thread(target=self.work, args=(lane,), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]


def run_all(pool: Pool, options: argparse.Namespace, stage: Path | None, console: Console) -> int:
    """Make all calls; the first finding of each group is shown as it comes, the groups at the end."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        run = _Run(pool, options, progress)
        alone = options.against == "nothing"
        run.run([Lane(Limits(), stage, options.tries, alone=alone) for _ in range(options.processes)])
    took = run.seconds()
    for line in (*run.totals.lines(), run.totals.summary(took)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not options.no_write and run.totals.calls == options.count and not options.match:
        alone = options.against == "nothing"
        flags = f"{' --sanitized' if options.sanitized else ''}{' --against nothing' if alone else ''}"
        command = f"python -m benchmarks.fuzz --seed {options.seed} --count {options.count}{flags}"
        title = f"Fuzz{', sanitized' if options.sanitized else ''}{', ends of processes' if alone else ''}"
        write_section(title, section(run.totals, took, command, options.sanitized, alone), REPORT)
    return 1 if run.totals.groups else 0


if __name__ == "__main__":
    sys.exit(main())
