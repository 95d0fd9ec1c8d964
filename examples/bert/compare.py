"""Trains the example's BERT three ways: as it is, with the fused operator, and by PyTorch if it is installed.

They take turns, some steps each, so that what else the machine does meets all of them; a table compares them, and their
losses are drawn over one another.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

HERE = Path(__file__).resolve().parent
PART = 25  # steps that one run takes before it is the next one's turn
WAYS = {"mindtorch_v2": [], "fused operator": ["--fused"], "PyTorch": ["--torch"]}


@dataclass
class Run:
    """What a way of training came to."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    held_out: float = 0.0


def take_steps(way: str, run: Run, until: int, device: str, folder: Path) -> None:
    """Lets one way go on until a step."""
    told = folder / f"{way}.json"
    state = ["--resume", "--checkpoint", str(folder / f"{way}.pt"), "--steps", str(until), "--losses", str(told)]
    where = [] if way == "PyTorch" else ["--device", device]
    command = [sys.executable, str(HERE / "train.py"), *state, *where, *WAYS[way]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    found = json.loads(told.read_text("utf-8"))
    run.losses, run.held_out = found["losses"], found["held_out"]
    run.seconds += found["seconds"][2:]  # the first ones of a process start what is started once


def draw(runs: dict[str, Run], path: Path) -> None:
    """The losses of all runs over one another."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), constrained_layout=True)
    for (way, run), style in zip(runs.items(), ("-", "--", ":"), strict=False):
        axes.plot(run.losses, style, label=way, linewidth=1.6)
    axes.set(xlabel="step", ylabel="loss of the hidden tokens", title="BERT, masked language modelling")
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: compare.py --steps 200 --picture curve.png")
    parser.add_argument("--steps", type=int, default=200, help="of each way (default 200)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "npu"], help="of the first two")
    parser.add_argument("--picture", type=Path, metavar="PNG", help="where the losses are drawn (needs matplotlib)")
    options = parser.parse_args()
    there = importlib.util.find_spec("torch") is not None
    runs = {way: Run() for way in WAYS if way != "PyTorch" or there}
    console = Console()
    with tempfile.TemporaryDirectory() as folder, Progress(console=console) as progress:
        bar = progress.add_task("training", total=options.steps * len(runs))
        for until in range(PART, options.steps + PART, PART):
            for way, run in runs.items():
                progress.update(bar, description=way)
                take_steps(way, run, min(until, options.steps), options.device, Path(folder))
                progress.update(bar, completed=sum(len(other.losses) for other in runs.values()))
    table = Table(
        "",
        "last loss",
        "loss of text held out",
        "a step, median",
        "of the first's time",
        "largest difference of a loss",
    )
    first = next(iter(runs.values()))
    for way, run in runs.items():
        step, base = statistics.median(run.seconds), statistics.median(first.seconds)
        apart = max(abs(a - b) for a, b in zip(run.losses, first.losses, strict=True))
        cells = (
            f"{run.losses[-1]:.4f}",
            f"{run.held_out:.4f}",
            f"{step * 1e3:.1f} ms",
            f"{step / base:.2f}",
            f"{apart:.1e}",
        )
        table.add_row(way, *cells)
    console.print(table)
    steps = {way: statistics.median(run.seconds) for way, run in runs.items()}
    saved = steps["mindtorch_v2"] - steps["fused operator"]
    console.print(
        f"The operator of ops.yaml saves {saved * 1e3:.1f} ms of {steps['mindtorch_v2'] * 1e3:.1f} ms a step."
    )
    if options.picture:
        draw(runs, options.picture)
        console.print(f"drew {options.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
