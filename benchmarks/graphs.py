"""Captured graphs on the simulated NPU: their replay, an update of one argument, a capture, and a decoder's steps.

``python -m benchmarks.graphs`` shows the table of this file alone. Times are the processor time of the calling thread,
but for the replay with its kernels, which is wall time, and so is that of the launches beside it.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindtorch_v2 as torch
from benchmarks.report import Result, number
from benchmarks.timing import interleaved, thread_time_per_call
from examples.graph_decode.decode import Decoder, decode_eagerly, decode_in_a_graph
from mindtorch_v2 import npu
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import f32, like, u32
from mindtorch_v2.npu import KernelLauncher

HERE = Path(__file__).resolve().parent
KERNELS, ROUNDS, UPDATES, CAPTURES, STEPS = 1_000, 15, 50, 20, 12


@functools.cache
def scaled() -> Any:
    """An operator of one AscendC kernel, whose factor is updated; defined once."""
    lib = Library("bench_graphs", "FRAGMENT")
    kernels = KernelLauncher.from_source("axpby", ["axpby.cpp"], relative_to=__file__)

    @lib.operator("scaled(Tensor x, *, float factor=1.0) -> Tensor", graph_update=("factor",))
    def scaled(op: Any, x: Any, factor: Any) -> None:
        """``x`` times a number."""
        out = op.returns(like(x))
        args = (x.contiguous(), x.contiguous(), out, f32(factor), f32(0.0), u32(x.numel()))
        op.launch("NPU", kernels["axpby"], *args, block_dim=1, dtypes=[torch.float32])

    return lib, scaled


def results() -> list[Result]:
    """Measures all of it; targets are those of the project."""
    return [*replays(), update(), capture(), decoding()]


def until_done(run: Callable[[], object]) -> float:
    """Wall seconds until the work that a call queues is done."""
    npu.synchronize()
    started = time.perf_counter()
    run()
    npu.synchronize()
    return time.perf_counter() - started


def until_queued(run: Callable[[], object]) -> float:
    """Seconds of this thread's processor time until the work that a call queues is queued."""
    npu.synchronize()
    return thread_time_per_call(run, 1)


def replays() -> list[Result]:
    """A graph of many small kernels beside the calls that queue them one by one."""
    _, operator = scaled()
    x = torch.ones(16, device="npu")

    def one_by_one() -> None:
        for _ in range(KERNELS):
            operator(x, factor=1.0)

    one_by_one()
    graph = npu.NPUGraph()
    with npu.graph(graph):
        one_by_one()
    graph.replay()
    figures = interleaved(
        {
            "queued": functools.partial(until_queued, graph.replay),
            "queued one by one": functools.partial(until_queued, one_by_one),
            "done": functools.partial(until_done, graph.replay),
            "done one by one": functools.partial(until_done, one_by_one),
        },
        ROUNDS,
    )
    peer = "the operator called for each"
    return [
        Result(
            f"replay of {KERNELS:,} small kernels, until queued",
            figures["queued"],
            figures["queued one by one"],
            peer,
            0.1,
        ),
        Result(
            f"replay of {KERNELS:,} small kernels, until done", figures["done"], figures["done one by one"], peer, 0.1
        ),
    ]


def update() -> Result:
    """New values for one argument of one operator, from the call until they are queued."""
    _, operator = scaled()
    x, graph = torch.ones(16, device="npu"), npu.NPUGraph()
    with npu.graph(graph, auto_dispatch_capture=True):
        operator(x, factor=1.0)
    values = itertools.count()

    def step() -> None:
        graph.update([{"factor": float(next(values))}])

    def steps() -> float:  # of several updates before a replay the last counts, and all are made
        npu.synchronize()
        seconds = thread_time_per_call(step, UPDATES)
        graph.replay()
        return seconds

    steps()
    figure = interleaved({"update": steps}, ROUNDS)["update"]
    return Result("update of one argument of a graph", figure, None, "", 20e-6)


def capture() -> Result:
    """A capture of one small operator, from an empty graph to one that can be replayed."""
    _, operator = scaled()
    x, kept = torch.ones(16, device="npu"), []

    def one() -> None:
        graph = npu.NPUGraph()
        with npu.graph(graph):
            operator(x, factor=2.0)
        kept.append(graph)

    one()
    figures = interleaved({"capture": functools.partial(thread_time_per_call, one, CAPTURES)}, ROUNDS)
    return Result("capture of one small operator", figures["capture"], None, "", 5e-3)


def decoding() -> Result:
    """Tokens that a decoder says otherwise in a graph than eagerly, of all; lengths grow from step to step."""
    decoder = Decoder(seed=7, device="npu")
    eager, graphed = decode_eagerly(decoder, STEPS), decode_in_a_graph(decoder, STEPS)
    different = sum(a != b for a, b in zip(eager, graphed, strict=True))
    return Result(f"tokens of {STEPS} decoded that differ from eager ones", float(different), None, "", 0.0, number)


def main() -> None:
    """Shows the table."""
    from rich.console import Console

    from benchmarks import report

    report.show(results(), Console(width=140))


if __name__ == "__main__":
    main()
