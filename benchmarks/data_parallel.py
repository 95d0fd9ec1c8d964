"""``python -m benchmarks.data_parallel``: two processes on two cores with DDP beside one process on one core.

Both train the same encoder on batches of one size, so that two processes see twice as many samples in a step. In turn,
in each round: one process, then two, which `mindtorch_v2.distributed.run` starts. The figure is how many times as many
samples two train on in a second, by the medians of their steps.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

__all__ = ["main", "step_time", "train"]

WIDTH, LAYERS, LENGTH, WARM_UP = 256, 4, 64, 3


def train(steps: int, batch: int) -> list[float]:
    """Seconds of each step of this process, or of the group that it is in."""
    import mindtorch_v2 as torch
    import mindtorch_v2.distributed as dist
    from mindtorch_v2 import nn

    torch.set_num_threads(1)
    dist.init_process_group()
    torch.manual_seed(dist.get_rank())
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    model: nn.Module = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    if dist.get_world_size() > 1:
        model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(batch, LENGTH, WIDTH)
    taken = []
    for _ in range(WARM_UP + steps):
        begun = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        taken.append(time.perf_counter() - begun)
    dist.destroy_process_group()
    return taken[WARM_UP:]


def step_time(processes: int, core: int | None, steps: int, batch: int, script: Path = Path(__file__)) -> float:
    """The median of a step, in seconds, of processes that are started for it."""
    start = ["-m", "mindtorch_v2.distributed.run", "--nproc-per-node", str(processes), str(script)]
    command = [sys.executable, *start, "--child", "--steps", str(steps), "--batch", str(batch)]
    bound = [] if core is None else ["taskset", "-c", str(core)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([*bound, *command], env=env, check=True, capture_output=True, text=True)
    taken: list[float] = json.loads(ran.stdout.splitlines()[0])
    return statistics.median(taken)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.data_parallel",
        description="Measures how many times as much two processes train in a second as one.",
        epilog="example: python -m benchmarks.data_parallel --rounds 5",
    )
    parser.add_argument("--rounds", type=int, default=3, help="of one process, then two (default 3)")
    parser.add_argument("--steps", type=int, default=12, help="measured in each (default 12)")
    parser.add_argument("--batch", type=int, default=16, help="samples of a process in a step (default 16)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        taken = train(options.steps, options.batch)
        if os.environ.get("RANK", "0") == "0":
            print(json.dumps(taken))
        return 0
    figures: dict[int, list[float]] = {1: [], 2: []}
    with Progress() as progress:
        task = progress.add_task("measuring", total=2 * options.rounds)
        for _ in range(options.rounds):
            for processes, core in ((1, 0), (2, None)):
                figures[processes].append(step_time(processes, core, options.steps, options.batch))
                progress.advance(task)
    one, two = (statistics.median(figures[processes]) for processes in (1, 2))
    ratios = sorted(2 * a / b for a, b in zip(figures[1], figures[2], strict=True))
    table = Table("processes", "a step", "samples a second")
    for processes, step in ((1, one), (2, two)):
        table.add_row(str(processes), f"{step * 1e3:.1f} ms", f"{processes * options.batch / step:.0f}")
    console = Console()
    console.print(table)
    console.print(f"two train {2 * one / two:.2f} times as much; by round: {', '.join(f'{r:.2f}' for r in ratios)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
