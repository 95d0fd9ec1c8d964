"""Tables of many calls beside PyTorch: both sides in processes of their own, a row of the report for each group."""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.report import REPORT, Result, duration, number, write_results

__all__ = ["LIMIT", "Call", "ManyCalls"]

Call = Callable[[], object]
TURN, MOST, ROUNDS = 0.03, 20, 3  # seconds of a turn, calls of one, and turns of either side
LIMIT = 1.5


@dataclass(frozen=True)
class ManyCalls:
    """Calls whose names begin with their group. ``made`` gives a side its calls by name, on data drawn alike."""

    module: str  # that is run as a program
    section: str  # of docs/benchmarks.md
    text: str
    example: str  # of what names contain
    groups: tuple[str, ...]
    names: Callable[[Any], Iterable[str]]
    made: Callable[[Any], Callable[[str], Call]]

    def serve(self, module: str, threads: int) -> None:
        """The child process of a side: answers each line with the seconds of a call, NaN where there is no such."""
        warnings.simplefilter("ignore")
        torch = importlib.import_module(module)
        torch.set_num_threads(threads)
        call = self.made(torch)
        for line in sys.stdin:
            try:
                print(_least(call(line.rstrip("\n"))), flush=True)
            except (RuntimeError, NotImplementedError, TypeError, ValueError):
                print(math.nan, flush=True)

    def compare(self, threads: int, text: str) -> Iterator[tuple[str, float, float]]:
        """Each call with the seconds of either side, of the turn of the median ratio; but those that a side refuses."""
        arguments = (self.module, "--threads", str(threads), "--serve")
        with (
            Contestant(*arguments, "mindtorch_v2", cores=threads) as ours,
            Contestant(*arguments, "torch", cores=threads) as peer,
        ):
            for call in self.names(importlib.import_module("mindtorch_v2")):
                if text not in call:
                    continue
                found = [(ours.measure(call), peer.measure(call)) for _ in range(ROUNDS)]
                if not any(math.isnan(figure) for turn in found for figure in turn):
                    yield call, *sorted(found, key=lambda turn: turn[0] / turn[1])[ROUNDS // 2]

    def results(self, measured: list[tuple[str, float, float]]) -> list[Result]:
        """A row a group, and all together."""
        found = []
        for group in (*self.groups, ""):
            rows = [(ours, peer) for name, ours, peer in measured if name.startswith(group)]
            if not rows:
                continue
            ours, peer = (statistics.geometric_mean(side) for side in zip(*rows, strict=True))
            slow = sum(a / b > LIMIT for a, b in rows)
            what = f"{group or 'all'}: {len(rows)} calls, {slow} of them above {LIMIT}"
            found.append(Result(what, ours, peer, "torch", None))
        return found

    def main(self, description: str) -> None:
        """Prints the calls that are asked for."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=description)
        parser.add_argument(
            "text", nargs="?", default="", help=f"the calls whose names contain this, such as '{self.example}'"
        )
        parser.add_argument("--threads", type=int, default=1)
        parser.add_argument("--write", action="store_true", help="all of it, into docs/benchmarks.md")
        parser.add_argument("--serve", metavar="MODULE", help="answer names of calls with seconds of this module's")
        options = parser.parse_args()
        if options.serve:
            self.serve(options.serve, options.threads)
            return
        measured = list(self.compare(options.threads, options.text))
        for name, ours, peer in sorted(measured, key=lambda row: row[1] / row[2]):
            print(f"{name:44}{duration(ours):>9}{duration(peer):>9}{ours / peer:7.2f}")
        for row in self.results(measured):
            print(f"{row.what:52}{number(row.measured):>7}")
        if options.write:
            write_results(self.section, self.text, self.results(measured), REPORT)


def _least(call: Call) -> float:
    """Seconds of the fastest of some calls."""
    call()
    found: list[float] = []
    began = time.perf_counter()
    while not found or (len(found) < MOST and time.perf_counter() - began < TURN):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)
