"""Which calls of attention PyTorch answers by its fused path: the values of two of them show it.

A query that sees no key is NaN there, and 0 elsewhere, and padding comes out of a whole encoder as 0. Sources:
``forward`` of PyTorch's MultiheadAttention, TransformerEncoderLayer and TransformerEncoder, whose conditions these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core import Tensor, dtypes, is_grad_enabled, key_mask, thread_keys
from ..backends import backend_of, mha
from ..overrides import has_torch_function

__all__ = ["attention_is_fused", "layer_is_fused", "padding_is_left_out", "why_padding_stays"]


def _is_autocast(x: Tensor) -> bool:
    """Whether autocast is on for an accelerator's tensor: the CPU's does not keep PyTorch from that path."""
    key = backend_of(x.device).autocast_key
    return key is not None and x.device.type != "cpu" and not thread_keys()[1] & key_mask(key)


def _needs_no_gradient(tensors: Iterable[Tensor | None]) -> bool:
    given = [tensor for tensor in tensors if tensor is not None]
    return not has_torch_function(given) and not (is_grad_enabled() and any(t.requires_grad for t in given))


def attention_is_fused(attention: Any, inputs: tuple[Tensor, Tensor, Tensor], masks: Iterable[Any]) -> bool:
    """Whether a `MultiheadAttention` of these inputs hides keys by the fused path."""
    query, key, value = inputs
    given = [mask for mask in masks if mask is not None]
    if not given or any(mask.dtype is not dtypes["bool"] for mask in given):
        return False
    weight, bias, last = attention.in_proj_weight, attention.in_proj_bias, attention.out_proj
    return (
        mha.get_fastpath_enabled()
        and query.dim() == 3
        and query is key
        and key is value
        and weight is not None
        and bias is not None
        and query.dtype is weight.dtype
        and query.dtype is bias.dtype
        and not attention.training
        and attention.num_heads % 2 == 0
        and attention.batch_first
        and attention.bias_k is None
        and not attention.add_zero_attn
        and not _is_autocast(query)
        and _needs_no_gradient((query, weight, bias, last.weight, last.bias))
    )


def layer_is_fused(layer: Any, x: Tensor) -> bool:
    """Whether a `TransformerEncoderLayer` hides keys by the fused path: with masks of numbers, too."""
    attention = layer.self_attn
    return (
        mha.get_fastpath_enabled()
        and x.dim() == 3
        and not layer.training
        and attention.batch_first
        and attention.in_proj_bias is not None
        and attention._qkv_same_embed_dim
        and bool(layer.activation_relu_or_gelu)
        and layer.norm1.eps == layer.norm2.eps
        and attention.num_heads % 2 == 0
        and not _is_autocast(x)
        and not any(part._forward_hooks or part._forward_pre_hooks for part in layer.modules())
        and _needs_no_gradient((x, *_weights(layer)))
    )


def why_padding_stays(layer: Any) -> str:
    """Why an encoder of such layers computes padding, too; empty where it does not."""
    attention = getattr(layer, "self_attn", None)
    if attention is None or not hasattr(layer, "norm_first"):
        return "encoder_layer was not TransformerEncoderLayer"
    reasons = (
        (layer.norm_first, "norm_first was True"),
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "self_attn.num_heads is odd"),
    )
    return next((f"encoder_layer.{reason}" for holds, reason in reasons if holds), "")


def _is_left_aligned(padding: Tensor) -> bool:
    """Whether what is seen of each sequence comes first."""
    hidden = padding if padding.dtype is dtypes["bool"] else padding != 0
    return bool((hidden[:, 1:] | ~hidden[:, :-1]).all())


def padding_is_left_out(encoder: Any, x: Tensor, mask: Tensor | None, padding: Tensor | None) -> bool:
    """Whether a `TransformerEncoder` gives 0 where ``padding`` hides an element of ``x``, (batch, length, width)."""
    layer = encoder.layers[0]
    return (
        padding is not None
        and mask is None
        and mha.get_fastpath_enabled()
        and getattr(encoder, "use_nested_tensor", False)
        and not layer.training
        and x.dim() == 3
        and not (getattr(encoder, "mask_check", True) and not _is_left_aligned(padding))
        and not _is_autocast(x)
        and _needs_no_gradient((x, *_weights(layer)))
    )


def _weights(layer: Any) -> Iterable[Tensor]:
    attention = layer.self_attn
    yield from (attention.in_proj_weight, attention.in_proj_bias)
    for part in (attention.out_proj, layer.norm1, layer.norm2, layer.linear1, layer.linear2):
        yield from (part.weight, part.bias)
