"""``torch.nn.attention.bias``: causal masks that `scaled_dot_product_attention` need not be given as matrices."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import mindtorch_v2 as torch

from ..._core import Tensor
from ..._frames import user_stacklevel
from ..functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner of queries times keys the triangle begins at, where there are more of the one than of the other."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for so many queries and keys, which is made only where a kernel needs it.

    ``scaled_dot_product_attention`` takes it for ``attn_mask``; any other operator works on the boolean matrix.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """A tensor without memory of its own."""
        made: CausalBias = Tensor._make_subclass(cls, torch.empty(0, dtype=torch.bool))
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                stacklevel=user_stacklevel(),
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask: True where a query may look at a key."""
        past = self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0
        mask: Tensor = torch.ones(self.seq_len_q, self.seq_len_kv, dtype=torch.bool, device=device).tril(past)
        return mask

    @staticmethod
    def _dispatch(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: CausalBias,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Attention with the mask. Raises ValueError where ``is_causal`` says the same again."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        begins_together = attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant is CausalVariant.UPPER_LEFT
        return scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=None if begins_together else attn_mask._materialize(query.device),
            dropout_p=dropout_p,
            is_causal=begins_together,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Attention with the mask; another function's result for the matrix."""
        named = kwargs or {}
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **named)
        masks = [one._materialize() if isinstance(one, CausalBias) else one for one in (*args, *named.values())]
        return func(*masks[: len(args)], **dict(zip(named, masks[len(args) :], strict=True)))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def _causal(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """The first query looks at the first key. Raises AssertionError unless two sizes are given: queries, keys."""
    return _causal("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The last query looks at all keys. Raises AssertionError unless two sizes are given: queries, keys."""
    return _causal("causal_lower_right", CausalVariant.LOWER_RIGHT, size)
