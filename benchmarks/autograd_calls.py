"""Recording and running gradients against PyTorch: the same code under both, each side in a process of its own.

``python -m benchmarks.autograd_calls ours|torch`` is such a process; it answers a line ``case`` with a figure: CPU
seconds of a call or of a backward pass, or bytes of a node.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.report import Result
from benchmarks.timing import paired, thread_time_per_call

_MODULE = "benchmarks.autograd_calls"
SIDES = ("ours", "torch")
ROUNDS = {"call": 31, "backward": 9, "memory": 3}
CHAIN = 10_000  # operators in a chain whose backward pass is timed
NODES = 50_000  # nodes of the graph whose memory is measured
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "+ 1": lambda z, c: z + 1,
    "* constant": lambda z, c: z * c,
    "sin": lambda z, c: z.sin(),
}


def calls(torch: Any) -> dict[str, tuple[Callable[[], object], int]]:
    """What is called, and how often a measurement."""
    x, y, grad = (torch.ones(4, 4) for _ in range(3))
    row = torch.ones(4)
    a, b = (torch.ones(4, 4).requires_grad_() for _ in range(2))

    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    def forward_backward(function: Callable[[Any, Any], Any]) -> None:
        function(a, b).backward(grad)
        a.grad = b.grad = None

    return {
        "a + b without gradient": (lambda: x + y, 3_000),
        "a + b that records a gradient": (lambda: a + b, 3_000),
        "a + b, broadcast": (lambda: x + row, 3_000),
        "Function.apply without gradient": (lambda: Product.apply(x, y), 1_500),
        "Function.apply that records a gradient": (lambda: Product.apply(a, b), 1_500),
        "Function.apply, forward and backward": (lambda: forward_backward(Product.apply), 300),
    }


def chained(torch: Any, step: str, length: int) -> Any:
    """The end of a chain of operators over a 4×4 leaf."""
    z, c = torch.ones(4, 4).requires_grad_(), torch.ones(4, 4)
    for _ in range(length):
        z = STEPS[step](z, c)
    return z


def backward_seconds(torch: Any, step: str) -> float:
    """One backward pass over a chain; process CPU time, for PyTorch may run it on a thread of its own."""
    end, grad = chained(torch, step, CHAIN), torch.ones(4, 4)
    gc.disable()
    try:
        started = time.process_time()
        end.backward(grad)
        return time.process_time() - started
    finally:
        gc.enable()


def node_bytes(torch: Any, step: str) -> float:
    """What the process grows by, a node, while a chain is recorded that is kept: all that the graph keeps alive."""
    chained(torch, step, 1_000)
    before = resident()
    end = chained(torch, step, NODES)
    grown = resident() - before
    del end
    return grown / NODES


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def measure(torch: Any, case: str) -> float:
    """The figure of a case."""
    kind, _, step = case.partition(": ")
    if kind == BACKWARD:
        return backward_seconds(torch, step)
    if kind == MEMORY:
        return node_bytes(torch, step)
    return thread_time_per_call(*calls(torch)[case])


BACKWARD = f"backward over {CHAIN:,} operators"
MEMORY = f"memory of a node, of {NODES:,}"
TARGETS = {
    "a + b without gradient": 0.2,
    "a + b that records a gradient": 0.25,
    "a + b, broadcast": 0.35,
    "Function.apply without gradient": 1 / 4,
    "Function.apply that records a gradient": 1 / 4,
    "Function.apply, forward and backward": 1 / 4,
    f"{BACKWARD}: + 1": 1 / 12,
    f"{BACKWARD}: * constant": 1.0,
    f"{BACKWARD}: sin": 1 / 8,
    **{f"{MEMORY}: {step}": 1.0 for step in STEPS},
}


def memory(side: str, case: str) -> float:
    """In a fresh process each time: one that has freed a graph takes its memory from there."""
    with Contestant(_MODULE, side) as contestant:
        return contestant.measure(case)


def serve(side: str) -> None:
    """Answers the parent until it closes the pipe."""
    if side == "torch":
        import torch

        torch.set_num_threads(1)
    else:
        import mindtorch_v2 as torch
    for line in sys.stdin:
        print(measure(torch, line.strip()), flush=True)


def in_bytes(amount: float) -> str:
    """A figure of memory, as the table shows it."""
    return f"{amount:.0f} bytes"


def results() -> list[Result]:
    """Measures every case, the sides in turn."""
    found = []
    with ExitStack() as stack:
        sides = [stack.enter_context(Contestant(_MODULE, name)) for name in SIDES]
        for case, target in TARGETS.items():
            if case.startswith(MEMORY):
                figures = paired(ROUNDS["memory"], *(partial(memory, name, case) for name in SIDES))
            else:
                rounds = ROUNDS["backward" if case.startswith(BACKWARD) else "call"]
                figures = paired(rounds, *(partial(side.measure, case) for side in sides))
            peer = "torch.autograd.Function" if case.startswith("Function") else "torch"
            shown = in_bytes if case.startswith(MEMORY) else None
            found.append(Result(case, *figures, peer, target, shown))
    return found


if __name__ == "__main__":
    serve(*sys.argv[1:])
