"""A sampler for one of several processes that share a data set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..._creation import randperm
from ..._generators import Generator
from ...distributed._groups import get_rank, get_world_size, is_available
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index, from ``rank`` on, of a permutation that `set_epoch` and ``seed`` decide.

    All processes have as many: some indices come twice, or with ``drop_last`` the last ones not at all. What is left
    out of the number of processes and the rank the group of all says; raises ValueError where there is none,
    RuntimeError where none can be (`torch.distributed.is_available`).
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if (num_replicas is None or rank is None) and not is_available():
            raise RuntimeError(
                "Requires distributed package to be available: install mpi4py, or give num_replicas and rank"
            )
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        count = len(dataset)
        left_out = num_replicas if drop_last and count % num_replicas else 0
        self.num_samples = math.ceil((count - left_out) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            indices = randperm(count, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        if not self.drop_last:
            indices = (indices * math.ceil(self.total_size / count)) if count else indices
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Says which pass comes next: each has another permutation, the same in all processes."""
        self.epoch = epoch
