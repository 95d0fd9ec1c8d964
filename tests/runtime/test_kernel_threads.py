"""The threads of the CPU kernels: how many there are is asked and set as in PyTorch, and no result depends on it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as torch

SETTERS = ("set_num_threads", "set_num_interop_threads")
Call = Callable[[], Any]


@pytest.fixture(autouse=True)
def as_many_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_number_that_is_set_is_the_number_there_is() -> None:
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
    assert torch.get_num_interop_threads() >= 1


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("count", [0, -1, 1.5, True, "a", None, 2**40, pytorch.tensor(2)], ids=repr)
def test_what_is_no_number_of_threads_is_refused_as_in_pytorch(setter: str, count: Any) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  (whatever PyTorch's is)
        getattr(pytorch, setter)(count)
    with pytest.raises(expected.type):
        getattr(torch, setter)(count)


def calls() -> dict[str, Call]:
    """Calls that are long enough to be cut, a kernel file each."""
    torch.manual_seed(0)
    functional = torch.nn.functional
    x, row, column = torch.randn(700, 1100), torch.randn(1100), torch.randn(700, 1)
    image, filters = torch.randn(2, 8, 64, 64), torch.randn(12, 8, 3, 3)
    heads = torch.randn(2, 4, 260, 32)
    at = torch.arange(500) * 7 % 700
    leaf, weight = torch.randn(300, 400).requires_grad_(), torch.randn(400).requires_grad_()

    def gradients() -> Any:
        out = functional.layer_norm(leaf, (400,), weight, weight)
        return torch.autograd.grad(out.square().sum(), (leaf, weight))

    def both_ways(call: Call, *tensors: Any) -> Call:
        """A call's gradients by copies of the tensors."""

        def run() -> Any:
            given = [t.detach().clone().requires_grad_() for t in tensors]
            return torch.autograd.grad(call(*given).square().sum(), given)

        return run

    def of_convolution(images: int, stride: int = 1, groups: int = 1) -> Call:
        return both_ways(
            lambda x, w: functional.conv2d(x, w, None, stride, 1, groups=groups),
            image[:images],
            filters[:, : 8 // groups],
        )

    def of_attention() -> Any:
        given = [heads.detach().requires_grad_() for _ in range(3)]
        return torch.autograd.grad(
            functional.scaled_dot_product_attention(*given, is_causal=True).square().sum(), given
        )

    return {
        "elementwise": lambda: torch.exp(x),
        "a row": lambda: x + row,
        "a column, of doubles": lambda: x.double() * column,
        "transposed": lambda: x.t() * 2 + x.t().contiguous(),
        "softmax": lambda: x.softmax(-1),
        "softmax of columns": lambda: x.log_softmax(0),
        "all": lambda: torch.randn(1 << 20).sum() * 0 + x.repeat(2, 1).sum(),
        "rows": lambda: x.sum(1),
        "columns": lambda: x.mean(0),
        "places": lambda: x.argmax(1),
        "columns of doubles": lambda: x.double()[:, :800].prod(0),
        "places in columns": lambda: torch.stack([x.argmax(0), x.t().argmin(1)]),
        "product": lambda: x @ x.t(),
        "tall product": lambda: x.t() @ x[:, :50],
        "product and a row": both_ways(torch.nn.functional.linear, x, torch.randn(900, 1100), torch.randn(900)),
        "batches": lambda: heads @ heads.transpose(2, 3),
        "convolution": of_convolution(2),
        "convolution of one image": of_convolution(1),
        "convolution of half": of_convolution(1, stride=2),
        "convolution in groups": of_convolution(1, groups=4),
        "convolution of each channel": both_ways(
            lambda x, w: functional.conv2d(x, w, groups=8), image[:1], torch.randn(8, 1, 5, 5)
        ),
        "convolution of small images": both_ways(
            lambda x, w: functional.conv2d(x, w, padding=1), torch.randn(9, 8, 7, 7), filters
        ),
        "convolution of small images in groups": both_ways(
            lambda x, w: functional.conv2d(x, w, stride=2, padding=1, groups=2), torch.randn(5, 8, 9, 9), filters[:, :4]
        ),
        "pooling": both_ways(lambda x: functional.max_pool2d(x, 3, 2, 1), image[:1]),
        "pooling of one map": lambda: functional.max_pool2d(x[None], 3),
        "embedding": both_ways(lambda table: functional.embedding(at % 50, table), x),
        "bags": lambda: functional.embedding_bag(at.view(50, 10), x, mode="mean"),
        "permuted": lambda: heads.permute(2, 1, 0, 3).contiguous(),
        "a fill": lambda: torch.full((700, 400), 3.0).clone(),
        "attention": of_attention,
        "layer norm": gradients,
        "rows of a table": lambda: torch.index_select(x, 0, at),
    }


@pytest.mark.parametrize("name", calls())
def test_no_bit_depends_on_how_many_threads_there_are(name: str) -> None:
    found = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        result = calls()[name]()
        found.append([t.detach().numpy().tobytes() for t in (result if isinstance(result, tuple) else (result,))])
    assert found[0] == found[1] == found[2]


def test_an_error_in_one_part_is_the_calls() -> None:
    torch.set_num_threads(4)
    ones = torch.ones(1 << 20, dtype=torch.int64)
    divisors = ones.clone()
    divisors[-1] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.div(ones, divisors, rounding_mode="trunc")
    assert (ones + ones).sum().item() == 2 << 20


def test_threads_may_run_where_they_might_before_they_slept() -> None:
    """Woken, a thread is kept from its caller's core until it runs, and from none afterwards."""

    def cores(threads: str) -> set[str]:
        """Of threads, on which they may run."""
        lists = [(thread / "status").read_text() for thread in Path("/proc/self/task").glob(threads)]
        return {line for text in lists for line in text.splitlines() if line.startswith("Cpus_allowed_list")}

    torch.set_num_threads(4)
    x = torch.randn(700, 1100)
    x.exp()
    before = cores(str(threading.get_native_id()))
    for _ in range(20):
        time.sleep(0.005)  # longer than a thread looks for work
        x.exp()
    deadline = time.monotonic() + 10
    while cores("*") != before and time.monotonic() < deadline:
        x.exp()  # whoever was asleep wakes up
    assert cores("*") == before


def test_a_forked_child_has_threads_of_its_own() -> None:
    torch.set_num_threads(4)
    x = torch.ones(1 << 20)
    assert (x + x).sum().item() == 2 << 20
    child = os.fork()
    if child == 0:
        os._exit(0 if (x + x).sum().item() == 2 << 20 else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert (x + x).sum().item() == 2 << 20


def test_threads_of_a_program_call_kernels_at_the_same_time() -> None:
    torch.set_num_threads(3)
    x = torch.ones(1 << 19)
    sums: list[float] = []
    threads = [threading.Thread(target=lambda: sums.extend((x * 2).sum().item() for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [float(1 << 20)] * 80
