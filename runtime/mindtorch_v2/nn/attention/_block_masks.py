"""Which blocks of the scores of attention a mask leaves: what `flex_attention` takes as ``block_mask``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, TypeAlias

from ..._core import Tensor, dtypes
from ..._creation import arange, tensor, zeros
from ...func import vmap
from ..functional import pad

__all__ = ["BlockMask", "MaskMod", "ScoreMod", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]
__all__ += ["DEFAULT_BLOCK_SIZE", "over_all_places"]

MaskMod: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # of sample, head, query and key
ScoreMod: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]  # of the score, and these

DEFAULT_BLOCK_SIZE = 128
_I32, _I64, _BOOL = dtypes["int32"], dtypes["int64"], dtypes["bool"]


def over_all_places(
    function: Callable[..., Tensor], sizes: Sequence[int], dtype: Any, device: Any, *score: Tensor
) -> Tensor:
    """What a function of scalars gives at each place of scores (samples, heads, queries, keys), of that shape.

    It is called under `vmap` with the score there, where one is given, and the four numbers of the place, of ``dtype``.
    """
    for axis in (3, 2, 1, 0):
        dims = [0 if index == axis else None for index in range(4)]
        function = vmap(function, in_dims=((0,) * len(score)) + tuple(dims))
    result: Tensor = function(*score, *(arange(size, dtype=dtype, device=device) for size in sizes))
    return result


def create_mask(
    mod_fn: MaskMod | ScoreMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """The mask of shape (B, H, Q_LEN, KV_LEN) that a function of four numbers, or of a score and them, describes.

    True is a score that counts; of scores, one that is not -inf after a 0 was handed in. B and H of None are 1. Raises
    AssertionError for a function of another number of arguments, TypeError for none.
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    count = _count_positional(mod_fn)
    if count == 4:
        return over_all_places(mod_fn, sizes, _I64, device)
    if count == 5:
        kept: Tensor = ~over_all_places(mod_fn, sizes, _I64, device, zeros(sizes, device=device)).isneginf()
        return kept
    raise AssertionError(f"Expected 4 or 5 positional args, got {count}")


def _count_positional(function: Any) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(function).parameters.values()
    return sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in given)


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True: every score counts."""
    all_counts: Tensor = batch.new_ones((), dtype=_BOOL)
    return all_counts


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """What all of these leave. Raises RuntimeError for what cannot be called."""
    return _joined(mask_mods, True, Tensor.__and__)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """What one of these leaves at least. Raises RuntimeError for what cannot be called."""
    return _joined(mask_mods, False, Tensor.__or__)


def _joined(parts: tuple[MaskMod, ...], start: bool, join: Callable[[Tensor, Tensor], Tensor]) -> MaskMod:
    if not all(callable(part) for part in parts):
        raise RuntimeError(f"All inputs should be callable mask_mods: {parts}")

    def joined(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
        result: Tensor = batch.new_full((), start, dtype=_BOOL)
        for part in parts:
            result = join(result, part(batch, head, token_q, token_kv))
        return result

    return joined


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The function of some samples and heads of a mask, by PyTorch's name of it."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: its numbers of samples and heads are those of the whole. Set "
        "block_mask.mask_mod to a function that takes the slice's."
    )


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Of a matrix that is 1 at the blocks there are: how many each row has, and which, before the others."""
    return blocks.sum(-1).to(_I32), blocks.argsort(dim=-1, descending=True, stable=True).to(_I32).contiguous()


def _marked(count: Tensor, indices: Tensor, columns: int) -> Tensor:
    """The matrix (..., rows, columns) that is 1 at the first ``count`` of each row's ``indices``."""
    counts = arange(indices.shape[-1], device=count.device) < count.unsqueeze(-1)
    spare = indices.to(_I64).where(counts, tensor(columns, device=count.device))
    made = zeros((*count.shape, columns + 1), dtype=_I32, device=count.device)
    marked: Tensor = made.scatter(-1, spare, 1)[..., :columns].contiguous()
    return marked


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    query, key = (size, size) if isinstance(size, int) else size
    return query, key


@dataclass(eq=False)
class BlockMask:
    """Which blocks of ``BLOCK_SIZE`` (queries, keys) of the scores are computed, for each sample and head.

    ``kv_num_blocks`` (samples, heads, rows) says how many blocks of keys a row of blocks has and ``kv_indices``
    (samples, heads, rows, columns) which, at the begin of each row: in these ``mask_mod`` says what counts. In the
    blocks that ``full_kv_num_blocks`` and ``full_kv_indices`` name, if there are any, all counts. The tensors with
    ``q`` are the same by columns. As in PyTorch, whose format for block-sparse masks this is.
    """

    seq_lengths: tuple[int, int]
    kv_num_blocks: Tensor
    kv_indices: Tensor
    full_kv_num_blocks: Tensor | None
    full_kv_indices: Tensor | None
    q_num_blocks: Tensor | None
    q_indices: Tensor | None
    full_q_num_blocks: Tensor | None
    full_q_indices: Tensor | None
    BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE)
    mask_mod: MaskMod = noop_mask

    _TENSORS: ClassVar[tuple[str, ...]] = (
        *("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"),
        *("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"),
    )

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask of the blocks by rows; ``seq_lengths`` of None are whole blocks.

        Raises RuntimeError for indices of fewer than two dimensions, AssertionError for one of the two tensors of full
        blocks without the other.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = _pair(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        columns = kv_indices.shape[-1]
        tensors: list[Any] = [kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices]
        for count, indices in (tensors[:2], tensors[2:]):
            absent = count is None or not compute_q_blocks
            tensors += (None, None) if absent else _listed(_marked(count, indices, columns).transpose(-2, -1))
        held = dict(zip(cls._TENSORS, tensors, strict=True))
        return cls(seq_lengths, **held, BLOCK_SIZE=size, mask_mod=mask_mod or noop_mask)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, the tensors, a block's size and the function; with ``flatten`` both pairs as two numbers."""
        tensors = (getattr(self, name) for name in self._TENSORS)
        if flatten:
            return (*self.seq_lengths, *tensors, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the mask: samples, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many scores there are, computed or not."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    def sparsity(self) -> float:
        """How many percent of the scores are not computed; negative where blocks reach far beyond the lengths."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 at the blocks that are computed, of shape (samples, heads, rows, columns), int32."""
        partial, full = self.marked()
        return partial if full is None else partial | full

    def marked(self) -> tuple[Tensor, Tensor | None]:
        """1 at the blocks in which the function says what counts, and at those in which all does."""
        columns = self.kv_indices.shape[-1]
        partial = _marked(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial, None
        return partial, _marked(self.full_kv_num_blocks, self.full_kv_indices, columns)

    def at_scores(self, blocks: Tensor) -> Tensor:
        """A matrix of blocks as one of scores (samples, heads, queries, keys)."""
        spread = blocks.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
        cut: Tensor = spread[..., : self.seq_lengths[0], : self.seq_lengths[1]]
        return cut

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on that device."""
        return self._with(lambda one: one.to(device))

    def _with(self, change: Callable[[Tensor], Tensor]) -> BlockMask:
        held = {name: getattr(self, name) for name in self._TENSORS}
        changed: dict[str, Any] = {name: None if one is None else change(one) for name, one in held.items()}
        return replace(self, **changed)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some samples and heads: a number keeps its dimension. Raises IndexError beyond them.

        Its function does not know that samples are other ones by now: to attend by it, set ``mask_mod`` anew.
        """
        given = index if isinstance(index, tuple) else (index,)
        for one, size, what in zip(given, self.shape[:-2], ("samples", "heads"), strict=False):
            if isinstance(one, int) and not -size <= one < size:
                raise IndexError(f"index {one} is out of bounds: the mask has {size} {what}")
        kept = tuple(slice(one, one + 1 or None) if isinstance(one, int) else one for one in given)
        return replace(self._with(lambda one: one[kept]), mask_mod=_sliced_mask_mod_error)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left corner of a mask, of so many queries and keys."""
        rows, columns = (-(-new // size) for new, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True))
        lists: list[Any] = []
        for blocks in self.marked():
            lists += (None, None) if blocks is None else _listed(blocks[..., :rows, :columns])
        lists += (self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len))
        return self.from_kv_blocks(*lists)

    def __repr__(self) -> str:
        held = {name: getattr(self, name) for name in self._TENSORS}
        lines = [f"{name}={None if one is None else one.shape!r}" for name, one in held.items()]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        lines.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"

    def __str__(self) -> str:
        drawn = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{drawn}\n)"

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A drawing of the blocks of the first ``limit`` samples and heads, on so many rows and columns at most.

        A cell is full where all its blocks are computed, dotted where some are. -1 is one cell a block.
        """
        blocks = self.to_dense()
        rows, columns = blocks.shape[-2:]
        height, width = (rows, columns) if grid_size == -1 else _pair(grid_size)
        steps = max(1, -(-rows // height)), max(1, -(-columns // width))
        heads = list(product(*(range(size) for size in blocks.shape[:-2])))
        parts = [f"{place}\n{_drawn(blocks[place].tolist(), *steps)}\n" for place in heads[:limit]]
        if len(heads) > limit:
            parts.append(
                "...\nTo print out more, set BlockMask.to_string(limit=N)\n"
                "You can also index (BlockMask[batch, head]) to choose a specific batch or head"
            )
        return "\n".join(parts)


def _drawn(blocks: list[list[int]], height: int, width: int) -> str:
    lines = []
    for row in range(0, len(blocks), height):
        line = ""
        for column in range(0, len(blocks[0]), width):
            cell = [one for part in blocks[row : row + height] for one in part[column : column + width]]
            line += "██" if all(cell) else "░░" if any(cell) else "  "
        lines.append(line)
    return "\n".join(lines)


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks of a mask by a function of sample, head, query and key, which returns True for a score that counts.

    The whole mask is made on the way, one bool a score. Without ``separate_full_blocks`` the function is asked in full
    blocks too. Raises what `create_mask` raises, ValueError for a size that is no pair.
    """
    size = _pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    filled = pad(mask, (0, -KV_LEN % size[1], 0, -Q_LEN % size[0]))
    split = filled.unflatten(-1, (-1, size[1])).unflatten(-3, (-1, size[0]))
    counts = split.to(_I32).sum((-3, -1))
    full = (counts == size[0] * size[1]) if separate_full_blocks else None
    partial = counts > 0 if full is None else (counts > 0) & ~full
    lists: list[Any] = [*_listed(partial.to(_I32)), *((None, None) if full is None else _listed(full.to(_I32)))]
    lists += (size, mask_mod, (Q_LEN, KV_LEN))
    return BlockMask.from_kv_blocks(*lists)
