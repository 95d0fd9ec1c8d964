"""A transformer's encoder layer, and its attention, as PyTorch's inference calls them.

Masks hide what is true. Their kind is a number: 0 of (steps, steps), 1 of (batch, steps) for keys that are padding, 2
of the probabilities' own shape. Source: the checks of `_native_multi_head_attention` and `_masked_softmax` in PyTorch.
"""

from __future__ import annotations

from .._core import Tensor
from .._ops import ops

__all__ = ["attention", "layer"]


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, weight: Tensor, bias: Tensor
) -> None:
    _check(query.dim() == 3, f"expected 3-D `query`, got {query.dim()}-D tensor")
    found = query.shape[2]
    _check(found == width, f"passed-in embed_dim {width} didn't match last dim of query {found}")
    for name, other in (("key", key), ("value", value)):
        _check(other.dim() == 3, f"expected 3-D `{name}`, got {other.dim()}-D tensor")
    _check(query.shape == key.shape == value.shape, "expected `query`/`key`/`value` shapes to match")
    _check(weight.dim() == 2, f"expected 2-D `qkv_weight`, got {weight.dim()}-D tensor")
    _check(weight.shape[0] == 3 * width, "expected `qkv_weight` first dim to be 3x embed_dim")
    _check(weight.shape[1] == width, "expected `qkv_weight` second dim to be embed_Dim")
    _check(bias.dim() == 1, f"expected 1-D `qkv_bias`, got {bias.dim()}-D tensor")
    _check(bias.shape[0] == 3 * width, "expected `qkv_bias` first dim and first dim of query to be equal")
    _check(heads > 0 and width % heads == 0, "`embed_dim` must divide evenly by `num_heads`")


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The outputs, (batch, steps, width); and the probabilities, the mean over heads or (batch, heads, steps, steps).

    Raises RuntimeError for shapes that do not go together, and for a mask of another shape than its kind says.
    """
    _check_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias)
    linear = ops.aten.linear
    if query is key and key is value:
        parts = linear(query, qkv_weight, qkv_bias).chunk(3, -1)
    else:
        weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
        parts = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]
    batch, steps, of_head = query.shape[0], query.shape[1], embed_dim // num_head
    q, k, v = (part.reshape((batch, steps, num_head, of_head)).transpose(1, 2) for part in parts)
    probabilities = None
    if mask is None and not need_weights:
        seen = ops.aten.scaled_dot_product_attention(q, k, v)  # whose memory grows with the steps, not their square
    else:
        scores = ops.aten.matmul(q * of_head**-0.5, k.transpose(2, 3))
        hidden = None if mask is None else mask != 0
        probabilities = scores.softmax(-1) if hidden is None else ops.aten._masked_softmax(scores, hidden, 3, mask_type)
        seen = ops.aten.matmul(probabilities, v)
    out: Tensor = linear(seen.transpose(1, 2).reshape((batch, steps, embed_dim)), proj_weight, proj_bias)
    if not need_weights or probabilities is None:
        return out, None
    return out, probabilities.mean(1) if average_attn_weights else probabilities


def layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """The layer's output for ``src``, (batch, steps, width); with ``norm_first`` it normalises before, else behind."""
    if src.numel() == 0:
        return src
    width = (embed_dim,)

    def attended(x: Tensor) -> Tensor:
        given = (x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True)
        return attention(*given, mask_type)[0]

    def fed_forward(x: Tensor) -> Tensor:
        inner = ops.aten.linear(x, ffn_weight_1, ffn_bias_1)
        inner = ops.aten.gelu(inner) if use_gelu else ops.aten.relu(inner)
        return ops.aten.linear(inner, ffn_weight_2, ffn_bias_2)  # type: ignore[no-any-return]

    def first(x: Tensor) -> Tensor:
        return ops.aten.layer_norm(x, width, norm_weight_1, norm_bias_1, eps)  # type: ignore[no-any-return]

    def second(x: Tensor) -> Tensor:
        return ops.aten.layer_norm(x, width, norm_weight_2, norm_bias_2, eps)  # type: ignore[no-any-return]

    if norm_first:
        x = src + attended(first(src))
        return x + fed_forward(second(x))
    x = first(src + attended(src))
    return second(x + fed_forward(x))
