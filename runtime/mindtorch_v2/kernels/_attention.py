"""What attention has to know to be computed, and how it is: by a kernel on an NPU, by operators on the CPU.

Lengths are in a plan that is uploaded before the kernel, which is one launch whatever they are, so that a captured
graph is updated for others.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import Tensor
from ..npu.launcher import KernelLauncher
from ..npu.paths import kernel_sources
from ..npu.structs import upload, upload_to

__all__ = ["Problem", "largest_plan", "out_shapes", "problem_of", "run", "shape_of"]

_MOST_BLOCKS = 40  # vector cores that every chip of the family has
_SUFFIXES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_FIELDS, _SEQUENCE_FIELDS = 30, 13  # of the plan: `Field` and `Sequence` of attention.cpp
_FAR = 2**62  # no key is beyond it
_LAYOUTS = ("BSH", "BSND", "BNSD", "TND")


@dataclass(frozen=True)
class _Rows:
    """Where the rows of a tensor lie, in elements: from one token, one head and one sequence (or block) to the next."""

    token: int
    head: int
    sequence: int


@dataclass(frozen=True)
class _Sequence:
    """A sequence: where its queries begin among all tokens, how many there are room for, and how many of each."""

    first: int
    span: int
    queries: int
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
    sequences: tuple[_Sequence, ...]
    tokens: int
    query_rows: _Rows
    key_rows: _Rows
    value_rows: _Rows
    out_rows: _Rows
    lse_rows: _Rows
    widths: tuple[int, int, int]  # of queries and keys, of their second part, of values
    second: tuple[Tensor, Tensor] | None = None
    second_rows: tuple[_Rows, _Rows] = (_Rows(0, 0, 0), _Rows(0, 0, 0))
    mask: Tensor | None = None  # (1 or sequences, queries, keys): what is not 0 is left out
    causal: str = ""  # "", "left" (up) or "right" (down)
    table: Tensor | None = None
    block_size: int = 0
    out_shape: tuple[int, ...] = ()
    lse_shape: tuple[int, ...] = ()

    def shift(self, of: _Sequence) -> int:
        """A query sees the keys up to its own number plus this."""
        return _FAR if not self.causal else 0 if self.causal == "left" else of.keys - of.queries

    def offset(self, rows: _Rows, number: int, first: int) -> int:
        """Where a sequence begins: by its number, or by its first token."""
        return number * rows.sequence if rows.sequence else first * rows.token

    def plan(self, with_lse: bool) -> bytes:
        """The plan of the kernel."""
        q, k, v, o, lse = self.query_rows, self.key_rows, self.value_rows, self.out_rows, self.lse_rows
        q2, k2 = self.second_rows
        mask = self.mask
        values = [
            *(self.tokens, self.heads, self.key_heads, *self.widths, len(self.sequences), self.block_size),
            *(0 if self.table is None else self.table.shape[1], mask is not None, with_lse, q.token, q.head),
            *(q2.token, q2.head, k.token, k.head, k.sequence, k2.token, k2.head, k2.sequence),
            *(v.token, v.head, v.sequence, o.token, o.head, lse.token, lse.head, 0 if mask is None else mask.shape[-1]),
            self.key.shape[0],
        ]
        for number, each in enumerate(self.sequences):
            at = functools.partial(self.offset, number=number, first=each.first)
            key_at = functools.partial(self.offset, number=number, first=each.key_first)
            masks = 0 if mask is None or mask.shape[0] == 1 else number * mask.shape[1] * mask.shape[2]
            values += [each.first, each.span, each.queries, each.keys, self.shift(each)]
            values += [at(q), at(q2), key_at(k), key_at(k2), key_at(v), at(o), at(lse), masks]
        return struct.pack(f"<{len(values)}q", *map(int, values))


# ---------------------------------------------------------------- from arguments to a problem
def _refuse(name: str, what: str, expected: str, got: Any) -> RuntimeError:
    return RuntimeError(f"{name}: {what}: expected {expected}, got {got}")


def shape_of(name: str, layout: str, query: Tensor, heads: int) -> tuple[int, int, int]:
    """(sequences, tokens of each, width of a head); one sequence for TND."""
    if layout not in _LAYOUTS:
        raise NotImplementedError(f"{name}: input_layout {layout!r} is not there; there are {', '.join(_LAYOUTS)}")
    expected = {"BSH": 3, "TND": 3}.get(layout, 4)
    if query.dim() != expected:
        raise _refuse(name, "query", f"{expected} dimensions for {layout}", query.dim())
    if heads < 1:
        raise _refuse(name, "the number of heads", "at least 1", heads)
    shape = tuple(query.shape)
    if layout == "BSH":
        if shape[2] % heads:
            raise _refuse(name, "query", f"a last dimension that {heads} heads divide", shape[2])
        return shape[0], shape[1], shape[2] // heads
    if layout == "BNSD":
        batch, count, tokens, width = shape
    else:
        batch, tokens, count, width = shape if layout == "BSND" else (1, *shape)
    if count != heads:
        raise _refuse(name, "query", f"{heads} heads", count)
    return batch, tokens, width


def _rows(layout: str, tokens: int, heads: int, width: int) -> _Rows:
    if layout == "BNSD":
        return _Rows(width, tokens * width, heads * tokens * width)
    return _Rows(heads * width, width, 0 if layout == "TND" else tokens * heads * width)


def _lengths(name: str, what: str, given: Sequence[int] | None, count: int, most: int) -> list[int]:
    """A length for each sequence; where one is given it is that of all."""
    if given is None:
        return [most] * count
    lengths = [int(each) for each in given]
    if len(lengths) == 1:
        lengths *= count
    if len(lengths) != count:
        raise _refuse(name, what, f"{count} lengths", len(lengths))
    if any(not 0 <= each <= most for each in lengths):
        raise _refuse(name, what, f"lengths from 0 to {most}", lengths)
    return lengths


def _differences(name: str, what: str, ends: Sequence[int] | None, most: int) -> list[int]:
    """The lengths of sequences that lie one after another, given by where each ends."""
    if not ends:
        raise _refuse(name, what, "where each sequence ends, for TND", ends)
    lengths = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    if min(lengths) < 0 or ends[-1] > most:
        raise _refuse(name, what, f"numbers that rise to {most} at most", list(ends))
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
        raise _refuse(name, "the number of heads", f"a multiple of the {key_heads} of keys", heads)
    batch, tokens, width = shape_of(name, layout, query, heads)
    if key.dtype is not query.dtype or value.dtype is not query.dtype:
        raise _refuse(name, "key and value", str(query.dtype), f"{key.dtype} and {value.dtype}")
    query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
    if table is None:
        key_batch, key_tokens, key_width = shape_of(name, layout, key, key_heads)
        value_batch, value_tokens, value_width = shape_of(name, layout, value, key_heads)
        if (value_batch, value_tokens) != (key_batch, key_tokens):
            raise _refuse(name, "value", f"as many tokens as of key, {tuple(key.shape)}", tuple(value.shape))
        key_rows = _rows(layout, key_tokens, key_heads, key_width)
        value_rows = _rows(layout, key_tokens, key_heads, value_width)
        block_size = 0
        if key_batch != batch:
            raise _refuse(name, "key", f"{batch} sequences", key_batch)
    else:
        key_width, key_rows, found = _cache(name, "key", key, key_heads, block_size)
        value_width, value_rows, value_tokens = _cache(name, "value", value, key_heads, block_size)
        if value_tokens != found or value.shape[0] != key.shape[0]:
            raise _refuse(name, "value", f"as many blocks and tokens as of key, {tuple(key.shape)}", tuple(value.shape))
        if table.dim() != 2:
            raise _refuse(name, "the table of blocks", "2 dimensions", table.dim())
        block_size, table = found, table.to(torch.int32).contiguous()
        key_tokens = table.shape[1] * block_size
    if key_width != width:
        raise _refuse(name, "key", f"heads of {width} elements", key_width)
    second_rows, second_width = (_Rows(0, 0, 0), _Rows(0, 0, 0)), 0
    both = None
    if second[0] is not None and second[1] is not None:
        both = second[0].contiguous(), second[1].contiguous()
        what = "the second part of keys"
        second_batch, second_tokens, second_width = shape_of(name, layout, both[0], heads)
        if (second_batch, second_tokens) != (batch, tokens) or any(each.dtype is not query.dtype for each in both):
            raise _refuse(name, "the second part of queries", f"{batch} x {tokens} tokens", tuple(both[0].shape))
        if table is None:
            found_shape = shape_of(name, layout, both[1], key_heads)
            second_key_rows = _rows(layout, key_tokens, key_heads, second_width)
            fits = found_shape == (batch, key_tokens, second_width)
        else:
            key_second_width, second_key_rows, second_block = _cache(name, what, both[1], key_heads, block_size)
            fits = (key_second_width, second_block) == (second_width, block_size) and both[1].shape[0] == key.shape[0]
        if not fits:
            raise _refuse(name, what, f"heads of {second_width} elements and places as of key", tuple(both[1].shape))
        second_rows = _rows(layout, tokens, heads, second_width), second_key_rows
    sequences = _sequences(name, layout, batch, tokens, key_tokens, queries, keys, table is not None)
    if table is not None and table.shape[0] < len(sequences) - (layout == "TND"):
        raise _refuse(name, "the table of blocks", f"a row for each of {len(sequences)} sequences", table.shape[0])
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
        _Rows(heads, 1, 0) if layout == "TND" else _Rows(1, tokens, heads * tokens),
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


def _cache(name: str, what: str, cache: Tensor, heads: int, block_size: int) -> tuple[int, _Rows, int]:
    """(width of a head, rows, tokens of a block) of a cache in blocks: (blocks, tokens, heads * width), or by heads."""
    shape = tuple(cache.shape)
    if len(shape) == 3 and shape[2] % heads == 0:
        tokens, width = shape[1], shape[2] // heads
        rows = _Rows(shape[2], width, tokens * shape[2])
    elif len(shape) == 4 and shape[1] == heads and shape[2] == (block_size or shape[2]):
        tokens, width = shape[2], shape[3]
        rows = _Rows(width, tokens * width, heads * tokens * width)
    elif len(shape) == 4 and shape[2] == heads:
        tokens, width = shape[1], shape[3]
        rows = _Rows(heads * width, width, tokens * heads * width)
    else:
        raise _refuse(name, what, f"a cache in blocks of {heads} heads", shape)
    if block_size not in (0, tokens):
        raise _refuse(name, "block_size", str(tokens), block_size)
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
) -> tuple[_Sequence, ...]:
    if layout != "TND":
        lengths = _lengths(name, "the lengths of queries", queries, batch, tokens)
        most = _lengths(name, "the lengths of keys", keys, batch, key_tokens)
        return tuple(
            _Sequence(number * tokens, tokens, own, known)
            for number, (own, known) in enumerate(zip(lengths, most, strict=True))
        )
    lengths = _differences(name, "the lengths of queries", queries, tokens)
    if in_blocks:
        most = _lengths(name, "the lengths of keys", keys, len(lengths), key_tokens)
    else:
        most = _differences(name, "the lengths of keys", keys, key_tokens)
        if len(most) != len(lengths):
            raise _refuse(name, "the lengths of keys", f"{len(lengths)} sequences", len(most))
    made, first, key_first = [], 0, 0
    for own, known in zip(lengths, most, strict=True):
        made.append(_Sequence(first, own, own, known, key_first))
        first, key_first = first + own, key_first + known
    return (*made, _Sequence(first, tokens - first, 0, 0))  # the rest belongs to none, and is 0


def _bytes_of(name: str, mask: Tensor, sequences: Sequence[_Sequence], layout: str) -> Tensor:
    """A mask as (1 or sequences, queries, keys), in bytes."""
    count = len(sequences) - (layout == "TND")
    queries, keys = max(each.queries for each in sequences), max(each.keys for each in sequences)
    if mask.dtype not in (torch.bool, torch.int8, torch.uint8):
        raise _refuse(name, "atten_mask", "bool, int8 or uint8", mask.dtype)
    mask = mask.contiguous()
    mask = mask.reshape(-1, *mask.shape[-2:]) if mask.dim() != 2 else mask.unsqueeze(0)
    if mask.shape[0] not in (1, count) or mask.shape[1] < queries or mask.shape[2] < keys:
        expected = f"one mask, or one for each of {count} sequences, of {queries} queries and {keys} keys"
        raise _refuse(name, "atten_mask", expected, tuple(mask.shape))
    return mask


# ---------------------------------------------------------------- what computes it
@functools.cache
def _kernel(symbol: str) -> _core.Kernel:
    launcher = KernelLauncher.from_source("mindtorch_attention", [kernel_sources() / "attention.cpp"])
    return launcher.bind(symbol, (*(_core.c_types["ptr"],) * 10, _core.c_types["f32"]))


def run(problem: Problem, out: Tensor, lse: Tensor | None, workspace: Tensor | None = None) -> None:
    """Writes what a problem comes to, and the logarithms of its sums where they are wanted."""
    for what, tensor, shape, dtype in (
        ("out", out, problem.out_shape, problem.query.dtype),
        ("softmax_lse", lse, problem.lse_shape, torch.float32),
    ):
        if tensor is None:
            continue
        if tuple(tensor.shape) != shape or tensor.dtype is not dtype or not tensor.is_contiguous():
            got = f"{tensor.dtype} {tuple(tensor.shape)}{'' if tensor.is_contiguous() else ', not contiguous'}"
            raise _refuse("attention", what, f"{dtype} {shape}, contiguous", got)
        if tensor.device != problem.query.device:
            raise _refuse("attention", what, f"a tensor on {problem.query.device}", tensor.device)
    if out.numel() == 0:
        return
    if out.is_npu:
        _launch(problem, out, lse, workspace)
    else:
        _compose(problem, out, lse)


def _launch(problem: Problem, out: Tensor, lse: Tensor | None, workspace: Tensor | None) -> None:
    suffix = _SUFFIXES.get(problem.query.dtype)
    if suffix is None:
        raise NotImplementedError(
            f"attention on an NPU: expected float32, float16 or bfloat16, got {problem.query.dtype}"
        )
    packed, query = problem.plan(lse is not None), problem.query
    if workspace is not None and workspace.numel() * workspace.element_size() >= len(packed):
        plan = upload_to(workspace, packed)
    else:
        plan = upload(packed, out.device)
    q2, k2 = problem.second or (query, query)
    mask = query if problem.mask is None else problem.mask
    table = query if problem.table is None else problem.table
    blocks = min(_MOST_BLOCKS, problem.tokens * problem.heads)
    tensors = (query, problem.key, problem.value, q2, k2, mask, table, out, out if lse is None else lse, plan)
    _kernel(f"attention_{suffix}")(blocks, *tensors, problem.scale)


def _compose(problem: Problem, out: Tensor, lse: Tensor | None) -> None:
    """The same on the CPU, by operators."""
    with torch.no_grad():
        out.zero_()
        if lse is not None:
            lse.fill_(float("inf"))
        for number, each in enumerate(problem.sequences):
            for head in range(problem.heads):
                _compose_head(problem, number, each, head, out, lse)


def _compose_head(problem: Problem, number: int, each: _Sequence, head: int, out: Tensor, lse: Tensor | None) -> None:
    key_head = head // (problem.heads // problem.key_heads)
    width, second_width, value_width = problem.widths
    if each.queries == 0 or each.keys == 0:
        return

    def of_queries(tensor: Tensor, rows: _Rows, size: int) -> Tensor:
        start = problem.offset(rows, number, each.first) + head * rows.head
        return _strided(tensor, each.queries, size, rows, start)

    def of_keys(tensor: Tensor, rows: _Rows, size: int) -> Tensor:
        if problem.table is None:
            start = problem.offset(rows, number, each.key_first) + key_head * rows.head
            return _strided(tensor, each.keys, size, rows, start)
        count = -(-each.keys // problem.block_size)
        blocks = [
            _strided(tensor, problem.block_size, size, rows, block * rows.sequence + key_head * rows.head)
            for block in problem.table[number, :count].tolist()
        ]
        whole: Tensor = torch.cat(blocks)[: each.keys]
        return whole

    scores = of_queries(problem.query, problem.query_rows, width).float() @ (
        of_keys(problem.key, problem.key_rows, width).float().t()
    )
    if problem.second is not None:
        q_rows, k_rows = problem.second_rows
        scores = scores + of_queries(problem.second[0], q_rows, second_width).float() @ (
            of_keys(problem.second[1], k_rows, second_width).float().t()
        )
    scores = scores * problem.scale
    left_out = _left_out(problem, number, each)
    if left_out is not None:
        scores = scores.masked_fill(left_out, float("-inf"))
    peak = scores.amax(-1, keepdim=True)
    shares = (scores - peak.masked_fill(peak == float("-inf"), 0.0)).exp()
    total = shares.sum(-1, keepdim=True)
    mixed = shares @ of_keys(problem.value, problem.value_rows, value_width).float()
    mixed = mixed / total.masked_fill(total == 0, 1.0)
    of_queries(out, problem.out_rows, value_width).copy_(mixed)
    if lse is not None:
        sums = (peak + total.log()).masked_fill(total == 0, float("inf"))
        of_queries(lse, problem.lse_rows, 1).copy_(sums)


def _strided(tensor: Tensor, count: int, size: int, rows: _Rows, start: int) -> Tensor:
    part: Tensor = tensor.as_strided((count, size), (rows.token, 1), tensor.storage_offset() + start)
    return part


def _left_out(problem: Problem, number: int, each: _Sequence) -> Tensor | None:
    """(queries, keys): the keys that a query does not see; None where it sees all."""
    if problem.causal:
        own, known = torch.arange(each.queries).unsqueeze(1), torch.arange(each.keys).unsqueeze(0)
        unseen: Tensor = known > own + problem.shift(each)
        return unseen
    if problem.mask is None:
        return None
    mask: Tensor = problem.mask[0 if problem.mask.shape[0] == 1 else number]
    return mask[: each.queries, : each.keys] != 0


def largest_plan(sequences: int) -> int:
    """The bytes of the plan of so many sequences."""
    return 8 * (_FIELDS + _SEQUENCE_FIELDS * sequences)
