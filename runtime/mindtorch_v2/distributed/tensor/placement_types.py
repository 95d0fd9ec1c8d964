"""How a tensor may lie on the processes of a group: in parts, whole in each, as summands. Values, no more here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """One of the three."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part, and along ``dim`` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether what the processes have is still to be combined, and by ``reduce_op`` if that is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part along ``dim``."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """How many of so many rows the process ``rank`` has, and which is its first: as `torch.chunk` cuts."""
        whole = -(-curr_local_size // num_chunks)
        offset = min(curr_local_size, whole * rank)
        return min(whole, curr_local_size - offset), offset


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Parts along ``dim`` of each of ``split_factor`` parts of the whole."""

    split_factor: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a summand, or what else ``reduce_op`` combines."""

    reduce_op: str = "sum"
