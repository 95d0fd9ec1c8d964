"""Attention as functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor
from .._core import dtype as DType
from .._frames import user_stacklevel
from .._ops import ops

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

Pair = tuple[Tensor, Tensor]


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
    """softmax(query @ key.T * scale + attn_mask) @ value, of (..., heads, length, width), with dropout between.

    ``attn_mask`` broadcasts to (..., queries, keys): truth values, of which true ones are seen, or numbers to add.
    ``is_causal`` is a mask by which query i sees keys 0 to i. ``scale`` is 1 / sqrt(width) by default. With
    ``enable_gqa`` query has a multiple of the heads of key and value. Raises RuntimeError for shapes and dtypes that do
    not belong together.
    """
    result: Tensor = ops.aten.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    return result


# ---------------------------------------------------------------- several heads
def _check(holds: bool, message: str, error: type[Exception] = AssertionError) -> None:
    """PyTorch's class of error for what `multi_head_attention_forward` is called with."""
    if not holds:
        raise error(message)


def _is_batched(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, heads: int
) -> bool:
    """Whether inputs are (L, N, E); (L, E) are of one sample. Raises AssertionError for shapes that do not fit."""
    dims = query.dim()
    _check(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    of = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    found = f"but found {key.dim()}-D and {value.dim()}-D tensors respectively"
    _check(key.dim() == value.dim() == dims, f"{of} `key` and `value` to be {dims}-D {found}")
    if padding is not None:
        found = f"but found {padding.dim()}-D tensor instead"
        _check(padding.dim() == dims - 1, f"{of} `key_padding_mask` to be `None` or {dims - 1}-D {found}")
    if mask is not None:
        found = f"but found {mask.dim()}-D tensor instead"
        _check(mask.dim() in (2, 3), f"{of} `attn_mask` to be `None`, 2-D or 3-D {found}")
        if dims == 2 and mask.dim() == 3:
            wanted = (heads, query.shape[0], key.shape[0])
            _check(
                tuple(mask.shape) == wanted, f"Expected `attn_mask` shape to be {wanted} but got {tuple(mask.shape)}"
            )
    return dims == 3


def canonical_masks(dtype: Any, masks: dict[str, Tensor | None]) -> tuple[Tensor | None, Tensor | None]:
    """What two masks, by name, add to scores of a dtype; see `canonical_mask`."""
    (name, mask), (other_name, other) = masks.items()
    first = canonical_mask(mask, name, none_or_dtype(other), other_name, dtype)
    return first, canonical_mask(other, other_name, None, "", dtype, False)


def canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """What a mask adds to scores of a dtype: where it is true, and a key is not to be seen, minus infinity.

    Raises AssertionError for a mask of integers; warns where another mask is of another type, if ``check_other``.
    """
    if mask is None:
        return None
    if check_other and other_type is not None and mask.dtype != other_type:
        message = f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead."
        warnings.warn(message, stacklevel=user_stacklevel())
    if mask.is_floating_point():
        return mask
    _check(mask.dtype is _core.dtypes["bool"], f"only bool and floating types of {mask_name} are supported")
    result: Tensor = ops.aten.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)
    return result


def none_or_dtype(input: Tensor | None) -> DType | None:
    """The dtype of a tensor, None for none. Raises RuntimeError for what is neither."""
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _packed(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> Sequence[Tensor]:
    """Projections by one weight of (3 * E, E): in one product where query, key and value are one tensor."""
    linear = ops.aten.linear
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)  # type: ignore[no-any-return]
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _separate(inputs: Sequence[Tensor], weights: Sequence[Tensor | None], bias: Tensor | None) -> Sequence[Tensor]:
    """Projections by a weight for each of query, key and value."""
    width = inputs[0].shape[-1]
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    results = []
    for name, x, w, b in zip(("query", "key", "value"), inputs, weights, biases, strict=True):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name[0]}_proj_weight is None")
        wanted = (width, x.shape[-1])
        _check(tuple(w.shape) == wanted, f"expecting {name} weights shape of {wanted}, but got {tuple(w.shape)}")
        if b is not None:
            _check(tuple(b.shape) == (width,), f"expecting {name} bias shape of {(width,)}, but got {tuple(b.shape)}")
        results.append(ops.aten.linear(x, w, b))
    return results


def _longer(mask: Tensor | None) -> Tensor | None:
    """A mask with a key more, which is seen."""
    if mask is None:
        return None
    result: Tensor = ops.aten.cat([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)
    return result


def _heads_of(x: Tensor, given: Tensor | None, name: str, rows: int, width: int) -> Tensor:
    """(L, N, E) as (N * heads, L, width), or what is given in its place."""
    if given is None:
        result: Tensor = x.reshape((x.shape[0], rows, width)).transpose(0, 1)
        return result
    _check(given.size(0) == rows, f"expecting {name}.size(0) of {rows}, but got {given.size(0)}")
    _check(given.size(2) == width, f"expecting {name}.size(2) of {width}, but got {given.size(2)}")
    return given


@names_wrong_types
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads, projected before and after: the outputs, and the probabilities where they are needed.

    Query is (L, N, E) or (L, E), key and value (S, N, E) or (S, E). A true element of a mask is not seen, unlike
    that of `scaled_dot_product_attention`; ``key_padding_mask`` is (N, S) or (S), ``attn_mask`` (L, S) or
    (N * heads, L, S). Raises AssertionError for shapes that do not go together, as PyTorch.
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        self_attention, one_source = query is key, key is value  # which `_packed` looks at
        query = query.unsqueeze(1)
        key = query if self_attention else key.unsqueeze(1)
        value = key if one_source else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    by_hint = is_causal and key_padding_mask is None and not need_weights
    masks = {"key_padding_mask": key_padding_mask, "attn_mask": None if by_hint else attn_mask}
    padding, mask = canonical_masks(query.dtype, masks)
    _check(width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    of_head = width // num_heads
    _check(of_head * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        shapes = key.shape[:2], value.shape[:2]
        _check(shapes[0] == shapes[1], f"key's sequence and batch dims {shapes[0]} do not match value's {shapes[1]}")
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _separate((query, key, value), weights, in_proj_bias)
    else:
        _check(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _packed(query, key, value, in_proj_weight, in_proj_bias)
    rows = batch * num_heads
    mask = _checked_mask(mask, (length, key.shape[0]), rows)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v go together: one is None")
    if bias_k is not None and bias_v is not None:
        _check(static_k is None, "bias cannot be added to static key.")
        _check(static_v is None, "bias cannot be added to static value.")
        k, v = (ops.aten.cat([x, b.repeat((1, batch, 1))]) for x, b in ((k, bias_k), (v, bias_v)))
        mask, padding = _longer(mask), _longer(padding)
    q = _heads_of(q, None, "", rows, of_head)
    k = _heads_of(k, static_k, "static_k", rows, of_head)
    v = _heads_of(v, static_v, "static_v", rows, of_head)
    if add_zero_attn:
        k, v = (ops.aten.cat([x, x.new_zeros((rows, 1, of_head))], 1) for x in (k, v))
        mask, padding = _longer(mask), _longer(padding)
    mask = _merged(mask, padding, batch, num_heads, k.shape[1])
    drop = dropout_p if training else 0.0
    if need_weights:
        found, probabilities = _with_weights(q, k, v, mask, drop)
        heads = probabilities.reshape((batch, num_heads, length, k.shape[1]))
        shown = heads.mean(1) if average_attn_weights else heads
        found = found.transpose(0, 1).reshape((length * batch, width))
    else:
        shown = None
        found = _by_blocks((q, k, v), mask, drop, by_hint, (batch, num_heads))
    out = ops.aten.linear(found, out_proj_weight, out_proj_bias)
    out = out.reshape((length, batch, out.shape[1]))
    if not batched:
        out, shown = out.squeeze(1), None if shown is None else shown.squeeze(0)
    return out, shown


def _checked_mask(mask: Tensor | None, size: tuple[int, int], rows: int) -> Tensor | None:
    """A mask of three dimensions. Raises RuntimeError for another shape than ``size``, or one for each row."""
    if mask is None:
        return None
    dims = mask.dim()
    _check(dims in (2, 3), f"attn_mask's dimension {dims} is not supported", RuntimeError)
    wanted = size if dims == 2 else (rows, *size)
    wrong = f"The shape of the {dims}D attn_mask is {tuple(mask.shape)}, but should be {wanted}."
    _check(tuple(mask.shape) == wanted, wrong, RuntimeError)
    return mask.unsqueeze(0) if dims == 2 else mask


def _merged(mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, keys: int) -> Tensor | None:
    """What both masks add, (N * heads or 1, L or 1, S)."""
    if padding is None:
        return mask
    for d, size in enumerate((batch, keys)):
        _check(
            padding.shape[d] == size, f"Expected key_padded_mask.shape[{d}] to be {size}, but got {padding.shape[d]}"
        )
    each: Tensor = padding.reshape((batch, 1, 1, keys)).expand((-1, heads, -1, -1)).reshape((batch * heads, 1, keys))
    return each if mask is None else mask + each


def _with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, drop: float) -> Pair:
    """Attention of (rows, L, width), and its probabilities after dropout."""
    scores = (q * math.sqrt(1.0 / q.shape[2])).matmul(k.transpose(-2, -1))
    probabilities = (scores if mask is None else scores + mask).softmax(-1)
    if drop > 0.0:
        probabilities = ops.aten.dropout(probabilities, drop, True)
    return probabilities.matmul(v), probabilities


def _by_blocks(
    inputs: Sequence[Tensor], mask: Tensor | None, drop: float, causal: bool, rows: tuple[int, int]
) -> Tensor:
    """Attention of (rows, L, width) as (L * N, E), without its probabilities."""
    q, k, v = (x.reshape((*rows, *x.shape[1:])) for x in inputs)
    if mask is not None:
        one = mask.shape[0] == 1
        mask = mask.unsqueeze(0) if one else mask.reshape((*rows, -1, k.shape[2]))
    found: Any = ops.aten.scaled_dot_product_attention(q, k, v, mask, drop, causal)
    result: Tensor = found.permute((2, 0, 1, 3)).reshape((-1, rows[1] * q.shape[3]))
    return result
