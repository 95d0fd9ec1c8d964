"""What attention has to know to be computed, made of an operator's arguments.

Lengths are in a plan that is uploaded before the kernel, which is one launch whatever they are, so that a captured
graph is updated for others.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor

__all__ = [
    "ROW",
    "Problem",
    "Rows",
    "Softmax",
    "TokenSequence",
    "largest_plan",
    "out_shapes",
    "problem_of",
    "refuse",
    "shape_of",
]

_FIELDS, _SEQUENCE_FIELDS = 30, 14  # of the plan: `Field` and `Sequence` of attention.h
_FAR = 2**62  # no key is beyond it
_NONE, _LOGARITHMS, _PEAKS_AND_SUMS = range(3)  # what a kernel leaves of the softmax: `Statistics` of attention.h
ROW = 8  # numbers, all the same, of a row's peak and of its sum
_LAYOUTS = ("BSH", "BSND", "BNSD", "TND")


@dataclass(frozen=True)
class Rows:
    """Where the rows of a tensor lie, in elements: from one token, one head and one sequence (or block) to the next."""

    token: int
    head: int
    sequence: int


@dataclass(frozen=True)
class TokenSequence:
    """A sequence: where its queries begin among all tokens, and how many queries and keys have room, and are there."""

    first: int
    span: int
    queries: int
    key_span: int
    keys: int
    key_first: int = 0  # where its keys begin, where those of all sequences lie one after another


@dataclass(frozen=True)
class Problem:
    """All that a kernel has to know, with tensors as they lie in memory."""

    query: Tensor
    key: Tensor
    value: Tensor
    heads: int
    key_heads: int
    scale: float
    sequences: tuple[TokenSequence, ...]
    tokens: int
    query_rows: Rows
    key_rows: Rows
    value_rows: Rows
    out_rows: Rows
    lse_rows: Rows
    widths: tuple[int, int, int]  # of queries and keys, of their second part, of values
    second: tuple[Tensor, Tensor] | None = None
    second_rows: tuple[Rows, Rows] = (Rows(0, 0, 0), Rows(0, 0, 0))
    mask: Tensor | None = None  # (1 or sequences, queries, keys): what is not 0 is left out
    causal: str = ""  # "", "left" (up) or "right" (down)
    table: Tensor | None = None
    block_size: int = 0
    out_shape: tuple[int, ...] = ()
    lse_shape: tuple[int, ...] = ()

    def shift(self, of: TokenSequence) -> int:
        """A query sees the keys up to its own number plus this."""
        return _FAR if not self.causal else 0 if self.causal == "left" else of.keys - of.queries

    def offset(self, rows: Rows, number: int, first: int) -> int:
        """Where a sequence begins: by its number, or by its first token."""
        return number * rows.sequence if rows.sequence else first * rows.token

    def plan(self, statistics: int) -> bytes:
        """The plan of a kernel that leaves or reads such statistics of the softmax."""
        q, k, v, o, lse = self.query_rows, self.key_rows, self.value_rows, self.out_rows, self.lse_rows
        if statistics == _PEAKS_AND_SUMS:
            lse = Rows(*(ROW * each for each in (lse.token, lse.head, lse.sequence)))
        q2, k2 = self.second_rows
        mask = self.mask
        values = [
            *(self.tokens, self.heads, self.key_heads, *self.widths, len(self.sequences), self.block_size),
            *(0 if self.table is None else self.table.shape[1], mask is not None, statistics, q.token, q.head),
            *(q2.token, q2.head, k.token, k.head, k.sequence, k2.token, k2.head, k2.sequence),
            *(v.token, v.head, v.sequence, o.token, o.head, lse.token, lse.head, 0 if mask is None else mask.shape[-1]),
            self.key.shape[0],
        ]
        for number, each in enumerate(self.sequences):
            at = functools.partial(self.offset, number=number, first=each.first)
            key_at = functools.partial(self.offset, number=number, first=each.key_first)
            masks = 0 if mask is None or mask.shape[0] == 1 else number * mask.shape[1] * mask.shape[2]
            values += [each.first, each.span, each.queries, each.key_span, each.keys, self.shift(each)]
            values += [at(q), at(q2), key_at(k), key_at(k2), key_at(v), at(o), at(lse), masks]
        return struct.pack(f"<{len(values)}q", *map(int, values))


# ---------------------------------------------------------------- from arguments to a problem
def refuse(name: str, what: str, expected: str, got: Any) -> RuntimeError:
    """The error for an argument that does not fit."""
    return RuntimeError(f"{name}: {what}: expected {expected}, got {got}")


def shape_of(name: str, layout: str, query: Tensor, heads: int) -> tuple[int, int, int]:
    """(sequences, tokens of each, width of a head); one sequence for TND."""
    if layout not in _LAYOUTS:
        raise NotImplementedError(f"{name}: input_layout {layout!r} is not there; there are {', '.join(_LAYOUTS)}")
    expected = {"BSH": 3, "TND": 3}.get(layout, 4)
    if query.dim() != expected:
        raise refuse(name, "query", f"{expected} dimensions for {layout}", query.dim())
    if heads < 1:
        raise refuse(name, "the number of heads", "at least 1", heads)
    shape = tuple(query.shape)
    if layout == "BSH":
        if shape[2] % heads:
            raise refuse(name, "query", f"a last dimension that {heads} heads divide", shape[2])
        return shape[0], shape[1], shape[2] // heads
    if layout == "BNSD":
        batch, count, tokens, width = shape
    else:
        batch, tokens, count, width = shape if layout == "BSND" else (1, *shape)
    if count != heads:
        raise refuse(name, "query", f"{heads} heads", count)
    return batch, tokens, width


def _rows(layout: str, tokens: int, heads: int, width: int) -> Rows:
    if layout == "BNSD":
        return Rows(width, tokens * width, heads * tokens * width)
    return Rows(heads * width, width, 0 if layout == "TND" else tokens * heads * width)


def _lengths(name: str, what: str, given: Sequence[int] | None, count: int, most: int) -> list[int]:
    """A length for each sequence; where one is given it is that of all."""
    if given is None:
        return [most] * count
    lengths = [int(each) for each in given]
    if len(lengths) == 1:
        lengths *= count
    if len(lengths) != count:
        raise refuse(name, what, f"{count} lengths", len(lengths))
    if any(not 0 <= each <= most for each in lengths):
        raise refuse(name, what, f"lengths from 0 to {most}", lengths)
    return lengths


def _differences(name: str, what: str, ends: Sequence[int] | None, most: int) -> list[int]:
    """The lengths of sequences that lie one after another, given by where each ends."""
    if not ends:
        raise refuse(name, what, "where each sequence ends, for TND", ends)
    lengths = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    if min(lengths) < 0 or ends[-1] > most:
        raise refuse(name, what, f"numbers that rise to {most} at most", list(ends))
    return lengths


def problem_of(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    heads: int,
    key_heads: int,
    scale: float,
    layout: str,
    queries: Sequence[int] | None,
    keys: Sequence[int] | None,
    mask: Tensor | None,
    sparse_mode: int,
    table: Tensor | None,
    block_size: int,
    second: tuple[Tensor | None, Tensor | None] = (None, None),
) -> Problem:
    key_heads = key_heads or heads
    if heads % key_heads:
        raise refuse(name, "the number of heads", f"a multiple of the {key_heads} of keys", heads)
    batch, tokens, width = shape_of(name, layout, query, heads)
    if key.dtype is not query.dtype or value.dtype is not query.dtype:
        raise refuse(name, "key and value", str(query.dtype), f"{key.dtype} and {value.dtype}")
    query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
    if table is None:
        key_batch, key_tokens, key_width = shape_of(name, layout, key, key_heads)
        value_batch, value_tokens, value_width = shape_of(name, layout, value, key_heads)
        if (value_batch, value_tokens) != (key_batch, key_tokens):
            raise refuse(name, "value", f"as many tokens as of key, {tuple(key.shape)}", tuple(value.shape))
        key_rows = _rows(layout, key_tokens, key_heads, key_width)
        value_rows = _rows(layout, key_tokens, key_heads, value_width)
        block_size = 0
        if key_batch != batch:
            raise refuse(name, "key", f"{batch} sequences", key_batch)
    else:
        key_width, key_rows, found = _cache(name, "key", key, key_heads, block_size)
        value_width, value_rows, value_tokens = _cache(name, "value", value, key_heads, block_size)
        if value_tokens != found or value.shape[0] != key.shape[0]:
            raise refuse(name, "value", f"as many blocks and tokens as of key, {tuple(key.shape)}", tuple(value.shape))
        if table.dim() != 2:
            raise refuse(name, "the table of blocks", "2 dimensions", table.dim())
        block_size, table = found, table.to(torch.int32).contiguous()
        key_tokens = table.shape[1] * block_size
    if key_width != width:
        raise refuse(name, "key", f"heads of {width} elements", key_width)
    second_rows, second_width = (Rows(0, 0, 0), Rows(0, 0, 0)), 0
    both = None
    if second[0] is not None and second[1] is not None:
        both = second[0].contiguous(), second[1].contiguous()
        what = "the second part of keys"
        second_batch, second_tokens, second_width = shape_of(name, layout, both[0], heads)
        if (second_batch, second_tokens) != (batch, tokens) or any(each.dtype is not query.dtype for each in both):
            raise refuse(name, "the second part of queries", f"{batch} x {tokens} tokens", tuple(both[0].shape))
        if table is None:
            found_shape = shape_of(name, layout, both[1], key_heads)
            second_key_rows = _rows(layout, key_tokens, key_heads, second_width)
            fits = found_shape == (batch, key_tokens, second_width)
        else:
            key_second_width, second_key_rows, second_block = _cache(name, what, both[1], key_heads, block_size)
            fits = (key_second_width, second_block) == (second_width, block_size) and both[1].shape[0] == key.shape[0]
        if not fits:
            raise refuse(name, what, f"heads of {second_width} elements and places as of key", tuple(both[1].shape))
        second_rows = _rows(layout, tokens, heads, second_width), second_key_rows
    sequences = _sequences(name, layout, batch, tokens, key_tokens, queries, keys, table is not None)
    if table is not None and table.shape[0] < len(sequences) - (layout == "TND"):
        raise refuse(name, "the table of blocks", f"a row for each of {len(sequences)} sequences", table.shape[0])
    causal = {0: "", 1: "", 2: "left", 3: "right"}.get(sparse_mode)
    if causal is None:
        raise NotImplementedError(f"{name}: sparse_mode {sparse_mode} is not there; there are 0, 1, 2 and 3")
    return Problem(
        query,
        key,
        value,
        heads,
        key_heads,
        scale,
        sequences,
        batch * tokens,
        _rows(layout, tokens, heads, width),
        key_rows,
        value_rows,
        _rows(layout, tokens, heads, value_width),
        Rows(heads, 1, 0) if layout == "TND" else Rows(1, tokens, heads * tokens),
        (width, second_width, value_width),
        both,
        second_rows,
        None if causal or mask is None else _bytes_of(name, mask, sequences, layout),
        causal,
        table,
        block_size,
        *out_shapes(layout, tuple(query.shape), heads, (batch, tokens), value_width),
    )


def out_shapes(
    layout: str, shape: tuple[int, ...], heads: int, places: tuple[int, int], width: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of the output, which is of the query's layout, and of the logarithms of its sums."""
    batch, tokens = places
    lse = (tokens, heads, 1) if layout == "TND" else (batch, heads, tokens, 1)
    return (*shape[:-1], heads * width if layout == "BSH" else width), lse


def _cache(name: str, what: str, cache: Tensor, heads: int, block_size: int) -> tuple[int, Rows, int]:
    """(width of a head, rows, tokens of a block) of a cache in blocks: (blocks, tokens, heads * width), or by heads."""
    shape = tuple(cache.shape)
    if len(shape) == 3 and shape[2] % heads == 0:
        tokens, width = shape[1], shape[2] // heads
        rows = Rows(shape[2], width, tokens * shape[2])
    elif len(shape) == 4 and shape[1] == heads and shape[2] == (block_size or shape[2]):
        tokens, width = shape[2], shape[3]
        rows = Rows(width, tokens * width, heads * tokens * width)
    elif len(shape) == 4 and shape[2] == heads:
        tokens, width = shape[1], shape[3]
        rows = Rows(heads * width, width, tokens * heads * width)
    else:
        raise refuse(name, what, f"a cache in blocks of {heads} heads", shape)
    if block_size not in (0, tokens):
        raise refuse(name, "block_size", str(tokens), block_size)
    return width, rows, tokens


def _sequences(
    name: str,
    layout: str,
    batch: int,
    tokens: int,
    key_tokens: int,
    queries: Sequence[int] | None,
    keys: Sequence[int] | None,
    in_blocks: bool,
) -> tuple[TokenSequence, ...]:
    if layout != "TND":
        lengths = _lengths(name, "the lengths of queries", queries, batch, tokens)
        most = _lengths(name, "the lengths of keys", keys, batch, key_tokens)
        return tuple(
            TokenSequence(number * tokens, tokens, own, key_tokens, known)
            for number, (own, known) in enumerate(zip(lengths, most, strict=True))
        )
    lengths = _differences(name, "the lengths of queries", queries, tokens)
    if in_blocks:
        most = _lengths(name, "the lengths of keys", keys, len(lengths), key_tokens)
    else:
        most = _differences(name, "the lengths of keys", keys, key_tokens)
        if len(most) != len(lengths):
            raise refuse(name, "the lengths of keys", f"{len(lengths)} sequences", len(most))
    made, first, key_first = [], 0, 0
    for own, known in zip(lengths, most, strict=True):
        made.append(TokenSequence(first, own, own, known, known, key_first))
        first, key_first = first + own, key_first + known
    rest = TokenSequence(first, tokens - first, 0, 0 if in_blocks else key_tokens - key_first, 0, key_first)
    return (*made, rest)  # which belongs to none, and is 0


def _bytes_of(name: str, mask: Tensor, sequences: Sequence[TokenSequence], layout: str) -> Tensor:
    """A mask as (1 or sequences, queries, keys), in bytes."""
    count = len(sequences) - (layout == "TND")
    queries, keys = max(each.queries for each in sequences), max(each.keys for each in sequences)
    if mask.dtype not in (torch.bool, torch.int8, torch.uint8):
        raise refuse(name, "atten_mask", "bool, int8 or uint8", mask.dtype)
    mask = mask.contiguous()
    mask = mask.reshape(-1, *mask.shape[-2:]) if mask.dim() != 2 else mask.unsqueeze(0)
    if mask.shape[0] not in (1, count) or mask.shape[1] < queries or mask.shape[2] < keys:
        expected = f"one mask, or one for each of {count} sequences, of {queries} queries and {keys} keys"
        raise refuse(name, "atten_mask", expected, tuple(mask.shape))
    return mask


# ---------------------------------------------------------------- what is left of it
@dataclass(frozen=True)
class Softmax:
    """What is left of the softmax of each row: the logarithm of its sum, or its highest score and its sum over that."""

    logarithms: Tensor | None = None
    peaks: Tensor | None = None
    sums: Tensor | None = None

    @property
    def statistics(self) -> int:
        """What a kernel leaves."""
        return _LOGARITHMS if self.logarithms is not None else _NONE if self.peaks is None else _PEAKS_AND_SUMS

    def forms(self, problem: Problem) -> Iterator[tuple[str, Tensor | None, tuple[int, ...], Any]]:
        """(name, tensor, shape, dtype) of each."""
        rows = (*problem.lse_shape[:-1], ROW)
        yield "softmax_lse", self.logarithms, problem.lse_shape, torch.float32
        yield "softmax_max", self.peaks, rows, torch.float32
        yield "softmax_sum", self.sums, rows, torch.float32


def largest_plan(sequences: int) -> int:
    """The bytes of the plan of so many sequences."""
    return 8 * (_FIELDS + _SEQUENCE_FIELDS * sequences)
