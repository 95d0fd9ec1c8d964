"""Adaptive committing on the simulated NPU: a model of interleaved delegate calls and custom kernels.

The model runs with a hard wait after every operation, enqueued by hand with one wait at the end, and followed by a
lookahead and by a plan, in turn; all give the same bits. ``python -m benchmarks.adaptive_commit`` shows the table of
this file alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

import mindtorch_v2 as torch
from benchmarks import report
from benchmarks.report import Result
from benchmarks.timing import thread_time_per_call
from mindtorch_v2 import Tensor, nn, npu
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import context, f32, like, u32
from mindtorch_v2.npu import KernelLauncher

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/adaptive_commit"
SMALL, LARGE = 256, 1 << 20  # elements
BLOCKS = {SMALL: 32, LARGE: 4}  # of a delegate and three kernels
SHRUNK = 0.01  # what a kernel takes off
ROUNDS = {SMALL: 4000, LARGE: 15}  # of some seconds: for less, two cores of a shared machine may be far apart
CALLS = 500

_lib = Library("adaptive_commit_benchmark", "FRAGMENT")
_kernels = KernelLauncher.from_source("softshrink", [EXAMPLE / "softshrink.cpp"])


@_lib.operator("softshrink(Tensor x, float lambd) -> Tensor")
def softshrink(op: Any, x: Any, lambd: Any) -> None:
    """The example's kernel, which takes a context."""
    out = op.returns(like(x))
    op.launch("NPU", _kernels["softshrink"], x.contiguous(), out, f32(lambd), u32(x.numel()), context(), block_dim=1)


class Body(nn.Module):
    """What a delegate runs: operators that are captured as one graph."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.9, 1.1, elements), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """``relu(weight * x) + x``."""
        result: Tensor = (x * self.weight).relu() + x
        return result


class Interleaved(nn.Module):
    """Delegates with custom kernels between them: a delegate, then three kernels, several times."""

    def __init__(self, delegates: list[Any]) -> None:
        super().__init__()
        self.delegates = nn.ModuleList(delegates)

    def forward(self, x: Tensor) -> Tensor:
        """What each has made of what the one before did."""
        for delegate in self.delegates:
            x = softshrink(softshrink(softshrink(delegate(x), SHRUNK), SHRUNK), SHRUNK)
        return x


class Waiting(Interleaved):
    """The same by a system that knows no neighbours."""

    def forward(self, x: Tensor) -> Tensor:
        """Waits for each operation before the next."""
        for delegate in self.delegates:
            x = delegate(x)
            npu.synchronize()
            x = softshrink(x, SHRUNK)
            npu.synchronize()
            x = softshrink(x, SHRUNK)
            npu.synchronize()
            x = softshrink(x, SHRUNK)
            npu.synchronize()
        return x


class Runs:
    """One model in every manner; each returns the wall seconds of a run, up to when its results are there."""

    def __init__(self, elements: int) -> None:
        self.x = torch.linspace(-2.0, 2.0, elements).npu()
        self.before = self.x.clone()
        bodies = [Body(elements).to("npu") for _ in range(BLOCKS[elements])]
        delegates = [torch.npu.lower(body, self.x, delegate="npu_graph") for body in bodies]
        self.model, self.waiting = Interleaved(delegates), Waiting(delegates)
        self.plan = torch.npu.plan(self.model, self.x)
        self.results: dict[str, list[float]] = {}

    def _timed(self, name: str, model: Interleaved, block: Callable[[], Any], end: Callable[[], object]) -> float:
        self.before.copy_(self.x)  # each run begins with an NPU that is awake: the simulator's falls asleep soon
        npu.synchronize()
        started = time.perf_counter()
        with torch.no_grad(), block():
            result = model(self.x)
        end()
        seconds = time.perf_counter() - started
        self.results[name] = result.cpu().tolist()
        return seconds

    def hard_waits(self) -> float:
        """A wait after every operation."""
        return self._timed("hard waits", self.waiting, nullcontext, lambda: None)

    def by_hand(self) -> float:
        """Everything enqueued, one wait at the end."""
        return self._timed("by hand", self.model, nullcontext, npu.synchronize)

    def lookahead(self) -> float:
        """Operations that look ahead by one."""
        return self._timed("lookahead", self.model, torch.npu.lookahead, lambda: None)

    def planned(self) -> float:
        """Operations that follow a plan."""
        return self._timed("plan", self.model, self.plan.follow, lambda: None)

    def agree(self) -> bool:
        """Whether all that ran gave the same bits."""
        return len({tuple(values) for values in self.results.values()}) == 1


def results() -> list[Result]:
    """Measures both sizes, and what it costs to know the next operation."""
    found = []
    for size, elements in (("small", SMALL), ("large", LARGE)):
        runs = Runs(elements)
        hard, hand, *ours = medians([runs.hard_waits, runs.by_hand, runs.lookahead, runs.planned], ROUNDS[elements])
        for way, seconds in zip(("lookahead", "plan"), ours, strict=True):
            what = f"{size} kernels and delegates, {way}"
            found.append(Result(what, seconds, hard, "a hard wait after each", 1 / 3 if size == "small" else 1.0))
            found.append(Result(what, seconds, hand, "enqueued by hand", 1.1))
        if not runs.agree():
            raise RuntimeError(f"the values of the {size} model differ between manners of running it")
    return [*found, *knowing()]


def medians(manners: list[Callable[[], float]], rounds: int) -> list[float]:
    """The median figure of each. Each round begins with another one: what ran before makes a run quicker or slower."""
    figures: list[list[float]] = [[] for _ in manners]
    for number in range(rounds):
        for at in range(len(manners)):
            at = (at + number) % len(manners)
            figures[at].append(manners[at]())
    return [statistics.median(found) for found in figures]


def knowing() -> list[Result]:
    """What a call costs more because its next operation is known, in thread time."""
    x = torch.zeros(8, device="npu")

    def calls(count: int) -> None:
        for _ in range(count):
            softshrink(x, 0.5)

    plan = torch.npu.plan(lambda: calls(CALLS))

    def measure(block: Callable[[], Any]) -> float:
        npu.synchronize()
        with block():
            seconds = thread_time_per_call(partial(softshrink, x, 0.5), CALLS)
        npu.synchronize()
        return seconds

    ways: dict[str, Callable[[], Any]] = {"none": nullcontext, "lookahead": torch.npu.lookahead, "plan": plan.follow}
    figures = dict(zip(ways, medians([partial(measure, block) for block in ways.values()], 60), strict=True))
    return [
        Result(f"knowing the next operation, {way}, a call", max(figures[way] - figures["none"], 0.0), None, "", 100e-9)
        for way in ("lookahead", "plan")
    ]


if __name__ == "__main__":
    report.show(results(), Console(width=140))
