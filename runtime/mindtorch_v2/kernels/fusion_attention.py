"""Attention that is trained: torch_npu's npu_fusion_attention_v3, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from ._attention import ROW, Problem, Softmax, largest_plan, out_shapes, problem_of, refuse, shape_of
from ._attention_run import run, run_gradients

__all__ = [
    "fusion_attention",
    "fusion_attention_fake",
    "fusion_attention_grad",
    "fusion_attention_grad_fake",
    "fusion_attention_grad_out",
    "fusion_attention_grad_workspace",
    "fusion_attention_out",
    "fusion_attention_workspace",
]

_NAME, _GRAD_NAME = "npu_fusion_attention_v3", "npu_fusion_attention_grad_v3"
_NOT_THERE = ("pse", "padding_mask", "prefix", "sink")  # arguments that nothing computes here


def _key_heads(name: str, layout: str, query: Tensor, key: Tensor, heads: int) -> tuple[int, int]:
    """(heads of keys, width of a head), which the shapes tell."""
    _, _, width = shape_of(name, layout, query, heads)
    if key.dim() != query.dim():
        raise refuse(name, "key", f"{query.dim()} dimensions for {layout}", key.dim())
    return (key.shape[2] // width if layout == "BSH" and width else key.shape[2 if layout == "BSND" else 1]), width


def _problem(
    name: str, query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str, scale: float, given: dict[str, Any]
) -> Problem:
    for what in _NOT_THERE:
        if given[what] is not None:
            raise NotImplementedError(f"{name}: {what} is not there; leave it out")
    if given["keep_prob"] != 1.0:
        raise NotImplementedError(f"{name}: keep_prob {given['keep_prob']}: dropout is not there; leave it at 1")
    if given["softmax_layout"] not in ("", layout):
        raise NotImplementedError(f"{name}: softmax_layout {given['softmax_layout']!r} is not there; leave it out")
    key_heads, _ = _key_heads(name, layout, query, key, heads)
    return problem_of(
        name,
        query,
        key,
        value,
        heads=heads,
        key_heads=key_heads,
        scale=scale,
        layout=layout,
        queries=given["actual_seq_qlen"],
        keys=given["actual_seq_kvlen"],
        mask=given["atten_mask"],
        sparse_mode=given["sparse_mode"],
        table=None,
        block_size=0,
    )


def _named(args: tuple[Any, ...]) -> tuple[float, dict[str, Any]]:
    """The scale, and the other arguments by name, of the forward's positional ones from the sixth on."""
    names = (
        *("pse", "padding_mask", "atten_mask", "scale", "keep_prob", "pre_tockens", "next_tockens", "inner_precise"),
        *("prefix", "actual_seq_qlen", "actual_seq_kvlen", "sparse_mode", "gen_mask_parallel", "sync"),
        *("softmax_layout", "sink"),
    )
    given = dict(zip(names, args, strict=True))
    return given.pop("scale"), given


# ---------------------------------------------------------------- forward
def fusion_attention(
    query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str, *args: Any
) -> tuple[Tensor, ...]:
    """npu_fusion_attention_v3"""
    out = fusion_attention_fake(query, key, value, heads, layout, *args)
    fusion_attention_out(query, key, value, heads, layout, *args, workspace=None, out=out)
    return out


def fusion_attention_fake(
    query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str, *args: Any
) -> tuple[Tensor, ...]:
    """The outputs: attention, the highest score and the sum of each row, and three that nothing is written to.

    They are the softmax, which is empty, and the seed and the offset of dropout, of which there is none.
    """
    batch, tokens, _ = shape_of(_NAME, layout, query, heads)
    key_heads, _ = _key_heads(_NAME, layout, query, key, heads)
    width = value.shape[-1] // key_heads if layout == "BSH" and key_heads else value.shape[-1]
    out_shape, lse_shape = out_shapes(layout, tuple(query.shape), heads, (batch, tokens), width)
    peaks, sums = (query.new_empty((*lse_shape[:-1], ROW), dtype=torch.float32) for _ in range(2))
    seed, offset = (query.new_empty((1,), dtype=torch.int64) for _ in range(2))
    return query.new_empty(out_shape), peaks, sums, query.new_empty((0,)), seed, offset


def fusion_attention_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    heads: int,
    layout: str,
    *args: Any,
    workspace: Tensor | None,
    out: Sequence[Tensor],
) -> None:
    """npu_fusion_attention_v3.out"""
    if len(out) != 6:
        raise refuse(_NAME, "out", "6 tensors", len(out))
    scale, given = _named(args)
    problem = _problem(_NAME, query, key, value, heads, layout, scale, given)
    run(problem, out[0], Softmax(peaks=out[1], sums=out[2]), workspace)


def fusion_attention_workspace(
    query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str, *args: Any
) -> Tensor:
    """_npu_fusion_attention_v3_get_max_workspace"""
    return _workspace(query, _named(args)[1])


# ---------------------------------------------------------------- gradients
def fusion_attention_grad(
    query: Tensor, key: Tensor, value: Tensor, dy: Tensor, heads: int, layout: str, **given: Any
) -> tuple[Tensor, ...]:
    """npu_fusion_attention_grad_v3"""
    out = fusion_attention_grad_fake(query, key, value, dy, heads, layout, **given)
    fusion_attention_grad_out(query, key, value, dy, heads, layout, workspace=None, out=out, **given)
    return out


def fusion_attention_grad_fake(
    query: Tensor, key: Tensor, value: Tensor, dy: Tensor, heads: int, layout: str, **given: Any
) -> tuple[Tensor, ...]:
    """Gradients of query, key and value, and, empty, of a shift of positions and of a sink."""
    return (*(each.new_empty(each.shape) for each in (query, key, value)), query.new_empty((0,)), query.new_empty((0,)))


def fusion_attention_grad_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dy: Tensor,
    heads: int,
    layout: str,
    *,
    workspace: Tensor | None,
    out: Sequence[Tensor],
    **given: Any,
) -> None:
    """npu_fusion_attention_grad_v3.out"""
    if len(out) != 5:
        raise refuse(_GRAD_NAME, "out", "5 tensors", len(out))
    left = {name: given[name] for name in ("softmax_max", "softmax_sum", "attention_in")}
    missing = [name for name, value in left.items() if value is None]
    if missing:
        raise refuse(_GRAD_NAME, ", ".join(missing), f"what {_NAME} returned", None)
    problem = _problem(_GRAD_NAME, query, key, value, heads, layout, given["scale_value"], given)
    softmax = Softmax(peaks=left["softmax_max"].contiguous(), sums=left["softmax_sum"].contiguous())
    run_gradients(problem, dy.contiguous(), left["attention_in"].contiguous(), softmax, out[:3], workspace)


def fusion_attention_grad_workspace(
    query: Tensor, key: Tensor, value: Tensor, dy: Tensor, heads: int, layout: str, **given: Any
) -> Tensor:
    """_npu_fusion_attention_grad_v3_get_max_workspace"""
    return _workspace(query, given)


def _workspace(query: Tensor, given: dict[str, Any]) -> Tensor:
    """Room for the plan of as many sequences as there may be."""
    sequences = max(int(query.shape[0]) if query.dim() else 0, len(given["actual_seq_qlen"] or ())) + 1
    room: Tensor = query.new_empty((largest_plan(sequences),), dtype=torch.uint8)
    return room
