"""Attention of queries and keys whose lengths are given call by call: torch_npu's operators of inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from ._attention import Problem, Softmax, largest_plan, out_shapes, problem_of, shape_of
from ._attention_run import run

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


def refuse_given(name: str, given: dict[str, Any]) -> None:
    """Raises for arguments of the operator that nothing computes here."""
    named = [key for key, value in given.items() if value is not None and (isinstance(value, Tensor) or value != 0)]
    if named:
        raise NotImplementedError(
            f"{name}: {', '.join(named)}: quantised and shifted attention is not there; leave it out"
        )


def _outputs(query: Tensor, layout: str, heads: int, value_width: int, with_lse: bool) -> tuple[Tensor, Tensor]:
    """New outputs: of the query's layout, and float32 logarithms of sums, one element where nobody wants them."""
    batch, tokens, _ = shape_of("attention", layout, query, heads)
    out_shape, lse_shape = out_shapes(layout, tuple(query.shape), heads, (batch, tokens), value_width)
    lse = query.new_empty(lse_shape if with_lse else (1,), dtype=torch.float32)
    return query.new_empty(out_shape), lse


def _value_width(value: Tensor, layout: str, heads: int, key_heads: int, in_blocks: bool) -> int:
    if value.dim() not in (3, 4):
        raise RuntimeError(f"attention: value: expected 3 or 4 dimensions, got {value.dim()}")
    if value.dim() == 3 and (in_blocks or layout == "BSH"):
        return int(value.shape[-1]) // (key_heads or heads)
    return int(value.shape[-1])


def _into(problem: Problem, out: Sequence[Tensor], with_lse: bool, workspace: Tensor | None = None) -> None:
    if len(out) != 2:
        raise RuntimeError(f"attention: out: expected 2 tensors, got {len(out)}")
    run(problem, out[0], Softmax(out[1] if with_lse else None), workspace)


_V1 = "npu_fused_infer_attention_score"
_V2 = "npu_fused_infer_attention_score_v2"


def _problem_v1(query: Tensor, key: Tensor, value: Tensor, given: dict[str, Any]) -> Problem:
    for name in ("pre_tokens", "next_tokens", "inner_precise", "softmax_lse_flag"):
        given.pop(name, None)
    problem = problem_of(
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
    refuse_given(_V1, given)
    return problem


def _problem_v2(query: Tensor, key: Tensor, value: Tensor, given: dict[str, Any]) -> Problem:
    for name in ("pre_tokens", "next_tokens", "inner_precise", "return_softmax_lse"):
        given.pop(name, None)
    problem = problem_of(
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
    refuse_given(_V2, given)
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
    sequences = max(int(query.shape[0]) if query.dim() else 0, len(lengths or ())) + 1
    room: Tensor = query.new_empty((largest_plan(sequences),), dtype=torch.uint8)
    return room


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
    devices = {each.device for each in (query, key_cache, value_cache, block_table, out)}
    if len(devices) != 1:
        found = ", ".join(sorted(map(str, devices)))
        raise RuntimeError(f"{name}: expected all tensors but context_lens on one device, got {found}")
    if query.dim() != 3 or context_lens.dim() != 1:
        raise RuntimeError(
            f"{name}: expected query (sequences, heads, width) and a length for each, got {tuple(query.shape)} and "
            f"{tuple(context_lens.shape)}"
        )
    lengths = context_lens.tolist()
    problem = problem_of(
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
    run(problem, out, Softmax(), workspace)


def multi_head_latent_attention(q_nope: Tensor, *args: Any, **given: Any) -> Tensor:
    """npu_multi_head_latent_attention"""
    out: Tensor = q_nope.new_empty(q_nope.shape)
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
    refuse_given(name, given)
    if q_nope.dim() != 3:
        raise RuntimeError(f"{name}: q_nope: expected 3 dimensions, got {q_nope.dim()}")
    problem = problem_of(
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
    run(problem, output, Softmax())
    return output
