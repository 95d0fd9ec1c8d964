"""What a profiler adds to a call, against PyTorch: the same calls with and without it, a process a side.

``python -m benchmarks.profiled ours|torch`` is such a process; it answers a line ``case`` with the CPU seconds that
recording adds to each operator's call. ``python -m benchmarks.profiled`` shows the table of this file alone. What it
costs while it is off is a figure of ``python -m benchmarks.against COMMIT --instructions``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.report import Result
from benchmarks.timing import paired, thread_time_per_call

_MODULE = "benchmarks.profiled"
SIDES = ("ours", "torch")
ROUNDS, TURNS, CALLS = 7, 5, 1_000


def calls(torch: Any) -> dict[str, tuple[Callable[[], object], dict[str, bool]]]:
    """What is called, by its text, and the profiler's options; ``x`` is 4×4 float32, ``a`` a leaf of that form."""
    x, a = torch.ones(4, 4), torch.ones(4, 4).requires_grad_()
    return {
        "x + x, profiled": (lambda: x + x, {}),
        "x.exp(), profiled": (lambda: x.exp(), {}),
        "a * a, recorded and profiled": (lambda: a * a, {}),
        "x.exp(), profiled with shapes": (lambda: x.exp(), {"record_shapes": True}),
        "x.exp(), profiled with memory": (lambda: x.exp(), {"profile_memory": True}),
    }


def added(torch: Any, run: Callable[[], object], options: dict[str, bool]) -> float:
    """The seconds that recording adds to a call: of each side the least of some turns, as what disturbs only adds."""
    plain, recorded = [], []
    for _ in range(TURNS):
        plain.append(thread_time_per_call(run, CALLS))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options):
            recorded.append(thread_time_per_call(run, CALLS))
    return min(recorded) - min(plain)


def serve(side: str) -> None:
    """Answers the parent until it closes the pipe, which is nobody else's to write to: PyTorch tells what it does."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if side == "ours":
        import mindtorch_v2 as torch
    else:
        import torch  # type: ignore[no-redef]

        torch.set_num_threads(1)
    runs = calls(torch)
    for line in sys.stdin:
        print(added(torch, *runs[line.strip()]), file=answers)


def results() -> list[Result]:
    """Measures the cases, the sides in turn; the target is what PyTorch's profiler adds."""
    import mindtorch_v2

    found = []
    with ExitStack() as stack:
        sides = [stack.enter_context(Contestant(_MODULE, name)) for name in SIDES]
        for case in calls(mindtorch_v2):
            figures = paired(ROUNDS, *(partial(side.measure, case) for side in sides))
            found.append(Result(f"what it adds: {case}", *figures, "torch", 1.0))
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(*sys.argv[1:])
    else:
        from rich.console import Console

        from benchmarks.report import show

        show(results(), Console(width=140))
