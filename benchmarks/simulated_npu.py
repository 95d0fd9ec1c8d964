"""The simulated NPU: a launch with six arguments, its way there and back, bandwidth, attention, and many streams.

``python -m benchmarks.simulated_npu`` shows the table of this file alone.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import mindtorch_v2 as torch
from benchmarks.report import Result
from benchmarks.timing import interleaved, thread_time_per_call
from mindtorch_v2 import Tensor, npu
from mindtorch_v2.kernels import npu as kernels
from mindtorch_v2.npu.build import build_native

HERE = Path(__file__).resolve().parent
ATTENTION = HERE.parent / "tests/sim/ascendc/kernels/attention.cpp"
LAUNCHES, ROUNDS = 500, 15  # of launches, few enough a round that the queue never fills
HAND_OVERS = 2_000
ELEMENTS = 16 << 20
TOKENS, WIDTH = 256, 128
STREAMS, TIED_LAUNCHES = 8, 10_000


def wall_seconds(run: Callable[[], object], calls: int = 1) -> float:
    """Wall seconds of one of so many calls."""
    started = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - started) / calls


def results() -> list[Result]:
    """Measures all of it; targets are those of the project."""
    return [*launching(), *bandwidth(), *attention(), *many_streams()]


def launching() -> list[Result]:
    """From Python to queued; and to queued, run and waited for, with a bare hand-over between threads beside it."""
    axpby = npu.ascendc_load("axpby", HERE / "axpby.cpp").bind(
        "axpby", (npu.ptr, npu.ptr, npu.ptr, npu.f32, npu.f32, npu.u32), dtypes=(torch.float32,)
    )
    hand_over = ctypes.CDLL(str(build_native("handover", [HERE / "handover.c"]))).hand_over
    hand_over.argtypes = [ctypes.c_uint64]
    x, y = (torch.ones(8192, device="npu") for _ in range(2))
    out, stream = npu.alloc_like(x), npu.current_stream()

    def launch(n: int) -> None:
        axpby(1, x, y, out, 2.0, 3.0, n)

    def there_and_back() -> None:
        launch(0)
        stream.synchronize()

    def queue() -> float:
        npu.synchronize()
        return thread_time_per_call(partial(launch, 8192), LAUNCHES)

    there_and_back()
    figures = interleaved(
        {
            "queue": queue,
            "back": partial(wall_seconds, there_and_back, HAND_OVERS),
            "hand over": lambda: wall_seconds(lambda: hand_over(HAND_OVERS)) / HAND_OVERS,
        },
        ROUNDS,
    )
    return [
        Result("launch with six arguments, until queued", figures["queue"], None, "", 0.5e-6),
        Result("launch and synchronise", figures["back"], figures["hand over"], "hand-over to a thread and back", 2.0),
    ]


def bandwidth() -> list[Result]:
    """``add`` of 64 MiB tensors beside memcpy of as much host memory, each for a GiB read or written."""
    x, y = (torch.ones(ELEMENTS, device="npu") for _ in range(2))
    source, target = torch.ones(ELEMENTS), torch.ones(ELEMENTS)
    out, nbytes = npu.alloc_like(x), 4 * ELEMENTS

    def add() -> None:
        kernels._sum_into(out, x, y, 1)
        npu.synchronize()

    add()
    figures = interleaved(
        {
            "add": lambda: wall_seconds(add) / (3 * nbytes) * 2**30,
            "copy": lambda: (
                wall_seconds(lambda: ctypes.memmove(target.data_ptr(), source.data_ptr(), nbytes))
                / (2 * nbytes)
                * 2**30
            ),
        },
        ROUNDS,
    )
    return [Result("add over 16 Mi float32, for each GiB", figures["add"], figures["copy"], "memcpy on the host", 2.0)]


def attention() -> list[Result]:
    """The attention kernel of the simulator's tests: cube and vector cores, a running softmax, half in, float out."""
    kernel = npu.ascendc_load("attention", ATTENTION).bind("attention", (npu.ptr,) * 6)
    q, k, v = (torch.randn(TOKENS, WIDTH).half().npu() for _ in range(3))
    out = npu.alloc((TOKENS, WIDTH), torch.float32, "npu")
    tiling: Tensor = npu.upload(struct.pack("<IIf", TOKENS, WIDTH, WIDTH**-0.5))

    def run() -> None:
        kernel(8, q, k, v, out, None, tiling)
        npu.synchronize()

    run()
    figure = interleaved({"attention": partial(wall_seconds, run)}, 5)["attention"]
    return [Result(f"attention over {TOKENS} tokens of {WIDTH}", figure, None, "", 1.0)]


def many_streams() -> list[Result]:
    """Launches that each wait, by an event, for the one before on another stream; nothing runs side by side."""
    axpby = npu.ascendc_load("axpby", HERE / "axpby.cpp").bind("axpby", (npu.ptr,) * 3 + (npu.f32, npu.f32, npu.u32))
    x = torch.ones(8, device="npu")
    streams = [npu.Stream() for _ in range(STREAMS)]

    def chain() -> None:
        event = npu.Event()
        for i in range(TIED_LAUNCHES):
            stream = streams[i % STREAMS]
            stream.wait_event(event)
            with npu.stream(stream):
                axpby(1, x, x, x, 0.5, 0.5, 8)
            event = stream.record_event()
        event.synchronize()

    figure = interleaved({"chain": partial(wall_seconds, chain)}, 3)["chain"]
    return [Result(f"{TIED_LAUNCHES} launches on {STREAMS} streams, tied by events", figure, None, "", None)]


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.report import show

    show(results(), Console(width=150))
