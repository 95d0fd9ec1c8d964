"""The norm of a weight along all dimensions but one, and a weight by its direction and size."""

from __future__ import annotations

from typing import Any

from ..._core import Tensor
from ..._ops import ops
from ..convolutions import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

__all__ = ["directed", "norm_except_dim", "usual_dim"]


def norm_except_dim(weight: Tensor, dim: int) -> Any:
    """The 2-norm along all dimensions but ``dim``, which are kept with size 1; of -1 along all of them, a scalar."""
    if dim == -1:
        return weight.norm()
    dims = [d for d in range(weight.dim()) if d != dim]
    return ops.aten.linalg_vector_norm(weight, 2, dims, True) if dims else weight.abs()


def directed(direction: Tensor, size: Tensor, dim: int) -> Any:
    """``direction``, made as long as ``size`` along all dimensions but ``dim``."""
    return direction * (size / norm_except_dim(direction, dim))


def usual_dim(module: Any, dim: int | None) -> int:
    """Where a weight's outputs are: in the first dimension, of transposed convolutions in the second."""
    if dim is not None:
        return dim
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
