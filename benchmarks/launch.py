"""A kernel launch, from Python until it is queued on the simulated NPU, against a plain ctypes launcher class."""

from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path
from typing import Any

import mindtorch_v2 as torch
from benchmarks.report import Result
from benchmarks.timing import interleaved, thread_time_per_call
from mindtorch_v2 import npu
from mindtorch_v2.npu.build import build_ascendc

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/scaled_add"
# Few enough launches a round that the queue never fills; each round starts with an empty one. One kernel takes longer
# than a launch of the slowest contestant, so that all of them queue behind a busy device, never a waiting one.
CALLS, ROUNDS = 500, 15
ELEMENTS = 8192


class CtypesLauncher:
    """What one writes without this project: a symbol cache, and a C type guessed from each argument's Python type."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._symbols: dict[str, Any] = {}

    def launch(self, name: str, block_dim: int, args: list[Any], stream: int) -> None:
        """Queues ``aclrtlaunch_<name>``; raises RuntimeError for a nonzero return."""
        symbol = self._symbols.get(name)
        if symbol is None:
            symbol = self._symbols[name] = getattr(self._library, f"aclrtlaunch_{name}")
        converted: list[Any] = []
        for arg in args:
            if hasattr(arg, "data_ptr"):
                converted.append(ctypes.c_uint64(arg.data_ptr()))
            elif isinstance(arg, float):
                converted.append(ctypes.c_double(arg))
            else:
                converted.append(ctypes.c_uint64(arg))
        status = symbol(ctypes.c_uint32(block_dim), ctypes.c_uint64(stream), *converted)
        if status != 0:
            raise RuntimeError(f"{name} returned {status}")


def results() -> list[Result]:
    """Measures the bound kernel that generated code calls, and the general ``launch``; the target is a third."""
    library = str(build_ascendc("scaled_add", [EXAMPLE / "scaled_add.cpp"]))
    launcher = npu.KernelLauncher(library)
    bound = launcher.bind("scaled_add", (npu.ptr, npu.ptr, npu.ptr, npu.f32, npu.u32), dtypes=(torch.float32,))
    x, y = (torch.ones(ELEMENTS, device="npu") for _ in range(2))
    out = npu.alloc_like(x)
    bound(1, x, y, out, 2.0, ELEMENTS)
    plain = CtypesLauncher(library)
    stream = npu.current_stream().npu_stream

    def general() -> None:
        launcher.launch("scaled_add", block_dim=1, args=[x, y, out, npu.f32(2.0), npu.u32(ELEMENTS)])

    contestants = {
        "bound": lambda: bound(1, x, y, out, 2.0, ELEMENTS),
        "general": general,
        "ctypes": lambda: plain.launch("scaled_add", 1, [x, y, out, 2.0, ELEMENTS], stream),
    }

    def measure(name: str) -> float:
        npu.synchronize()
        return thread_time_per_call(contestants[name], CALLS)

    medians = interleaved({name: partial(measure, name) for name in contestants}, ROUNDS)
    npu.synchronize()
    return [
        Result("launch of a bound kernel", medians["bound"], medians["ctypes"], "ctypes launcher class", 1 / 3),
        Result("KernelLauncher.launch", medians["general"], medians["ctypes"], "ctypes launcher class", 1 / 3),
    ]
