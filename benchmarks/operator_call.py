"""A generated operator against ``torch.library.custom_op``, the same C kernel beneath both.

Each side runs in its own process, which answers a line ``case calls`` with the CPU seconds of one call; the parent
gives them turns. ``python -m benchmarks.operator_call ours|torch KERNELS.so`` is such a process.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contestant import Contestant
from benchmarks.report import Result
from benchmarks.timing import paired, thread_time_per_call

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/scaled_add"
CASES = {
    "call without gradient": 3_000,
    "call that records a gradient": 1_500,
    "forward and backward": 500,
}
TARGETS = {"call without gradient": 1 / 60, "call that records a gradient": 1 / 45, "forward and backward": 1 / 40}
ROUNDS = 31


def cases(torch: Any, op: Callable[..., Any]) -> dict[str, Callable[[], object]]:
    """The three calls, written once for both sides: ``torch`` is PyTorch or mindtorch_v2."""
    x, y, grad = (torch.ones(4, 4) for _ in range(3))
    a, b = (torch.ones(4, 4).requires_grad_() for _ in range(2))

    def forward_backward() -> None:
        op(a, b, scale=2.0).backward(grad)
        a.grad = b.grad = None

    return dict(zip(CASES, (lambda: op(x, y, scale=2.0), lambda: op(a, b, scale=2.0), forward_backward), strict=True))


def ours(_: str) -> dict[str, Callable[[], object]]:
    """The example's generated operator."""
    sys.path.insert(0, str(EXAMPLE))
    import mindtorch_v2
    from generated.ops import scaled_add

    return cases(mindtorch_v2, scaled_add)


def peer(library: str) -> dict[str, Callable[[], object]]:
    """The same operator in PyTorch."""
    import torch

    return cases(torch, peer_operator(torch, library))


def peer_operator(torch: Any, library: str) -> Callable[..., Any]:
    """The operator as PyTorch has a user write it."""
    torch.set_num_threads(1)
    kernels = ctypes.CDLL(library)
    pointer, size = ctypes.c_void_p, ctypes.c_uint64
    kernels.scaled_add_cpu.argtypes = [pointer, pointer, pointer, ctypes.c_float, size]
    kernels.scaled_add_grad_cpu.argtypes = [pointer, pointer, ctypes.c_float, size]

    def scaled_add(x: Any, y: Any, *, scale: float = 1.0) -> Any:
        out = torch.empty_like(x)
        kernels.scaled_add_cpu(x.data_ptr(), y.data_ptr(), out.data_ptr(), scale, x.numel())
        return out

    def scaled_add_grad(grad: Any, scale: float) -> Any:
        out = torch.empty_like(grad)
        kernels.scaled_add_grad_cpu(grad.data_ptr(), out.data_ptr(), scale, grad.numel())
        return out

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.scale = keyword_only_inputs["scale"]

    # Annotations as objects: this module's are strings, which torch would look for among its globals.
    scaled_add.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "scale": float, "return": torch.Tensor}
    scaled_add_grad.__annotations__ = {"grad": torch.Tensor, "scale": float, "return": torch.Tensor}
    grad_op = torch.library.custom_op("bench::scaled_add_grad", scaled_add_grad, mutates_args=())
    grad_op.register_fake(lambda grad, scale: torch.empty_like(grad))
    op = torch.library.custom_op("bench::scaled_add", scaled_add, mutates_args=())
    op.register_fake(lambda x, y, *, scale=1.0: torch.empty_like(x))
    op.register_autograd(lambda ctx, grad: (grad, grad_op(grad, ctx.scale)), setup_context=setup)
    made: Callable[..., Any] = op
    return made


def serve(side: str, library: str) -> None:
    """Answers the parent until it closes the pipe."""
    runs = {"ours": ours, "torch": peer}[side](library)
    for line in sys.stdin:
        case = line.strip()
        print(thread_time_per_call(runs[case], CASES[case]), flush=True)


def results() -> list[Result]:
    """Measures the three cases, the sides in turn."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        library = Path(folder) / "libscaled_add_cpu.so"
        source = EXAMPLE / "scaled_add_cpu.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        sides = [
            stack.enter_context(Contestant("benchmarks.operator_call", name, str(library)))
            for name in ("ours", "torch")
        ]
        found = []
        for case in CASES:
            figures = paired(ROUNDS, *(partial(side.measure, case) for side in sides))
            found.append(Result(case, *figures, "torch.library.custom_op", TARGETS[case]))
    return found


if __name__ == "__main__":
    serve(*sys.argv[1:])
