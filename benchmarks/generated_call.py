"""Operators generated from ``operators.yaml`` against ``torch.library.custom_op``, the same C kernels beneath both.

``python -m benchmarks.generated_call ours|torch FOLDER`` is one side's process, where FOLDER has what was generated and
``libkernels.so``; see `operator_call`.
"""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import operator_call
from benchmarks.contestant import Contestant
from benchmarks.report import Result
from benchmarks.timing import paired, thread_time_per_call

SOURCES = (operator_call.EXAMPLE / "scaled_add_cpu.c", Path(__file__).with_name("product.c"))
DECLARED = Path(__file__).with_name("operators.yaml")
ROUNDS = 31
TARGETS = {
    "generated scaled_add without gradient": 1 / 60,
    "generated scaled_add that records a gradient": 1 / 45,
    "generated scaled_add, forward and backward": 1 / 40,
    "generated x * y * alpha without gradient": 1 / 60,
    "generated x * y * alpha that records a gradient": 1 / 45,
    "generated x * y * alpha, forward and backward to one input": 1 / 40,
    "generated x * y * alpha, forward and backward to both": 1 / 25,
}


def calls(case: str) -> int:
    """How many calls a measurement makes."""
    return 500 if "backward" in case else 3_000


def cases(torch: Any, scaled_add: Callable[..., Any], product: Callable[..., Any]) -> dict[str, Callable[[], object]]:
    """The calls, written once for both sides: ``torch`` is PyTorch or mindtorch_v2."""
    x, y, grad = (torch.ones(4, 4) for _ in range(3))
    a, b = (torch.ones(4, 4).requires_grad_() for _ in range(2))

    def scaled_add_both() -> None:
        scaled_add(a, b, scale=2.0).backward(grad)
        a.grad = b.grad = None

    def product_one() -> None:
        product(a, y, 2.0).backward(grad)
        a.grad = None

    def product_both() -> None:
        product(a, b, 2.0).backward(grad)
        a.grad = b.grad = None

    runs: tuple[Callable[[], object], ...] = (
        lambda: scaled_add(x, y, scale=2.0), lambda: scaled_add(a, b, scale=2.0), scaled_add_both,
        lambda: product(x, y, 2.0), lambda: product(a, b, 2.0), product_one, product_both,
    )  # fmt: skip
    return dict(zip(TARGETS, runs, strict=True))


def ours(folder: str) -> dict[str, Callable[[], object]]:
    """The module as `mtcodegen` wrote it."""
    import mindtorch_v2

    sys.path.insert(0, folder)
    module = importlib.import_module(DECLARED.stem)
    return cases(mindtorch_v2, module.scaled_add, module.product)


def peer(folder: str) -> dict[str, Callable[[], object]]:
    """The same operators as PyTorch has a user write them."""
    import torch

    library = str(Path(folder) / "libkernels.so")
    scaled_add = operator_call.peer_operator(torch, library)
    kernel = ctypes.CDLL(library).product
    pointer = ctypes.c_void_p
    kernel.argtypes = [pointer, pointer, pointer, ctypes.c_float, ctypes.c_int64]

    def product(x: torch.Tensor, y: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
        out = torch.empty_like(x)
        kernel(x.data_ptr(), y.data_ptr(), out.data_ptr(), alpha, x.numel())
        return out

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        x, y, ctx.alpha = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad * y * ctx.alpha if needs[0] else None, grad * x * ctx.alpha if needs[1] else None, None

    product.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "alpha": float, "return": torch.Tensor}
    op = torch.library.custom_op("bench::product", product, mutates_args=())
    op.register_fake(lambda x, y, alpha=1.0: torch.empty_like(x))
    op.register_autograd(backward, setup_context=setup)
    return cases(torch, scaled_add, op)


def serve(side: str, folder: str) -> None:
    """Answers the parent until it closes the pipe."""
    runs = {"ours": ours, "torch": peer}[side](folder)
    for line in sys.stdin:
        case = line.strip()
        print(thread_time_per_call(runs[case], calls(case)), flush=True)


def prepare(folder: str) -> None:
    """What the sides call: the generated module, and the kernels alone."""
    subprocess.run(
        [sys.executable, "-m", "mtcodegen", str(DECLARED), "-o", folder], check=True, stdout=subprocess.DEVNULL
    )
    library = str(Path(folder) / "libkernels.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, *map(str, SOURCES)], check=True)


def results() -> list[Result]:
    """Measures the cases, the sides in turn."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        prepare(folder)
        sides = [
            stack.enter_context(Contestant("benchmarks.generated_call", name, folder)) for name in ("ours", "torch")
        ]
        found = []
        for case, target in TARGETS.items():
            figures = paired(ROUNDS, *(partial(side.measure, case) for side in sides))
            found.append(Result(case, *figures, "torch.library.custom_op", target))
    return found


if __name__ == "__main__":
    serve(*sys.argv[1:])
