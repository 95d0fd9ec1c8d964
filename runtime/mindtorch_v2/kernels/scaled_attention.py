"""Scaled dot-product attention: in blocks by a kernel, or composed of products and a softmax."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..autograd import is_grad_enabled
from ..backends._attention import NONE_LEFT, SDPBackend, ways
from ._composed import second_gradients
from ._native import native
from ._normalizing import check_floating, check_shape

_DTYPES = _core.dtypes
_F32, _F64, _BOOL = (_DTYPES[name] for name in ("float32", "float64", "bool"))
_HALVES = (_DTYPES["float16"], _DTYPES["bfloat16"])
MATH, FLASH = SDPBackend.MATH.value, SDPBackend.FLASH_ATTENTION.value
_IN_BLOCKS = (SDPBackend.FLASH_ATTENTION,)


def _check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    given = {"query": query, "key": key, "value": value}
    if not query.dtype is key.dtype is value.dtype:
        dtypes = ", ".join(f"{name}.dtype: {t.dtype}" for name, t in given.items())
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got {dtypes} instead.")
    if not query.device == key.device == value.device:
        devices = ", ".join(f"{name}.device: {t.device}" for name, t in given.items())
        raise RuntimeError(f"Expected query, key, and value to have the same device type, but got {devices} instead.")
    if min(t.dim() for t in given.values()) < 2:
        dims = ", ".join(f"{name}.dim: {t.dim()}" for name, t in given.items())
        raise RuntimeError(f"Expected query, key, and value to all be at least 2 dimensional, but got {dims} instead.")
    if attn_mask is None:
        return
    if attn_mask.dtype not in (_BOOL, _F32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype} and query.dtype: {query.dtype} instead."
        )
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + attn_mask) @ value, of (..., heads, length, width); what is true is seen."""
    if attn_mask is None and not dropout_p and _alike(query, key, value) and ways()[:1] == _IN_BLOCKS:
        blocks = ops.aten._scaled_dot_product_flash_attention_for_cpu
        usual: Tensor = blocks(query, key, value, dropout_p, is_causal, scale=scale)[0]
        return usual
    _check(query, key, value, attn_mask, is_causal)
    options = {"scale": scale, "enable_gqa": enable_gqa}
    if fused_sdp_choice(query, key, value, attn_mask, dropout_p, is_causal, **options) == FLASH:  # type: ignore[arg-type]
        blocks = ops.aten._scaled_dot_product_flash_attention_for_cpu
        result: Tensor = blocks(
            query, key, value, dropout_p, is_causal, attn_mask=_additive(attn_mask, query), scale=scale
        )[0]
        return result
    mask = _additive(attn_mask, query)
    composed = ops.aten._scaled_dot_product_attention_math
    found: Tensor = composed(query, key, value, mask, dropout_p, is_causal, None, **options)[0]
    return found


def _alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether queries, keys and values of the CPU are as many and as wide, as usual: the kernel takes them."""
    return (
        query.dim() == 4
        and query.shape == key.shape == value.shape
        and query.dtype is key.dtype is value.dtype
        and query.is_floating_point()
        and query.numel() > 0
        and query.is_cpu
        and key.is_cpu
        and value.is_cpu
    )


def _additive(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """What is added to scores: of truth values 0 where they are true, minus infinity elsewhere."""
    if mask is None or mask.dtype is not _BOOL:
        return mask
    result: Tensor = mask.new_zeros(mask.shape, dtype=query.dtype).masked_fill_(mask.logical_not(), -math.inf)
    return result


def fused_sdp_choice(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    """1 where the kernel computes it, in blocks; 0 where it is composed. Raises RuntimeError where neither may."""
    for way in ways():
        if way is SDPBackend.MATH:
            return MATH
        if way is SDPBackend.FLASH_ATTENTION and _in_blocks(query, key, value, attn_mask, dropout_p, enable_gqa):
            return FLASH
    raise RuntimeError(NONE_LEFT)


def _in_blocks(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool
) -> bool:
    """Whether the kernel can compute it."""
    tensors = (query, key, value)
    if query.device.type not in ("cpu", "meta") or dropout_p > 0 or any(t.dim() != 4 for t in tensors):
        return False
    if not query.is_floating_point() or any(t.numel() == 0 or t.shape[0] != query.shape[0] for t in tensors):
        return False
    heads, key_heads = query.shape[1], key.shape[1]
    if value.shape[1] != key_heads or (heads != key_heads and (not enable_gqa or heads % key_heads)):
        return False
    if not query.shape[3] == key.shape[3] == value.shape[3] or key.shape[2] != value.shape[2]:
        return False
    if attn_mask is not None:
        wanted = (query.shape[0], heads, query.shape[2], key.shape[2])
        shape = tuple(attn_mask.shape)
        fits = len(shape) in (2, 4) and all(a in (1, b) for a, b in zip(shape[::-1], wanted[::-1], strict=False))
        if not fits or (attn_mask.requires_grad and is_grad_enabled()):
            return False
    return True


# ---------------------------------------------------------------- composed
def attention_math(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Tensor | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention of products and a softmax, with dropout of probabilities; and the probabilities."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    for name, t in (("query", query), ("key", key), ("value", value)):
        least = 3 if enable_gqa else 2
        if t.dim() < least:
            raise RuntimeError(f"_scaled_dot_product_attention: expected {name} of {least} dimensions, got {t.dim()}")
    given = query.dtype
    if given in _HALVES:
        query, key, value = query.to(_F32), key.to(_F32), value.to(_F32)
    if enable_gqa:
        key, value = (_repeated(t, query, name) for t, name in ((key, "key"), (value, "value")))
    size = _scale(query, scale)
    root = math.sqrt(abs(size))
    if is_causal:
        seen = ops.aten.ones((query.shape[-2], key.shape[-2]), dtype=_BOOL, device=query.device)
        attn_mask = seen.tril()
    mask = _additive(attn_mask, query)
    scores = (query * (-root if size < 0 else root)).matmul(key.transpose(-2, -1) * root)
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    probabilities = ops.aten._safe_softmax(scores, -1)
    if dropout_p > 0:
        if dropout_mask is not None:
            kept = probabilities.masked_fill(dropout_mask.logical_not(), 0.0)
            return kept.matmul(value * (1 / (1 - dropout_p))).to(given), kept.to(given)
        probabilities = ops.aten.dropout(probabilities, dropout_p, True)
    return probabilities.matmul(value).to(given), probabilities.to(given)


def _repeated(tensor: Tensor, query: Tensor, name: str) -> Tensor:
    """A head of keys or values for each of queries."""
    times, rest = divmod(query.shape[-3], tensor.shape[-3])
    if rest:
        raise RuntimeError(f"Number of heads in {name} and query must divide")
    return tensor.repeat_interleave(times, -3) if times != 1 else tensor


def _scale(query: Tensor, scale: float | None) -> float:
    if scale is not None:
        return scale
    width = query.shape[-1]
    return 1 / math.sqrt(width) if width else math.inf


def safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """softmax, but zeros where all that there is is minus infinity."""
    if not self.is_floating_point() or not self.numel():
        found: Tensor = ops.aten.softmax(self, dim, dtype)
        return found
    nothing = (self.detach() == -math.inf).all(dim, True)
    result: Tensor = ops.aten.softmax(self.masked_fill(nothing, 0), dim, dtype)
    return ops.aten.where(nothing, result.new_zeros(()), result)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- in blocks
def flash_attention_fake(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """What the kernel refuses; outputs in memory as (batch, length, heads, width)."""
    for name, t in (("query", query), ("key", key), ("value", value)):
        if not t.is_floating_point() or t.dtype is not query.dtype:
            raise RuntimeError(
                f"scaled_dot_product_attention_flash_attention: expected {name} of the query's floating-point dtype, "
                "got "
                f"{t.dtype}"
            )
        if t.dim() != 4:
            raise RuntimeError(
                f"scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {{B, H, T, K}}: "
                f"{name} has {t.dim()}"
            )
    if dropout_p > 0:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if not query.shape[3] == key.shape[3] == value.shape[3]:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Q/K/V should have the same head size")
    heads = query.shape[1], key.shape[1]
    if len({t.shape[0] for t in (query, key, value)}) > 1 or key.shape[1:3] != value.shape[1:3]:
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: query, key and value of shapes "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)} do not go together"
        )
    if heads[0] != heads[1] and (not heads[1] or heads[0] % heads[1]):
        raise RuntimeError(f"Number of heads in key and query must divide, got {heads[1]} and {heads[0]}")
    _expanded(attn_mask, query, key)
    b, h, n, width = (*query.shape[:3], value.shape[3])
    wide = _F64 if query.dtype is _F64 else _F32
    out = _core.alloc((b, n, h, width), query.dtype, query.device).transpose(1, 2)
    return out, _core.alloc((b, n, h), wide, query.device).transpose(1, 2)


def _expanded(mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """A mask in the shape of the scores, in the dtype that the kernel computes in."""
    if mask is None:
        return None
    if mask.dtype is _BOOL or mask.dim() not in (2, 4):
        raise RuntimeError(
            "scaled_dot_product_attention_flash_attention: Attention mask is the same data type as query, of 2 or 4 "
            f"dimensions: got {mask.dtype} of {mask.dim()}"
        )
    wide = _F64 if query.dtype is _F64 else _F32
    result: Tensor = mask.detach().to(wide).expand((*query.shape[:3], key.shape[2]))
    return result


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(_F32) if tensor.dtype in _HALVES else tensor


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention in blocks, and the logarithms of the softmax's sums."""
    out, logs = flash_attention_fake(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    if not out.numel():
        return out, logs.zero_()
    mask = _expanded(attn_mask, query, key)
    q = _wide(query)
    found = out if out.dtype is q.dtype else ops.aten.empty_like(out, dtype=q.dtype)
    native("mt_attention", *["desc"] * 6, "f64", "i64", "i64")(
        q,
        _wide(key),
        _wide(value),
        q if mask is None else mask,
        found,
        logs,
        _scale(query, scale),
        is_causal,
        mask is not None,
    )
    return (out if found is out else out.copy_(found)), logs


def flash_attention_backward_fake(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    """What does not go together is refused; a gradient for each of query, key and value."""
    wanted = flash_attention_fake(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    for argument, given, like in (("grad_out", grad_out, 0), ("out", out, 0), ("logsumexp", logsumexp, 1)):
        check_shape(name, argument, given, wanted[like].shape)
    check_floating(name, grad_out=grad_out, out=out, logsumexp=logsumexp)
    return tuple(_core.alloc(t.shape, t.dtype, t.device) for t in (query, key, value))


def flash_attention_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    """The gradients of `flash_attention`'s query, key and value, in blocks too."""
    flash_attention_backward_fake(
        grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
    )
    wide = _F64 if query.dtype is _F64 else _F32
    found = [_core.alloc(t.shape, wide, t.device).zero_() for t in (query, key, value)]
    mask = _expanded(attn_mask, query, key)
    q = _wide(query)
    if grad_out.numel():
        native("mt_attention_backward", *["desc"] * 10, "f64", "i64", "i64")(
            grad_out.to(wide), q, _wide(key), _wide(value), q if mask is None else mask, out.to(wide),
            logsumexp.to(wide),
            *found,
            _scale(query, scale), is_causal, mask is not None,
        )  # fmt: skip
    return tuple(f.to(t.dtype) for f, t in zip(found, (query, key, value), strict=True))


def flash_attention_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    grad_out, query, key, value, _out, _logs, _p, ctx.is_causal, mask, ctx.scale = inputs
    ctx.save_for_backward(grad_out, query, key, value, mask)


def flash_attention_second_gradient(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the gradients: of grad_out, query, key and value, as they are where attention is composed."""
    grad_out, query, key, value, mask = ctx.saved_tensors

    def forward(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        return attention_math(q, k, v, mask, 0.0, ctx.is_causal, scale=ctx.scale, enable_gqa=True)

    return *second_gradients(forward, (query, key, value), grad_out, grads), *(None,) * 6
