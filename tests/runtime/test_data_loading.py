"""``torch.utils.data``: order, random numbers and batches are PyTorch's, whoever reads them; failures are told."""

from __future__ import annotations

import importlib
import os
import random
import re
import signal
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import mindtorch_v2
from tests.runtime.both import agree, agree_or_raise

Pair = namedtuple("Pair", "a b")


def data(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.data")


class Drawing:
    """Samples with random numbers of every generator that a worker seeds."""

    def __init__(self, torch: Any) -> None:
        self.draw = torch.rand

    def __len__(self) -> int:
        return 7

    def __getitem__(self, index: int) -> Any:
        return {"x": self.draw(2), "i": index, "n": np.random.rand(2), "r": random.random(), "s": str(index)}


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}], ids=str)
def test_order_and_random_numbers(options: dict[str, Any]) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(7)
        np.random.seed(1)
        random.seed(1)
        loader = data(torch).DataLoader(Drawing(torch), batch_size=3, shuffle=True, **options)
        return [list(loader) for _ in range(3)], len(loader), torch.rand(1)

    agree(case)


class Threads:
    """How many threads the kernels may use that make a sample."""

    def __init__(self, torch: Any) -> None:
        self.count = torch.get_num_threads

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        return int(self.count())


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_worker_uses_one_core(how: str) -> None:
    def case(torch: Any) -> Any:
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            options = {"num_workers": 2, "multiprocessing_context": how}
            return list(data(torch).DataLoader(Threads(torch), batch_size=1, **options)), torch.get_num_threads()
        finally:
            torch.set_num_threads(before)

    agree(case)


@pytest.mark.parametrize("persistent", [True, False])
def test_a_pass_that_is_left(persistent: bool) -> None:
    loader = data(mindtorch_v2).DataLoader(range(40), batch_size=2, num_workers=2, persistent_workers=persistent)
    for _ in loader:
        break
    assert [each.tolist() for each in loader] == [[i, i + 1] for i in range(0, 40, 2)]


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}], ids=str)
def test_iterable_data_sets(options: dict[str, Any]) -> None:
    def case(torch: Any) -> Any:
        class Stream(data(torch).IterableDataset):  # type: ignore[misc]
            def __iter__(self) -> Any:
                info = data(torch).get_worker_info()
                return iter(range(10) if info is None else range(info.id, 10, info.num_workers))

        loader = data(torch).DataLoader(Stream(), batch_size=2, drop_last=True, **options)
        return list(loader), list(loader)

    agree(case)


class Failing:
    def __init__(self, fail: Any) -> None:
        self.fail = fail

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return self.fail() if index == 3 else index


def raise_key_error() -> int:
    raise KeyError("nope")


def kill_itself() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def wait_long() -> int:
    signal.pause()
    return 0


@pytest.mark.parametrize(
    ("fail", "options", "said"),  # by PyTorch, which takes 10 seconds to end its workers then
    [
        (raise_key_error, {}, "Caught KeyError in DataLoader worker process 1.\nOriginal Traceback"),
        (kill_itself, {}, "DataLoader worker (pid"),
        (wait_long, {"timeout": 1}, "DataLoader timed out after 1 seconds"),
    ],
)
def test_failures_are_told(fail: Any, options: dict[str, Any], said: str) -> None:
    error = KeyError if fail is raise_key_error else RuntimeError
    with pytest.raises(error, match=re.escape(said)):
        list(data(mindtorch_v2).DataLoader(Failing(fail), batch_size=2, num_workers=2, **options))


def test_batches_come_in_shared_memory_from_spawned_workers() -> None:
    rows = data(mindtorch_v2).TensorDataset(mindtorch_v2.arange(6.0), mindtorch_v2.arange(12).view(6, 2))
    loader = data(mindtorch_v2).DataLoader(rows, batch_size=4, num_workers=1, multiprocessing_context="spawn")
    first, second = list(loader)
    assert first[0].tolist() + second[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert first[1].tolist() + second[1].tolist() == rows.tensors[1].tolist()
    assert all(each.is_shared() for each in (*first, *second))


def test_samplers() -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(3)
        d, rows = data(torch), range(6)
        made = [
            d.RandomSampler(rows), d.RandomSampler(rows, num_samples=8),
            d.RandomSampler(rows, replacement=True, num_samples=40), d.SubsetRandomSampler([1, 4, 2]),
            d.WeightedRandomSampler([0.1, 0.9, 0.4], 5), d.BatchSampler(d.SequentialSampler(rows), 4, True),
            d.BatchSampler(d.SequentialSampler(rows), 4, False), d.DistributedSampler(rows, 4, 1),
            d.DistributedSampler(rows, 4, 3, shuffle=False, drop_last=True), d.DistributedSampler(range(2), 5, 4),
        ]  # fmt: skip
        splits = [*d.random_split(range(9), [0.5, 0.3, 0.2]), *d.random_split(rows, [2, 4])]
        return [(list(each), len(each)) for each in made], [split.indices for split in splits]

    agree(case)


def test_data_sets_of_others() -> None:
    def case(torch: Any) -> Any:
        d = data(torch)
        joined = d.ConcatDataset([range(3), range(10, 12)])
        stacked = d.StackDataset(a=range(3), b=d.Subset(range(5), [4, 3, 2]))
        return [joined[i] for i in range(-5, 5)], len(joined), stacked[1], stacked.__getitems__([0, 2]), len(stacked)

    agree(case)


@pytest.mark.parametrize(
    "batch",
    [
        [Pair(1, 2.0), Pair(3, 4.0)], ["a", "b"], [(1, 2.0), (3, 4.0)], [[1, 2], [3, 4]],
        [np.float32(1), np.float32(2)],
        [np.ones(2), np.zeros(2)], [True, False], [{"a": b"x"}, {"a": b"y"}], [None], [[1], [1, 2]], [np.array(["a"])],
        [np.array(1.0), np.array(2)],
    ],
    ids=repr,
)  # fmt: skip
def test_collating(batch: Any) -> None:
    agree_or_raise(lambda torch: data(torch).default_collate(batch))
    agree_or_raise(lambda torch: data(torch).default_convert(batch))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0}, {"num_workers": -1}, {"prefetch_factor": 2}, {"persistent_workers": True}, {"timeout": -1},
        {"shuffle": True, "sampler": [1]}, {"batch_sampler": [[1]], "batch_size": 2}, {"batch_size": None,
        "drop_last": True}, {"multiprocessing_context": "fork"}, {"num_workers": 1, "multiprocessing_context": "nope"},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_do_not_fit(options: dict[str, Any]) -> None:
    agree(lambda torch: data(torch).DataLoader(range(4), **options), "")
