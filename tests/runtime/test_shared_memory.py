"""Tensors in memory that several processes see."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.multiprocessing as mp
from tests.runtime.both import agree


def test_sharing_keeps_the_tensor() -> None:
    def case(torch: Any) -> Any:
        x = torch.arange(6.0).view(2, 3)
        part = torch.arange(6.0)[2:].requires_grad_()
        before = x.is_shared()
        same = x.share_memory_() is x
        part.share_memory_()
        layer = torch.nn.Linear(2, 2).share_memory()
        return before, same, x, x.is_shared(), part, part.storage_offset(), layer.weight.is_shared()

    agree(case)


def add_one(requests: Any, answers: Any) -> None:
    x = requests.get()
    x.add_(1)
    answers.put(torch.nn.Parameter(x * 2))
    requests.get()


def test_both_sides_of_a_queue_see_the_same_memory() -> None:
    context = mp.get_context("fork")
    requests, answers = context.Queue(), context.Queue()
    child = context.Process(target=add_one, args=(requests, answers))
    child.start()
    x = torch.zeros(3)
    requests.put(x)
    answer = answers.get(timeout=60)
    requests.put(None)
    child.join(60)
    assert x.tolist() == [1, 1, 1]
    assert isinstance(answer, torch.nn.Parameter)
    assert answer.tolist() == [2, 2, 2]
    assert answer.is_shared()


def test_a_conjugate_stays_one_in_another_process() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j]).share_memory_()
    mp.start_processes(conjugate_write, (x.conj(),), nprocs=1, start_method="spawn")
    assert x.tolist() == [1 + 2j, 9 + 1j]


def conjugate_write(number: int, x: Any) -> None:
    assert x.is_conj()
    x[1] = 9 - 1j


def write(number: int, x: Any) -> None:
    if number == 1:
        raise ValueError("not this one")
    x[number] = number + 1


def test_what_a_process_raises_is_told() -> None:
    x = torch.zeros(2).share_memory_()
    mp.start_processes(write, (x,), nprocs=1, start_method="fork")
    assert x.tolist() == [1, 0]
    with pytest.raises(mp.ProcessRaisedException, match="not this one"):
        mp.start_processes(write, (x,), nprocs=2, start_method="fork")


def test_a_tensor_with_a_history_is_not_sent() -> None:
    from multiprocessing.reduction import ForkingPickler

    agree(lambda torch: ForkingPickler.dumps(torch.ones(1, requires_grad=True) * 2), "refusing to serialize non-leaf")
