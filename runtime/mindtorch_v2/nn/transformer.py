"""Attention of several heads, and the layers of a transformer."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from .._core import Tensor, dtypes
from .._core import dtype as DType
from .._creation import empty, full
from . import functional, init
from ._attention import canonical_masks
from ._fused_attention import attention_is_fused, layer_is_fused, padding_is_left_out, why_padding_stays
from .container import ModuleList
from .layers import GELU, Dropout, Linear, ReLU
from .module import Module
from .norms import LayerNorm
from .parameter import Parameter

__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


class NonDynamicallyQuantizableLinear(Linear):
    """The last layer of `MultiheadAttention`, by PyTorch's name of it."""


class MultiheadAttention(Module):
    """Attention of ``num_heads`` parts of ``embed_dim``; see `functional.multi_head_attention_forward`.

    Inputs are (sequence, batch, embedding), with ``batch_first`` (batch, sequence, embedding), or without a batch.
    ``kdim`` and ``vdim`` are the sizes of keys and values where they are others.
    """

    bias_k: Tensor | None
    bias_v: Tensor | None
    in_proj_bias: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim, self.vdim = kdim if kdim is not None else embed_dim, vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape: int) -> Parameter:
            made: Parameter = Parameter(empty(shape, device=device, dtype=dtype))
            return made

        if self._qkv_same_embed_dim:
            self.in_proj_weight: Any = parameter(3 * embed_dim, embed_dim)
            for name in ("q", "k", "v"):
                self.register_parameter(f"{name}_proj_weight", None)
        else:
            self.q_proj_weight: Any = parameter(embed_dim, embed_dim)
            self.k_proj_weight: Any = parameter(embed_dim, self.kdim)
            self.v_proj_weight: Any = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = parameter(1, 1, embed_dim), parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.constant_(bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, and the weights of the attention, averaged over heads, or None without ``need_weights``."""
        by_weights = need_weights or attention_is_fused(self, (query, key, value), (key_padding_mask, attn_mask))
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = (each.transpose(1, 0) for each in (query, key, value))
        given: dict[str, Any] = {}
        if not self._qkv_same_embed_dim:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            given = {"use_separate_proj_weight": True, **{name: getattr(self, name) for name in names}}
        output, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=by_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **given,
        )
        return (output.transpose(1, 0) if swap else output), weights if need_weights else None


# ---------------------------------------------------------------- layers
def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given == "relu":
        return functional.relu
    if given == "gelu":
        return functional.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {given}")


def _relu_or_gelu(activation: Callable[[Tensor], Tensor]) -> int:
    """1 for ReLU, 2 for GELU, 0 for another, as PyTorch's layers say it."""
    if activation is functional.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is functional.gelu or isinstance(activation, GELU) else 0


class _Layer(Module):
    """What both layers have: attention to itself, and two linear layers."""

    def _feed_forward(
        self, d_model: int, dim_feedforward: int, dropout: float, bias: bool, device: Any, dtype: DType | None
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, device=device, dtype=dtype)

    def _fed(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return result

    activation: Callable[[Tensor], Tensor]


class TransformerEncoderLayer(_Layer):
    """Attention to itself, and two linear layers, each added to its input and normalised: after, or before it."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
        self._feed_forward(d_model, dim_feedforward, dropout, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1, self.norm2 = (LayerNorm(d_model, eps=layer_norm_eps, **made) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)
        self.activation_relu_or_gelu = _relu_or_gelu(self.activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for ``src``, of its shape."""
        masks = {"src_key_padding_mask": src_key_padding_mask, "src_mask": src_mask}
        padding, mask = canonical_masks(src.dtype, masks)
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        result: Tensor = self.norm2(x + self._ff_block(x))
        return result

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        # With weights a query that sees no key is NaN.
        by_weights = (attn_mask is not None or key_padding_mask is not None) and layer_is_fused(self, x)
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        result: Tensor = self.dropout1(self.self_attn(x, x, x, need_weights=by_weights, **masks)[0])
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout2(self._fed(x))
        return result


class TransformerDecoderLayer(_Layer):
    """Attention to itself, then to ``memory``, and two linear layers; each added and normalised as in an encoder's."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
        self._feed_forward(d_model, dim_feedforward, dropout, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, eps=layer_norm_eps, **made) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for ``tgt``, of its shape."""

        def attended(x: Tensor) -> Tensor:
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def remembered(x: Tensor) -> Tensor:
            return self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)

        x = tgt
        for norm, part in ((self.norm1, attended), (self.norm2, remembered), (self.norm3, self._ff_block)):
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        result: Tensor = self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])
        return result

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        result: Tensor = self.dropout2(self.multihead_attn(x, mem, mem, need_weights=False, **masks)[0])
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout3(self._fed(x))
        return result


# ---------------------------------------------------------------- stacks
def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _is_causal(mask: Tensor | None, given: bool | None) -> bool:
    """Whether a mask hides what comes later, and nothing else; as somebody says, where somebody does."""
    if given is not None or mask is None or mask.dim() != 2 or mask.shape[0] != mask.shape[1]:
        return bool(given)
    expected = Transformer.generate_square_subsequent_mask(mask.shape[0], device=mask.device, dtype=mask.dtype)
    return bool((mask == expected).all())


class TransformerEncoder(Module):
    """``num_layers`` copies of a layer, one after another, and a norm.

    In evaluation, without gradients, padding that ends sequences comes out as 0, as of PyTorch's nested tensors:
    not without ``enable_nested_tensor``. Without ``mask_check`` nobody looks whether it ends them.
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        why_not = why_padding_stays(encoder_layer) if enable_nested_tensor else ""
        if why_not:
            message = f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}"
            warnings.warn(message, stacklevel=2)
        self.use_nested_tensor = enable_nested_tensor and not why_not

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The output of the last layer."""
        causal = _is_causal(mask, is_causal)
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and padding_is_left_out(self, src, mask, src_key_padding_mask):
            x = x.masked_fill(src_key_padding_mask.to(dtypes["bool"]).unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """``num_layers`` copies of a layer, one after another, and a norm."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(decoder_layer, num_layers), num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The output of the last layer."""
        causal = _is_causal(tgt_mask, tgt_is_causal)
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder and a decoder. Source: Vaswani et al., Attention Is All You Need, 2017."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        if custom_encoder is None:
            encoding = TransformerEncoderLayer(*options, **made)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **made)
            custom_encoder = TransformerEncoder(encoding, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoding = TransformerDecoderLayer(*options, **made)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **made)
            custom_decoder = TransformerDecoder(decoding, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's output for ``tgt``, which looks at the encoder's for ``src``."""
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: DType | None = None) -> Tensor:
        """(sz, sz): minus infinity above the diagonal, else 0."""
        result: Tensor = full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)
        return result
