"""Runs a model of delegates and custom kernels in every manner of committing, and compares times, commits and values.

    delegate -> softshrink -> softshrink -> delegate -> (copied to the CPU) CPU -> CPU -> (copied back) softshrink

The delegates are modules captured as graphs of the NPU; softshrink is this folder's own operator, whose kernels are
told what comes next.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import mindtorch_v2 as torch
from generated.ops import softshrink
from mindtorch_v2 import Tensor, nn

ELEMENTS, RUNS = 4096, 50
BLOCKS = 6  # of delegate, softshrink, softshrink, before the part on the CPU


class Body(nn.Module):
    """What a delegate runs."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        values = torch.linspace(0.5, 1.5, ELEMENTS) + 0.01 * seed
        self.weight = nn.Parameter(values, requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """``relu(weight * x) + x``."""
        return (x * self.weight).relu() + x


class Model(nn.Module):
    """Delegates and custom kernels in turn, a part on the CPU, and a last kernel."""

    def __init__(self, like: Tensor) -> None:
        super().__init__()
        bodies = [Body(seed).to("npu") for seed in range(BLOCKS)]
        self.delegates = nn.ModuleList(
            [torch.npu.lower(body, like, delegate="npu_graph", name=f"body_{n}") for n, body in enumerate(bodies)]
        )
        self.after: Callable[[], object] = lambda: None  # called when an operation has returned

    def _ran(self, x: Tensor) -> Tensor:
        self.after()
        return x

    def forward(self, x: Tensor) -> Tensor:
        """Maps (ELEMENTS,) to the same shape."""
        for delegate in self.delegates:
            x = self._ran(delegate(x))
            x = self._ran(softshrink(x, lambd=0.02))
            x = self._ran(softshrink(x, lambd=0.01))
        host = self._ran(x.cpu())
        host = (host + 1.0) * 0.5
        return self._ran(softshrink(host.npu(), lambd=0.25))


@dataclass
class Manner:
    """One way to run the model: what is entered around it, and what is called after every operation."""

    name: str
    block: Callable[[], Any]
    after: Callable[[], object]
    seconds: float = 0.0
    commits: int = 0
    waits: int = 0
    values: tuple[float, ...] = ()


def measure(model: Model, x: Tensor, manner: Manner) -> None:
    """The fastest run of one round, what it committed, and what it returned."""
    buffer = torch.npu.command_buffer()
    torch.npu.synchronize()
    model.after = manner.after
    commits, waits = buffer.commits, buffer.waits
    started = time.perf_counter()
    with torch.no_grad(), manner.block():
        result = model(x)
    torch.npu.synchronize()
    seconds = time.perf_counter() - started
    manner.seconds = min(manner.seconds or seconds, seconds)
    manner.commits, manner.waits = buffer.commits - commits, buffer.waits - waits
    manner.values = tuple(result.cpu().tolist())


def main() -> int:
    """Builds, plans, runs in every manner, compares; returns the process's exit status."""
    console = Console(highlight=False)
    console.print(f"npu is: {torch.npu.get_device_name()}")
    x = torch.linspace(-3.0, 3.0, ELEMENTS).npu()
    model = Model(x)
    plan = torch.npu.plan(model, x)
    console.print("the plan, made on fake tensors:", style="bold")
    console.print(str(plan))
    with torch.no_grad(), plan.follow(log := []):
        model(x)
    console.print("where commits and waits fall, in one run:", style="bold")
    console.print(
        " ".join({"encode": "e", "commit": "[commit]", "wait": "[wait]"}[what] for what, _, _ in log), markup=False
    )
    manners = [
        Manner("a hard wait after each", nullcontext, torch.npu.synchronize),
        Manner("enqueued by hand", nullcontext, lambda: None),
        Manner("lookahead of one", torch.npu.lookahead, lambda: None),
        Manner("plan", plan.follow, lambda: None),
    ]
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("running", total=RUNS * len(manners))
        for _ in range(RUNS):
            for manner in manners:
                measure(model, x, manner)
                progress.update(bar, advance=1)
    hard = manners[0]
    console.print("the fastest run of each, and what its command buffer did:", style="bold")
    for manner in manners:
        console.print(
            f"{manner.name:>24}: {1e3 * manner.seconds:7.3f} ms, {hard.seconds / manner.seconds:4.1f} times as fast, "
            f"{manner.commits} commits and {manner.waits} waits"
        )
    agree = all(manner.values == hard.values for manner in manners)
    console.print(f"all manners {'agree' if agree else 'DO NOT agree'} to the last bit")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
