"""A step of training on two streams of an NPU, recorded: ``python docs/timeline/step.py trace.json``."""

from __future__ import annotations

import sys

import mindtorch_v2 as torch

N = 1 << 16


def step(x: torch.Tensor, w: torch.Tensor, side: torch.npu.Stream) -> torch.Tensor:
    """Two branches, one on each stream, what they come to, and its gradient."""
    main = torch.npu.current_stream()
    with torch.profiler.record_function("forward"):
        side.wait_stream(main)
        with torch.npu.stream(side):
            gate = x.exp()
        hidden = (x * w).exp()
        main.wait_stream(side)
        out = hidden * gate
    with torch.profiler.record_function("backward"):
        out.backward(gate)
    with torch.profiler.record_function("read"):
        return out.detach().cpu()


def main(path: str) -> None:
    """Two steps without a profiler, as caches fill and kernels are loaded, and one with it."""
    x = torch.full((N,), 0.01).to("npu")
    w = torch.ones(N).to("npu").requires_grad_()
    side = torch.npu.Stream()
    for _ in range(2):
        step(x, w, side)
    torch.npu.synchronize()
    with torch.npu.profile(path), torch.profiler.record_function("step"):
        step(x, w, side)


if __name__ == "__main__":
    main(sys.argv[1])
