"""What runs in a worker: it fetches batches by the indices it is told, until it is told to end."""

from __future__ import annotations

import os
import queue
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....backends._threads import set_num_threads
from ....random import manual_seed

__all__ = ["End", "Failure", "Job", "Resume", "WorkerInfo", "fetcher", "get_worker_info", "run_worker"]

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds after which a worker looks whether its parent is there


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker a process is: ``id`` of ``num_workers``, its seed, and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass(frozen=True)
class Job:
    """What a worker is started with."""

    dataset: Any
    iterable: bool
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], None] | None
    base_seed: int
    num_workers: int


@dataclass(frozen=True)
class End:
    """A worker's iterable data set has no more."""

    worker: int


@dataclass(frozen=True)
class Resume:
    """Another pass begins; a worker sends it back, so that what is left of the last one is known."""


class Failure:
    """An exception with its traceback as text, which another process raises again."""

    def __init__(self, where: str) -> None:
        kind, error, trace = sys.exc_info()
        self.kind: Any = kind
        self.text = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same class; RuntimeError where the class takes more than a message."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            raise KeyError(_Shown(text))
        try:
            error = self.kind(text)
        except TypeError:
            raise RuntimeError(text) from None
        raise error


class _Shown(str):
    """A string that is shown as it is: KeyError shows the ``repr`` of what it is given."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_worker_info: WorkerInfo | None = None  # in a worker, what it is


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a `DataLoader`, which one it is; None in the main process."""
    return _worker_info


def fetcher(job: Job) -> Callable[[Any], Any]:
    """A function that gives the batch, or the sample, of what a sampler says; StopIteration where there is no more."""
    return _Stream(job) if job.iterable else _Lookup(job)


class _Lookup:
    """Samples by index."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, index: Any) -> Any:
        dataset = self._job.dataset
        if not self._job.batched:
            return self._job.collate(dataset[index])
        if getattr(dataset, "__getitems__", None):
            return self._job.collate(dataset.__getitems__(index))
        return self._job.collate([dataset[i] for i in index])


class _Stream:
    """The next samples."""

    def __init__(self, job: Job) -> None:
        self._job, self._samples, self._ended = job, iter(job.dataset), False

    def __call__(self, index: Any) -> Any:
        if self._ended:
            raise StopIteration
        if not self._job.batched:
            return self._job.collate(next(self._samples))
        batch: list[Any] = []
        while len(batch) < len(index):
            try:
                batch.append(next(self._samples))
            except StopIteration:
                self._ended = True
                break
        if not batch or (self._job.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self._job.collate(batch)


def _seed(base_seed: int, worker: int) -> None:
    """Seeds all generators that a data set may use: Python's, ours, and NumPy's."""
    import numpy as np

    random.seed(base_seed + worker)
    manual_seed(base_seed + worker)
    np.random.seed(_generate_state(base_seed, worker))


def _generate_state(base_seed: int, worker: int) -> list[int]:
    """Four words for NumPy's generator: the hash of its ``SeedSequence`` of worker and seed. Source: O'Neill, 2015."""
    mask, constant = 0xFFFFFFFF, 0x43B0D7E5

    def hashed(value: int, factor: int) -> int:
        nonlocal constant
        value = (value ^ constant) & mask
        constant = constant * factor & mask
        value = value * constant & mask
        return (value ^ value >> 16) & mask

    def mixed(x: int, y: int) -> int:
        value = (0xCA01F9DD * x - 0x4973F715 * y) & mask
        return (value ^ value >> 16) & mask

    pool = [hashed(word, 0x931E8875) for word in (worker, base_seed & mask, base_seed >> 32, 0)]
    for source in range(4):
        for target in range(4):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source], 0x931E8875))
    constant = 0x8B51F9DD
    return [hashed(word, 0x58F38DED) for word in pool]


def run_worker(job: Job, worker: int, indices: Any, results: Any, done: Any) -> None:
    """A worker's whole life. ``indices`` is a queue of (number, index), Resume or None; ``results`` a pipe's end."""
    global _worker_info
    parent = os.getppid()
    set_num_threads(1)  # the workers share the cores: threads of their kernels would be in one another's way
    try:
        _seed(job.base_seed, worker)
        _worker_info = WorkerInfo(worker, job.num_workers, job.base_seed + worker, job.dataset)
        where = f"in DataLoader worker process {worker}"
        failure, fetch = None, None
        try:
            if job.init is not None:
                job.init(worker)
            fetch = fetcher(job)
        except Exception:  # whatever it is, the main process raises it
            failure = Failure(where)
        ended = False
        while os.getppid() == parent:
            try:
                told = indices.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if told is None:
                break
            if isinstance(told, Resume):
                results.send((told, None))
                ended, fetch = False, fetcher(job)
                continue
            if done.is_set() or ended:
                continue
            number, index = told
            answer: Any = failure
            if answer is None:
                try:
                    assert fetch is not None
                    answer = fetch(index)
                except StopIteration:
                    ended = job.iterable
                    answer = End(worker) if ended else Failure(where)
                except Exception:  # as above
                    answer = Failure(where)
            failure = None
            _send(results, number, answer, where)
            del answer
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the parent has it, too; or there is nobody any more


def _send(results: Any, number: int, answer: Any, where: str) -> None:
    """Sends an answer; where it cannot be pickled, what was the matter."""
    try:
        results.send((number, answer))
    except BrokenPipeError:
        raise
    except Exception:  # whatever a class's way of being pickled raises
        results.send((number, Failure(where)))
