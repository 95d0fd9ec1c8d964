"""Models as users have them, beside PyTorch: BERT, GPT-2, a ResNet and a DataLoader, two threads each.

``python -m benchmarks.model_times [TEXT]`` shows the table of the workloads whose name has the text in it. Both sides
take turns, each in a process of its own (`benchmarks.model_workloads`). transformers is what `benchmarks.models` uses.
"""

from __future__ import annotations

import argparse
import os
import statistics

from rich.console import Console

from benchmarks import models, report
from benchmarks.contestant import Contestant
from benchmarks.model_workloads import WORKLOADS
from benchmarks.report import Result, mebibytes

THREADS, ROUNDS = 2, 7
LIMITS = dict(zip(WORKLOADS, (0.6, 0.6, 0.6, 0.8, 1.0, 1.1), strict=True))
BASE = next(iter(WORKLOADS))  # whose memory is measured, and its time outside of kernels
OUTSIDE = 0.03
TEXT = """Wall seconds with two threads, of the round whose ratio is the median, each side in a process of its own.
Written by `python -m benchmarks.model_times --write`."""


def environment() -> dict[str, str]:
    """Of the child processes: with transformers in reach."""
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "PYTHONWARNINGS": "ignore"}
    paths = [str(models.environment()), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, **quiet, "PYTHONPATH": os.pathsep.join(paths)}


def measured(name: str, env: dict[str, str]) -> list[Result]:
    """A workload, in two new processes: what the round whose ratio is the median took."""
    module = "benchmarks.model_workloads"
    with (
        Contestant(module, str(THREADS), "--here", environment=env, cores=THREADS) as ours,
        Contestant(module, str(THREADS), environment=env, cores=THREADS) as peer,
    ):
        for side in (ours, peer):
            side.measure(name)
        pairs = sorted(
            ((ours.measure(name), peer.measure(name)) for _ in range(ROUNDS)), key=lambda pair: pair[0] / pair[1]
        )
        found = [Result(name, *pairs[ROUNDS // 2], "torch", LIMITS[name])]
        if name == BASE:
            most, peers = (side.measure("memory") / 2**20 for side in (ours, peer))
            found.append(Result(f"peak memory: {name}", most, peers, "torch", 1.0, mebibytes))
            share = statistics.median(ours.measure(f"outside {name}") for _ in range(3))
            found.append(Result(f"outside of kernels: {name}", share, None, "", OUTSIDE, "{:.1%}".format))
    return found


def main() -> None:
    """Shows the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model_times", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("text", nargs="?", default="", help="the workloads whose names contain this")
    parser.add_argument("--write", action="store_true", help="all of them, into docs/benchmarks.md")
    options = parser.parse_args()
    env = environment()
    found = [result for name in WORKLOADS if options.text in name for result in measured(name, env)]
    report.show(found, Console(width=140))
    if options.write and not options.text:
        report.write_results("Models", TEXT, found, report.REPORT)


if __name__ == "__main__":
    main()
