"""``DataLoader``: the batches of a data set, read here or by worker processes."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from ...backends._backend import all_backends
from ._utils.collate import default_collate, default_convert
from ._utils.pin_memory import pin_memory as pinned
from ._utils.worker import Job, fetcher, get_worker_info
from ._workers import Workers
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)
_PREFETCHED = 2  # batches a worker, by default
_SETTLED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _Endless(Sampler[None]):
    """What an iterable data set is asked with: it decides itself."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """The batches of a data set, in the order of a sampler.

    ``batch_size=None`` gives single samples. With ``num_workers`` they are read by as many processes, each
    ``prefetch_factor`` batches ahead (2); ``multiprocessing_context`` says how these are started ("fork", "spawn"), and
    ``persistent_workers`` keeps them between passes. What a worker raises is raised here, with its traceback; one that
    ends by itself, or a batch that takes longer than ``timeout`` seconds, is a RuntimeError. Order and random numbers
    are PyTorch's of the same seed, whatever the number of workers.
    """

    _iterator: Any = None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_processes(num_workers, timeout, prefetch_factor, persistent_workers)
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if iterable:
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = _PREFETCHED if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context = multiprocessing_context
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self._expected: int | None = None  # batches, once `len` was asked of an iterable data set
        self._iterable = iterable
        self.check_worker_number_rationality()
        self._made = True

    def __setattr__(self, attr: str, val: Any) -> None:
        if attr in _SETTLED and "_made" in self.__dict__:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        object.__setattr__(self, attr, val)

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started; None: as the interpreter does by default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        if given is not None:
            if self.num_workers <= 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(given, str):
                known = multiprocessing.get_all_start_methods()
                if given not in known:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                        f"multiprocessing_context={given!r}"
                    )
                given = multiprocessing.get_context(given)
            if not isinstance(given, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={given}"
                )
        self._context = given

    @property
    def _indices(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Any:
        if not self.persistent_workers:
            return _Pass(self)
        if self._iterator is None:
            self._iterator = _Pass(self)
        else:
            self._iterator.begin()
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are put together as batches, by the name that libraries ask for."""
        return self.batch_sampler is not None

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._indices)
        count = len(self.dataset)
        if self.batch_size is not None:
            count = count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        self._expected = count
        return count

    def check_worker_number_rationality(self) -> None:
        """Warns where there are more workers than processors."""
        processors = len(os.sched_getaffinity(0))
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max "
                "number of "
                f"worker in current system is {processors}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_processes(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


class _Pass:
    """One pass over a data set; with persistent workers, one after the other."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader, self._given = loader, 0
        if loader.num_workers == 0 and loader.timeout != 0:
            raise AssertionError("a timeout needs workers: give num_workers, or leave timeout out")
        self._pins = bool(loader.pin_memory) and _can_pin()
        self._indices = iter(loader._indices)  # before the seed is drawn, as the order of random numbers is PyTorch's
        job = Job(
            loader.dataset,
            loader._iterable,
            loader.batch_sampler is not None,
            loader.collate_fn,
            loader.drop_last,
            loader.worker_init_fn,
            drawn_seed(loader.generator),
            loader.num_workers,
        )
        self._workers: Workers | None = None
        if loader.num_workers == 0:
            self._fetch = fetcher(job)
            return
        context = loader.multiprocessing_context or multiprocessing.get_context()
        ahead: Any = loader.prefetch_factor
        if ahead <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for multi-process loading")
        self._workers = Workers(job, context, ahead, loader.timeout, loader.persistent_workers, loader.in_order)
        self.begin()

    def begin(self) -> None:
        """Begins a pass with the workers there are."""
        self._indices, self._given = iter(self._loader._indices), 0
        if self._workers is not None:
            self._workers.begin(self._indices)

    def __iter__(self) -> _Pass:
        return self

    def __len__(self) -> int:
        return len(self._loader._indices)

    def __next__(self) -> Any:
        data = self._fetch(next(self._indices)) if self._workers is None else self._workers.next_batch()
        self._given += 1
        expected = self._loader._expected
        if expected is not None and self._given > expected:
            several = (
                " For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker: each has all samples, unless it asks get_worker_info() for "
                "its part."
            )
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {expected} (when accessing "
                f"len(dataloader)), but {self._given} samples have been fetched."
                + (several if self._loader.num_workers else ""),
                stacklevel=2,
            )
        return pinned(data) if self._pins else data

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _can_pin() -> bool:
    """Whether a device has pinned memory; warns where none has."""
    if any(backend.pinned is not None for backend in all_backends()):
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=4,
    )
    return False
