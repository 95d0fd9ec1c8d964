"""Attention of queries and keys whose lengths are given call by call: torch_npu's operators of inference.

On an NPU it is one launch, whatever the lengths: these are in a plan that is uploaded before it, so that a captured
graph is updated for others. On the CPU it is composed of operators, a sequence and a head at a time.
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

__all__ = [
    "fused_infer_attention_score",
    "fused_infer_attention_score_fake",
    "fused_infer_attention_score_out",
    "fused_infer_attention_score_v2",
    "fused_infer_attention_score_v2_fake",
    "fused_infer_attention_score_v2_out",
    "fused_infer_attention_workspace",
    "fused_infer_attention_workspace_v2",
    "multi_head_latent_attention",
    "multi_head_latent_attention_out",
    "paged_attention",
]

_MOST_BLOCKS = 40  # vector cores that every chip of the family has
_SUFFIXES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_FIELDS, _SEQUENCE_FIELDS = 29, 13  # of the plan: `Field` and `Sequence` of attention.cpp
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
class _Problem:
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


def _refuse_given(name: str, given: dict[str, Any]) -> None:
    """Raises for arguments of the operator that nothing computes here."""
    named = [key for key, value in given.items() if value is not None and (isinstance(value, Tensor) or value != 0)]
    if named:
        raise NotImplementedError(
            f"{name}: {', '.join(named)}: quantised and shifted attention is not there; leave it out"
        )


def _shape_of(name: str, layout: str, query: Tensor, heads: int) -> tuple[int, int, int]:
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
    batch, tokens, count, width = {
        "BSND": lambda: shape,
        "BNSD": lambda: (shape[0], shape[2], shape[1], shape[3]),
        "TND": lambda: (1, *shape),
    }[layout]()
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


def _problem(
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
) -> _Problem:
    key_heads = key_heads or heads
    if heads % key_heads:
        raise _refuse(name, "the number of heads", f"a multiple of the {key_heads} of keys", heads)
    batch, tokens, width = _shape_of(name, layout, query, heads)
    if key.dtype is not query.dtype or value.dtype is not query.dtype:
        raise _refuse(name, "key and value", str(query.dtype), f"{key.dtype} and {value.dtype}")
    query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
    if table is None:
        key_batch, key_tokens, key_width = _shape_of(name, layout, key, key_heads)
        _, _, value_width = _shape_of(name, layout, value, key_heads)
        key_rows = _rows(layout, key_tokens, key_heads, key_width)
        value_rows = _rows(layout, key_tokens, key_heads, value_width)
        block_size = 0
        if key_batch != batch:
            raise _refuse(name, "key", f"{batch} sequences", key_batch)
    else:
        key_width, key_rows, found = _cache(name, "key", key, key_heads, block_size)
        value_width, value_rows, _ = _cache(name, "value", value, key_heads, block_size)
        block_size, table = found, table.to(torch.int32).contiguous()
        key_tokens = table.shape[1] * block_size
    if key_width != width:
        raise _refuse(name, "key", f"heads of {width} elements", key_width)
    second_rows, second_width = (_Rows(0, 0, 0), _Rows(0, 0, 0)), 0
    both = None
    if second[0] is not None and second[1] is not None:
        both = second[0].contiguous(), second[1].contiguous()
        _, _, second_width = _shape_of(name, layout, both[0], heads)
        if table is None:
            second_key_rows = _rows(layout, key_tokens, key_heads, second_width)
        else:
            _, second_key_rows, _ = _cache(name, "the second part of keys", both[1], key_heads, block_size)
        second_rows = _rows(layout, tokens, heads, second_width), second_key_rows
    sequences = _sequences(name, layout, batch, tokens, key_tokens, queries, keys, table is not None)
    causal = {0: "", 1: "", 2: "left", 3: "right"}.get(sparse_mode)
    if causal is None:
        raise NotImplementedError(f"{name}: sparse_mode {sparse_mode} is not there; there are 0, 1, 2 and 3")
    return _Problem(
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
        None if causal or mask is None else _bytes_of(name, mask, len(sequences) - (layout == "TND")),
        causal,
        table,
        block_size,
    )


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


def _bytes_of(name: str, mask: Tensor, sequences: int) -> Tensor:
    """A mask as (1 or sequences, queries, keys), in bytes."""
    if mask.dtype not in (torch.bool, torch.int8, torch.uint8):
        raise _refuse(name, "atten_mask", "bool, int8 or uint8", mask.dtype)
    mask = mask.contiguous()
    mask = mask.reshape(-1, *mask.shape[-2:]) if mask.dim() != 2 else mask.unsqueeze(0)
    if mask.shape[0] not in (1, sequences):
        raise _refuse(name, "atten_mask", f"one mask, or one for each of {sequences} sequences", tuple(mask.shape))
    return mask


# ---------------------------------------------------------------- what computes it
@functools.cache
def _kernel(symbol: str) -> _core.Kernel:
    launcher = KernelLauncher.from_source("mindtorch_attention", [kernel_sources() / "attention.cpp"])
    return launcher.bind(symbol, (*(_core.c_types["ptr"],) * 10, _core.c_types["f32"]))


def _run(problem: _Problem, out: Tensor, lse: Tensor | None, workspace: Tensor | None = None) -> None:
    """Writes what a problem comes to, and the logarithms of its sums where they are wanted."""
    if out.numel() == 0:
        return
    if out.is_npu:
        _launch(problem, out, lse, workspace)
    else:
        _compose(problem, out, lse)


def _launch(problem: _Problem, out: Tensor, lse: Tensor | None, workspace: Tensor | None) -> None:
    suffix = _SUFFIXES.get(problem.query.dtype)
    if suffix is None:
        raise NotImplementedError(
            f"attention on an NPU: expected float32, float16 or bfloat16, got {problem.query.dtype}"
        )
    if not out.is_contiguous():
        raise RuntimeError("attention on an NPU: expected a contiguous tensor for the output")
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


def _compose(problem: _Problem, out: Tensor, lse: Tensor | None) -> None:
    """The same on the CPU, by operators."""
    with torch.no_grad():
        out.zero_()
        if lse is not None:
            lse.fill_(float("inf"))
        for number, each in enumerate(problem.sequences):
            for head in range(problem.heads):
                _compose_head(problem, number, each, head, out, lse)


def _compose_head(problem: _Problem, number: int, each: _Sequence, head: int, out: Tensor, lse: Tensor | None) -> None:
    key_head = head // (problem.heads // problem.key_heads)
    width, second_width, value_width = problem.widths
    if each.queries == 0 or each.keys == 0:
        return

    def of_queries(tensor: Tensor, rows: _Rows, size: int) -> Tensor:
        start = problem.offset(rows, number, each.first) + head * rows.head
        return tensor.as_strided((each.queries, size), (rows.token, 1), start)

    def of_keys(tensor: Tensor, rows: _Rows, size: int) -> Tensor:
        if problem.table is None:
            start = problem.offset(rows, number, each.key_first) + key_head * rows.head
            return tensor.as_strided((each.keys, size), (rows.token, 1), start)
        count = -(-each.keys // problem.block_size)
        blocks = [
            tensor.as_strided((problem.block_size, size), (rows.token, 1), block * rows.sequence + key_head * rows.head)
            for block in problem.table[number, :count].tolist()
        ]
        return torch.cat(blocks)[: each.keys]

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


def _left_out(problem: _Problem, number: int, each: _Sequence) -> Tensor | None:
    """(queries, keys): the keys that a query does not see; None where it sees all."""
    if problem.causal:
        own, known = torch.arange(each.queries).unsqueeze(1), torch.arange(each.keys).unsqueeze(0)
        return known > own + problem.shift(each)
    if problem.mask is None:
        return None
    mask = problem.mask[0 if problem.mask.shape[0] == 1 else number]
    return mask[: each.queries, : each.keys] != 0


# ---------------------------------------------------------------- the operators
def _outputs(query: Tensor, layout: str, heads: int, value_width: int, with_lse: bool) -> tuple[Tensor, Tensor]:
    """New outputs: of the query's layout, and float32 logarithms of sums, one element where nobody wants them."""
    shape = tuple(query.shape)
    batch, tokens, _ = _shape_of("attention", layout, query, heads)
    out_shape = (*shape[:-1], heads * value_width if layout == "BSH" else value_width)
    lse_shape = (tokens, heads, 1) if layout == "TND" else (batch, heads, tokens, 1)
    lse = query.new_empty(lse_shape if with_lse else (1,), dtype=torch.float32)
    return query.new_empty(out_shape), lse


def _value_width(value: Tensor, layout: str, heads: int, key_heads: int, in_blocks: bool) -> int:
    if value.dim() == 3 and (in_blocks or layout == "BSH"):
        return int(value.shape[-1]) // (key_heads or heads)
    return int(value.shape[-1])


def _into(problem: _Problem, out: Sequence[Tensor], with_lse: bool, workspace: Tensor | None = None) -> None:
    if len(out) != 2:
        raise RuntimeError(f"attention: out: expected 2 tensors, got {len(out)}")
    _run(problem, out[0], out[1] if with_lse else None, workspace)


_V1 = "npu_fused_infer_attention_score"
_V2 = "npu_fused_infer_attention_score_v2"


def _problem_v1(query: Tensor, key: Tensor, value: Tensor, given: dict[str, Any]) -> _Problem:
    for name in ("pre_tokens", "next_tokens", "inner_precise", "softmax_lse_flag"):
        given.pop(name, None)
    problem = _problem(
        _V1,
        query,
        key,
        value,
        heads=given.pop("num_heads"),
        key_heads=given.pop("num_key_value_heads"),
        scale=given.pop("scale"),
        layout=given.pop("input_layout"),
        queries=given.pop("actual_seq_lengths"),
        keys=given.pop("actual_seq_lengths_kv"),
        mask=given.pop("atten_mask"),
        sparse_mode=given.pop("sparse_mode"),
        table=given.pop("block_table"),
        block_size=given.pop("block_size"),
        second=(given.pop("query_rope"), given.pop("key_rope")),
    )
    _refuse_given(_V1, given)
    return problem


def _problem_v2(query: Tensor, key: Tensor, value: Tensor, given: dict[str, Any]) -> _Problem:
    for name in ("pre_tokens", "next_tokens", "inner_precise", "return_softmax_lse"):
        given.pop(name, None)
    problem = _problem(
        _V2,
        query,
        key,
        value,
        heads=given.pop("num_query_heads"),
        key_heads=given.pop("num_key_value_heads"),
        scale=given.pop("softmax_scale"),
        layout=given.pop("input_layout"),
        queries=given.pop("actual_seq_qlen"),
        keys=given.pop("actual_seq_kvlen"),
        mask=given.pop("atten_mask"),
        sparse_mode=given.pop("sparse_mode"),
        table=given.pop("block_table"),
        block_size=given.pop("block_size"),
        second=(given.pop("query_rope"), given.pop("key_rope")),
    )
    _refuse_given(_V2, given)
    return problem


def fused_infer_attention_score(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> tuple[Tensor, Tensor]:
    """npu_fused_infer_attention_score"""
    with_lse = given["softmax_lse_flag"]
    out = fused_infer_attention_score_fake(query, key, value, **given)
    _into(_problem_v1(query, key, value, given), out, with_lse)
    return out


def fused_infer_attention_score_fake(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> tuple[Tensor, Tensor]:
    """The outputs of npu_fused_infer_attention_score."""
    layout, heads = given["input_layout"], given["num_heads"]
    in_blocks = given["block_table"] is not None
    width = _value_width(value, layout, heads, given["num_key_value_heads"], in_blocks)
    return _outputs(query, layout, heads, width, given["softmax_lse_flag"])


def fused_infer_attention_score_out(
    query: Tensor, key: Tensor, value: Tensor, *, workspace: Tensor | None, out: Sequence[Tensor], **given: Any
) -> None:
    """npu_fused_infer_attention_score.out"""
    with_lse = given["softmax_lse_flag"]
    _into(_problem_v1(query, key, value, given), out, with_lse, workspace)


def fused_infer_attention_workspace(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> Tensor:
    """_npu_fused_infer_attention_score_get_max_workspace"""
    return _workspace(query, given["actual_seq_lengths"])


def fused_infer_attention_score_v2(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> tuple[Tensor, Tensor]:
    """npu_fused_infer_attention_score_v2"""
    with_lse = given["return_softmax_lse"]
    out = fused_infer_attention_score_v2_fake(query, key, value, **given)
    _into(_problem_v2(query, key, value, given), out, with_lse)
    return out


def fused_infer_attention_score_v2_fake(
    query: Tensor, key: Tensor, value: Tensor, **given: Any
) -> tuple[Tensor, Tensor]:
    """The outputs of npu_fused_infer_attention_score_v2."""
    layout, heads = given["input_layout"], given["num_query_heads"]
    in_blocks = given["block_table"] is not None
    width = _value_width(value, layout, heads, given["num_key_value_heads"], in_blocks)
    return _outputs(query, layout, heads, width, given["return_softmax_lse"])


def fused_infer_attention_score_v2_out(
    query: Tensor, key: Tensor, value: Tensor, *, workspace: Tensor | None, out: Sequence[Tensor], **given: Any
) -> None:
    """npu_fused_infer_attention_score_v2.out"""
    with_lse = given["return_softmax_lse"]
    _into(_problem_v2(query, key, value, given), out, with_lse, workspace)


def fused_infer_attention_workspace_v2(query: Tensor, key: Tensor, value: Tensor, **given: Any) -> Tensor:
    """_npu_fused_infer_attention_score_v2_get_max_workspace"""
    return _workspace(query, given["actual_seq_qlen"])


def _workspace(query: Tensor, lengths: Sequence[int] | None) -> Tensor:
    """Room for the plan of as many sequences as there may be."""
    sequences = max(int(query.shape[0]), len(lengths or ())) + 1
    return query.new_empty((8 * (_FIELDS + _SEQUENCE_FIELDS * sequences),), dtype=torch.uint8)


def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    out: Tensor,
    *,
    workspace: Tensor | None,
) -> None:
    """_npu_paged_attention: one query a sequence, (sequences, heads, width)"""
    name = "_npu_paged_attention"
    if context_lens.is_npu and torch.npu.is_current_stream_capturing():
        raise RuntimeError(
            f"{name}: context_lens: expected a tensor on the CPU in a capture, which cannot read the NPU's"
        )
    lengths = context_lens.tolist()
    problem = _problem(
        name,
        query,
        key_cache,
        value_cache,
        heads=num_heads,
        key_heads=num_kv_heads,
        scale=scale_value,
        layout="TND",
        queries=list(range(1, query.shape[0] + 1)),
        keys=lengths,
        mask=None,
        sparse_mode=0,
        table=block_table,
        block_size=0,
    )
    _run(problem, out, None, workspace)


def multi_head_latent_attention(q_nope: Tensor, *args: Any, **given: Any) -> Tensor:
    """npu_multi_head_latent_attention"""
    out = q_nope.new_empty(q_nope.shape)
    multi_head_latent_attention_out(q_nope, *args, output=out, **given)
    return out


def multi_head_latent_attention_out(
    q_nope: Tensor,
    q_rope: Tensor,
    ctkv: Tensor,
    k_rope: Tensor,
    block_tables: Tensor,
    context_lens: Sequence[int],
    q_headnum: int,
    qk_scale: float,
    kv_headnum: int,
    *,
    output: Tensor,
    **given: Any,
) -> Tensor:
    """npu_multi_head_latent_attention.out: keys are the latent and a rotary part, values the latent"""
    name = "npu_multi_head_latent_attention"
    _refuse_given(name, given)
    problem = _problem(
        name,
        q_nope,
        ctkv,
        ctkv,
        heads=q_headnum,
        key_heads=kv_headnum,
        scale=qk_scale,
        layout="TND",
        queries=list(range(1, q_nope.shape[0] + 1)),
        keys=context_lens,
        mask=None,
        sparse_mode=0,
        table=block_tables,
        block_size=0,
        second=(q_rope, k_rope),
    )
    _run(problem, output, None)
    return output
