"""Data sets: samples by index, or one after the other; and sets made of others."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..._core import Tensor
from ..._creation import randperm
from ..._generators import Generator, default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by index: a class of its own defines ``__getitem__``, most times ``__len__``.

    One that has ``__getitems__(indices)`` is asked for a whole batch at once.
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples one after the other: a class of its own defines ``__iter__``.

    Every worker of a `DataLoader` has a copy, which asks `get_worker_info` for its part of the samples.
    """

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample ``i`` is a tuple of the i-th row of each tensor. Raises AssertionError for different numbers of rows."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(each.size(0) != tensors[0].size(0) for each in tensors):
            raise AssertionError(f"Size mismatch between tensors: they have {[t.size(0) for t in tensors]} rows")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(each[index] for each in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _samples(dataset: Any, indices: list[int]) -> Any:
    """The samples at several indices: at once where the data set can."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    found = dataset.__getitems__(indices)
    if len(found) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}")
    return found


class StackDataset(Dataset[Any]):
    """Sample ``i`` is a tuple, or by keyword a dict, of the i-th sample of each data set.

    Raises ValueError for data sets of different lengths, for both forms at once, and for none.
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        lengths = {len(each) for each in args or kwargs.values()}
        if len(lengths) > 1:
            raise ValueError(f"Size mismatch between datasets: they have {sorted(lengths)} samples")
        self.datasets, self._length = args or kwargs, lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple(each[index] for each in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        named = isinstance(self.datasets, dict)
        columns = [_samples(each, indices) for each in (self.datasets.values() if named else self.datasets)]
        rows = [tuple(column[i] for column in columns) for i in range(len(indices))]
        return [dict(zip(self.datasets, row, strict=True)) for row in rows] if named else rows

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """The samples of several data sets, one set after the other. Raises AssertionError for none, and iterable ones."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Any) -> list[int]:
        """Where each data set ends."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """The samples of several iterable data sets, one set after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield each

    def __iter__(self) -> Iterator[Any]:
        for each in self._checked():
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self._checked())


class Subset(Dataset[_T_co]):
    """The samples of a data set at some indices.

    Raises NotImplementedError for a class that derives from it with a ``__getitem__`` and no ``__getitems__``: batches
    would not see it.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__, by which batches are read: define "
                "__getitems__(self, indices), too, as in `return [self[i] for i in indices]`"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> Any:
        wanted = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(wanted)
        return [self.dataset[i] for i in wanted]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Parts of a data set of these lengths, drawn without replacement; or of these fractions, which add up to 1.

    What is left of fractions goes to the first parts, one sample each. Raises ValueError for lengths that do not add up
    to the data set's, and for fractions that are none.
    """
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for i, fraction in enumerate(sizes):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(len(dataset) * fraction) for fraction in sizes]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(sizes) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(sizes), generator=generator).tolist()
    return [
        Subset(dataset, order[end - size : end]) for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)
    ]
