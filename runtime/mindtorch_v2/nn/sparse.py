"""Sums, means and maxima of bags of embeddings."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core import dtype as DType
from .._creation import empty
from ..autograd import no_grad
from . import functional, init
from .module import Module
from .parameter import Parameter

__all__ = ["EmbeddingBag"]


class EmbeddingBag(Module):
    """Bags of rows of a table, summed (``mode="sum"``), averaged or their greatest; see `functional.embedding_bag`."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"padding_idx must be within num_embeddings, got {padding_idx}")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        if _weight is None:
            self.weight = Parameter(empty((num_embeddings, embedding_dim), dtype=dtype, device=device))
            self.reset_parameters()
            return
        if list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(_weight)

    def reset_parameters(self) -> None:
        """Draws the table from a normal distribution; the row of padding is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """A row for each bag: each row of a matrix of indices, or from each of ``offsets`` in a list of them."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Sizes, and the options that are set."""
        options = {
            "max_norm": (self.max_norm, None),
            "norm_type": (self.norm_type, 2),
            "scale_grad_by_freq": (self.scale_grad_by_freq, False),
        }
        given = [f"{name}={value}" for name, (value, usual) in options.items() if value != usual]
        padding = [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        return ", ".join([f"{self.num_embeddings}", f"{self.embedding_dim}", *given, f"mode={self.mode!r}", *padding])

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Bags of a given table, which is not trained unless ``freeze=False``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
