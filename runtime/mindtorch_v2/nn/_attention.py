"""Attention as functions."""

from __future__ import annotations

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._ops import ops

__all__ = ["scaled_dot_product_attention"]


@names_wrong_types
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + attn_mask) @ value, of (..., heads, length, width), with dropout of probabilities.

    ``attn_mask`` broadcasts to (..., queries, keys): truth values, of which true ones are seen, or numbers to add.
    ``is_causal`` is a mask by which query i sees keys 0 to i. ``scale`` is 1 / sqrt(width) by default. With ``enable_gqa``
    query has a multiple of the heads of key and value. Raises RuntimeError for shapes and dtypes that do not belong together.
    """
    result: Tensor = ops.aten.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    return result
