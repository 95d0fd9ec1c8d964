"""Small tensors made, read, viewed, copied and reduced against PyTorch: the same code under both, a process a side.

``python -m benchmarks.small_calls ours|torch`` is such a process; it answers a line ``case`` with the CPU seconds of a
call. ``python -m benchmarks.small_calls`` shows the table of this file alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy

from benchmarks.contestant import Contestant
from benchmarks.report import Result
from benchmarks.timing import paired, thread_time_per_call

_MODULE = "benchmarks.small_calls"
SIDES = ("ours", "torch")
ROUNDS, CALLS = 15, 2_000


def calls(torch: Any) -> dict[str, Callable[[], object]]:
    """What is called, by its text: ``x`` and ``y`` are 4×4 float32, ``a`` such a leaf that requires grad.

    ``one`` has no dimensions, ``array`` is NumPy's, ``at`` and ``places`` are indices; images, filters and scores
    are of a few elements, too.
    """
    x, y = torch.ones(4, 4), torch.ones(4, 4)
    a, row, turned = torch.ones(4, 4).requires_grad_(), torch.ones(1, 4), torch.ones(4, 4).t()
    one, array, at, places = torch.ones(()), numpy.zeros(4), torch.tensor([0, 1]), torch.tensor([[0], [1]])
    functional = torch.nn.functional
    image, filters, line, taps = (
        torch.ones(1, 3, 4, 4),
        torch.ones(4, 3, 3, 3),
        torch.ones(1, 2, 5),
        torch.ones(3, 2, 3),
    )
    heads, scores = torch.ones(1, 2, 3, 4), torch.ones(2, 3)
    return {
        "torch.tensor(1.0)": lambda: torch.tensor(1.0),
        "torch.tensor([1.0, 2.0])": lambda: torch.tensor([1.0, 2.0]),
        "torch.tensor([[1, 2], [3, 4]])": lambda: torch.tensor([[1, 2], [3, 4]]),
        "torch.as_tensor([1.0, 2.0])": lambda: torch.as_tensor([1.0, 2.0]),
        "x.new_tensor([1.0])": lambda: x.new_tensor([1.0]),
        "torch.from_numpy(array)": lambda: torch.from_numpy(array),
        "torch.empty(4)": lambda: torch.empty(4),
        "torch.zeros(4)": lambda: torch.zeros(4),
        "torch.zeros(4, requires_grad=True)": lambda: torch.zeros(4, requires_grad=True),
        "torch.ones(2, 2, dtype=torch.float64)": lambda: torch.ones(2, 2, dtype=torch.float64),
        "torch.full((2, 2), 1.5)": lambda: torch.full((2, 2), 1.5),
        "torch.arange(4)": lambda: torch.arange(4),
        "torch.empty_like(x)": lambda: torch.empty_like(x),
        "torch.zeros_like(x)": lambda: torch.zeros_like(x),
        "torch.ones_like(x)": lambda: torch.ones_like(x),
        "x.new_zeros(4)": lambda: x.new_zeros(4),
        "one.item()": lambda: one.item(),
        "float(one)": lambda: float(one),
        "bool(one)": lambda: bool(one),
        "x.tolist()": lambda: x.tolist(),
        "x.numpy()": lambda: x.numpy(),
        "torch.equal(x, y)": lambda: torch.equal(x, y),
        "x.type_as(y)": lambda: x.type_as(y),
        "x.view(16)": lambda: x.view(16),
        "x.view(-1, 2)": lambda: x.view(-1, 2),
        "x.reshape(2, 8)": lambda: x.reshape(2, 8),
        "x.flatten()": lambda: x.flatten(),
        "x.transpose(0, 1)": lambda: x.transpose(0, 1),
        "x.t()": lambda: x.t(),
        "x.permute(1, 0)": lambda: x.permute(1, 0),
        "x[1]": lambda: x[1],
        "x[1:3]": lambda: x[1:3],
        "x[:, 1]": lambda: x[:, 1],
        "x.select(1, 2)": lambda: x.select(1, 2),
        "x.narrow(0, 1, 2)": lambda: x.narrow(0, 1, 2),
        "x.unsqueeze(0)": lambda: x.unsqueeze(0),
        "row.squeeze(0)": lambda: row.squeeze(0),
        "row.expand(4, 4)": lambda: row.expand(4, 4),
        "x.detach()": lambda: x.detach(),
        "x.chunk(2)": lambda: x.chunk(2),
        "x.split(2)": lambda: x.split(2),
        "x.unbind()": lambda: x.unbind(),
        "a.view(16), recorded": lambda: a.view(16),
        "a.transpose(0, 1), recorded": lambda: a.transpose(0, 1),
        "a[1], recorded": lambda: a[1],
        "x.to(torch.float32)": lambda: x.to(torch.float32),
        "x.to('cpu')": lambda: x.to("cpu"),
        "x.to(torch.float64)": lambda: x.to(torch.float64),
        "x.to(torch.float32, copy=True)": lambda: x.to(torch.float32, copy=True),
        "x.double()": lambda: x.double(),
        "torch.ops.aten._to_copy(x, dtype=torch.float64)": lambda: torch.ops.aten._to_copy(x, dtype=torch.float64),
        "x.clone()": lambda: x.clone(),
        "turned.clone()": lambda: turned.clone(),
        "turned.contiguous()": lambda: turned.contiguous(),
        "a.clone(), recorded": lambda: a.clone(),
        "a.to(torch.float64), recorded": lambda: a.to(torch.float64),
        "torch.cat([x, y])": lambda: torch.cat([x, y]),
        "torch.cat([x, y], 1)": lambda: torch.cat([x, y], 1),
        "torch.stack([x, y])": lambda: torch.stack([x, y]),
        "torch.cat([a, y]), recorded": lambda: torch.cat([a, y]),
        "x.sum()": lambda: x.sum(),
        "x.sum(1)": lambda: x.sum(1),
        "x.mean()": lambda: x.mean(),
        "x.mean(1)": lambda: x.mean(1),
        "x.max()": lambda: x.max(),
        "x.amax(1)": lambda: x.amax(1),
        "x.max(1)": lambda: x.max(1),
        "x.argmax(1)": lambda: x.argmax(1),
        "x.all()": lambda: x.all(),
        "x.prod()": lambda: x.prod(),
        "x.std()": lambda: x.std(),
        "x.var()": lambda: x.var(),
        "x.norm()": lambda: x.norm(),
        "x.cumsum(0)": lambda: x.cumsum(0),
        "x.topk(1)": lambda: x.topk(1),
        "x.index_select(0, at)": lambda: x.index_select(0, at),
        "x.gather(1, places)": lambda: x.gather(1, places),
        "torch.einsum('ij,jk->ik', x, y)": lambda: torch.einsum("ij,jk->ik", x, y),
        "torch.eye(4)": lambda: torch.eye(4),
        "torch.complex(x, y)": lambda: torch.complex(x, y),
        "torch.var_mean(x)": lambda: torch.var_mean(x),
        "F.pad(x, (1, 1))": lambda: functional.pad(x, (1, 1)),
        "F.conv1d(line, taps)": lambda: functional.conv1d(line, taps),
        "F.conv2d(image, filters)": lambda: functional.conv2d(image, filters),
        "F.max_pool2d(image, 2)": lambda: functional.max_pool2d(image, 2),
        "F.avg_pool2d(image, 2)": lambda: functional.avg_pool2d(image, 2),
        "F.interpolate(image, scale_factor=2.0)": lambda: functional.interpolate(image, scale_factor=2.0),
        "F.scaled_dot_product_attention(heads, heads, heads)": lambda: functional.scaled_dot_product_attention(
            heads, heads, heads
        ),
        "F.normalize(x)": lambda: functional.normalize(x),
        "F.cosine_similarity(x, y)": lambda: functional.cosine_similarity(x, y),
        "F.nll_loss(scores, at)": lambda: functional.nll_loss(scores, at),
        "a.sum(), recorded": lambda: a.sum(),
        "a.mean(1), recorded": lambda: a.mean(1),
    }


def serve(side: str) -> None:
    """Answers the parent until it closes the pipe."""
    if side == "ours":
        import mindtorch_v2 as torch
    else:
        import torch  # type: ignore[no-redef]

        torch.set_num_threads(1)
    runs = calls(torch)
    for line in sys.stdin:
        print(thread_time_per_call(runs[line.strip()], CALLS), flush=True)


def results() -> list[Result]:
    """Measures the cases, the sides in turn; the target is PyTorch's time."""
    import mindtorch_v2

    found = []
    with ExitStack() as stack:
        sides = [stack.enter_context(Contestant(_MODULE, name)) for name in SIDES]
        for case in calls(mindtorch_v2):
            figures = paired(ROUNDS, *(partial(side.measure, case) for side in sides))
            found.append(Result(case, *figures, "torch", 1.0))
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(*sys.argv[1:])
    else:
        from rich.console import Console

        from benchmarks.report import show

        show(results(), Console(width=140))
