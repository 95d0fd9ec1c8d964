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


@pytest.mark.parametrize("first", ["base", "view", "storage"])
def test_views_move_with_what_they_show(first: str) -> None:
    def case(torch: Any) -> Any:
        base = torch.arange(9.0).reshape(3, 3)
        view = base[:, 1]
        moved = {"base": base, "view": view, "storage": base.untyped_storage()}[first]
        moved.share_memory_()
        base.mul_(2)
        view[0] = -1
        return base, view, base.is_shared(), view.is_shared(), base.data_ptr() + 4 == view.data_ptr(), view._version

    agree(case)


def test_memory_that_numpy_holds() -> None:
    """The array stays what it is, and the tensor is shared."""
    x = torch.arange(4.0)
    array, view = x.numpy(), x[1:]
    x.share_memory_()
    assert x.is_shared()
    x.fill_(7)
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert view.tolist() == [1.0, 2.0, 3.0]


def test_what_travels_together_stays_together() -> None:
    """A storage, its tensor and views of it are over one storage again, here and in another process."""

    def case(torch: Any) -> Any:
        x = torch.arange(9.0).reshape(3, 3)
        queue = torch.multiprocessing.get_context("fork").Queue()
        sent = [x.storage(), x.untyped_storage(), x, x[2], x[:, 1]]
        queue.put(sent)
        got = queue.get(timeout=60)
        got[3].fill_(5)
        one = [each._cdata == x.untyped_storage()._cdata for each in (got[0], got[1])]
        one += [each.untyped_storage()._cdata == x.untyped_storage()._cdata for each in got[2:]]
        return one, got[0].tolist(), x, got[4], type(got[0]).__name__, got[0].dtype is torch.float32, len(got[1])

    agree(case)


def halve(requests: Any, answers: Any) -> None:
    whole, part = requests.get()
    part.div_(2)
    answers.put((whole.sum().item(), whole.untyped_storage()._cdata == part.untyped_storage()._cdata))


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_views_in_another_process(start: str) -> None:
    context = mp.get_context(start)
    requests, answers = context.Queue(), context.Queue()
    child = context.Process(target=halve, args=(requests, answers))
    child.start()
    whole = torch.full((4, 2), 2.0)
    part = whole[1:3]
    requests.put((whole, part))
    total, together = answers.get(timeout=120)
    child.join(60)
    assert (total, together) == (12.0, True)
    assert part.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert whole.sum().item() == 12


def test_one_mapping_for_what_is_sent_often() -> None:
    x = torch.zeros(1000)
    queue = mp.get_context("fork").Queue()
    for _ in range(50):
        queue.put(x)
    got = [queue.get(timeout=60) for _ in range(50)]
    assert len({one.data_ptr() for one in got}) == 1
    got[0].fill_(3)
    assert got[-1].sum().item() == 3000
    assert x.sum().item() == 3000
