"""Samplers: in which order the samples of a data set are read, and in which batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ..._core import dtypes
from ..._creation import as_tensor, empty, randint, randperm
from ..._generators import Generator
from ..._ops import ops

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)
_INT64 = dtypes["int64"]
_AT_ONCE = 32  # indices with replacement are drawn so many at a time


def drawn_seed(generator: Any = None) -> int:
    """A seed: 63 bits of a generator, by default those of the CPU's."""
    return int(empty((), dtype=_INT64).random_(generator=generator).item())


def _require_count(num_samples: Any) -> None:
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


class Sampler(Generic[_T_co]):
    """Indices, or lists of them: a class of its own defines ``__iter__``, most times ``__len__``."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """All indices in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """``num_samples`` indices, by default as many as there are samples: a permutation, or with ``replacement`` any.

    Without a generator, each pass draws a seed for one of its own.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed())
        left = self.num_samples
        if self.replacement:
            for _ in range(left // _AT_ONCE):
                yield from randint(count, (_AT_ONCE,), dtype=_INT64, generator=generator).tolist()
            yield from randint(count, (left % _AT_ONCE,), dtype=_INT64, generator=generator).tolist()
        else:
            for _ in range(left // count):
                yield from randperm(count, generator=generator).tolist()
            yield from randperm(count, generator=generator).tolist()[: left % count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for at in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[at]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices, each with a probability as its weight is to all weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _require_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights: Any = as_tensor(weights, dtype=dtypes["float64"])
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        options = {"generator": self.generator}
        yield from ops.aten.multinomial(self.weights, self.num_samples, self.replacement, **options).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler; the last one may be shorter, or is left out."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
