"""``torch.functional``: where PyTorch has its functions of the top level that are written in Python."""

from __future__ import annotations

from ._composed import lu, pca_lowrank, svd_lowrank
from ._functional import broadcast_tensors, norm, split
from ._ops import ops
from ._variadic import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    cartesian_prod,
    cdist,
    chain_matmul,
    einsum,
    meshgrid,
    tensordot,
    unique,
    unique_consecutive,
    unravel_index,
)
from .library._publishing import published_form

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]

istft, stft = published_form(ops.aten.istft), published_form(ops.aten.stft)
