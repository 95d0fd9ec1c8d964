"""``torch.nn.attention.flex_attention``: attention whose scores a function of the user's changes or masks.

After Dong et al., Flex Attention: A Programming Model for Generating Optimized Attention Kernels (2024), and PyTorch's
interface of it. As PyTorch does where nothing is compiled, it makes the whole matrix of scores.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._core import Tensor, dtypes
from ..._ops import ops
from ._block_masks import (
    DEFAULT_BLOCK_SIZE,
    BlockMask,
    ScoreMod,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    over_all_places,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_BLOCK_SIZE  # PyTorch's name, which libraries import
_F32, _F64, _I32 = dtypes["float32"], dtypes["float64"], dtypes["int32"]


class AuxRequest(NamedTuple):
    """What `flex_attention` is to return besides: the logarithms of the sums of exponentials, the largest scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by `AuxRequest`, float32 (float64 of float64) of shape (samples, heads, queries); or None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of query (B, Hq, L, E), key (B, Hkv, S, E) and value (B, Hkv, S, Ev): a tensor (B, Hq, L, Ev).

    ``score_mod(score, b, h, q, k)`` changes a score, which is the product times ``scale`` (1/sqrt(E) where it is None);
    a score outside of ``block_mask`` does not count. A query with no score that counts gives zeros. With ``enable_gqa``
    several heads of queries share one of keys. With ``return_lse`` the result is a pair with the logarithms of the sums
    of exponentials; ``return_aux`` names more. ``kernel_options`` are for kernels of GPUs: there are none here.

    A mask made of blocks by hand counts by its blocks; PyTorch's does so once it is compiled, and otherwise goes by the
    function of the mask alone. Raises NotImplementedError for tensors of other than four dimensions, ValueError for
    sizes, devices or a mask that do not fit.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError("return_lse and return_aux are both given: ask for return_aux=AuxRequest(lse=True) alone")
    work = _F64 if query.dtype is _F64 else _F32
    samples, heads = query.shape[:2]
    key, value = (one.expand(samples, -1, -1, -1).repeat_interleave(heads // one.shape[1], 1) for one in (key, value))
    scores = (query.to(work) @ key.to(work).transpose(-2, -1)) * (
        1 / math.sqrt(query.shape[-1]) if scale is None else scale
    )
    if score_mod is not None:
        scores = over_all_places(score_mod, scores.shape, _I32, query.device, scores.to(query.dtype)).to(work)
    if block_mask is not None:
        scores = scores.masked_fill(~_counted(block_mask, scores.shape, query.device), -math.inf)
    out = (ops.aten._safe_softmax(scores, -1) @ value.to(work)).to(query.dtype)
    if return_lse:
        return out, scores.logsumexp(-1)
    if return_aux is None:
        return out
    lse = scores.logsumexp(-1) if return_aux.lse else None
    return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)


def _counted(mask: BlockMask, sizes: Any, device: Any) -> Tensor:
    """Which scores count, by the mask's blocks and in those by its function."""
    partial, full = mask.marked()
    says = over_all_places(mask.mask_mod, sizes, _I32, device)
    inside = says & mask.at_scores(partial).bool()
    result: Tensor = inside if full is None else inside | mask.at_scores(full).bool()
    return result


def _check(query: Tensor, key: Tensor, value: Tensor, mask: BlockMask | None, enable_gqa: bool) -> None:
    """Raises what `flex_attention` says."""
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if not query.device == key.device == value.device:
        raise ValueError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    _check_heads(query.shape[1], key.shape[1], enable_gqa)
    _check_samples(query.shape[0], key.shape[0], mask)
    if mask is not None:
        samples, heads, queries = query.shape[:3]
        _check_mask(mask, samples, heads, queries, key.shape[2])


def _check_heads(query: int, key: int, enable_gqa: bool) -> None:
    if not enable_gqa and query != key:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={query} and Hkv={key}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and query % key:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={query} and Hkv={key}."
        )


def _check_samples(query: int, key: int, mask: BlockMask | None) -> None:
    if query == key:
        return
    if mask is None:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={query}, and Bkv={key}."
        )
    if mask.kv_num_blocks.shape[0] != query:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch "
            f"size, but got Bq={query}, Bkv={key}, B_block_mask={mask.kv_num_blocks.shape[0]}."
        )
    if key != 1:
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={query} and Bkv={key}")


def _check_mask(mask: BlockMask, samples: int, heads: int, queries: int, keys: int) -> None:
    *shown, rows, columns = mask.shape
    if any(one not in (1, wanted) for one, wanted in zip(reversed(shown), (heads, samples), strict=False)):
        raise ValueError(
            f"block_mask of block_mask.shape={mask.shape} does not go with {samples} samples of {heads} heads: each "
            "of its first two sizes is that number, or 1."
        )
    if (rows, columns) == (queries, keys):
        return
    told = (
        f"block_mask was created for block_mask.shape={mask.shape} but got q_len={queries} and kv_len={keys}. As the "
        "block mask was created for a "
    )
    if queries > rows or keys > columns:
        raise ValueError(f"{told}smaller length than you're using it for, you likely need to create a new block mask.")
    raise ValueError(
        f"{told}larger length than you're using it for, create one of the correct length, or crop it to its upper left "
        "corner, which does not do for every mask, by block_mask._adjust(q_len, kv_len)."
    )
