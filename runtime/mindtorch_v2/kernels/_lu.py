"""Factors of matrices, and what follows from them, in C++; of large ones by LAPACK, whose start costs too much else."""

# ruff: noqa: N803 - PyTorch's names of arguments
from __future__ import annotations

from .. import _core
from .._core import Tensor
from ._lapack import address, real_dtype
from ._native import native

__all__ = ["determinants", "factors", "is_small", "logarithms", "solved", "unpacked"]

_I32 = _core.dtypes["int32"]
_LARGEST = 64  # rows and columns: beyond, LAPACK is as fast or faster


def is_small(*matrices: Tensor) -> bool:
    """Whether all are batches of matrices, of one at least, that are computed with here: LAPACK's are others."""
    for matrix in matrices:
        shape = matrix.shape
        if shape[-1] > _LARGEST or shape[-2] > _LARGEST or not matrix.numel():
            return False
    return True


def factors(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L and U in one matrix, the row that each row was exchanged with (from 1 on), and the first 0 in U's diagonal."""
    shape, device = A.shape, A.device
    both = _core.alloc(shape, A.dtype, device)
    pivots = _core.alloc((*shape[:-2], min(shape[-2:])), _I32, device)
    info = _core.alloc(shape[:-2], _I32, device)
    if not A.numel():
        info.zero_()
        return both, pivots, info
    getrf = 0 if is_small(A) else address("getrf", A.dtype)
    native("mt_lu", "i64", "desc", "desc", "desc", "desc")(getrf, A, both, pivots, info)
    return both, pivots, info


def solved(both: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B, of the factors of A; or with A^H, or X A = B. All are batches of the same shape."""
    found = _core.alloc(B.shape, B.dtype, B.device)
    getrs = 0 if is_small(both, B) else address("getrs", B.dtype)
    native("mt_lu_solve", "i64", "desc", "desc", "desc", "desc", "i64", "i64")(
        getrs, both, pivots, B, found, left, adjoint
    )
    return found


def unpacked(both: Tensor, pivots: Tensor, P: Tensor, L: Tensor, U: Tensor) -> None:
    """P, L and U, of factors, into contiguous tensors; P, or L and U, have one dimension where they are not wanted."""
    native("mt_lu_unpack", "desc", "desc", "desc", "desc", "desc")(both, pivots, P, L, U)


def determinants(both: Tensor, pivots: Tensor) -> Tensor:
    """The determinants, of factors."""
    found = _core.alloc(both.shape[:-2], both.dtype, both.device)
    native("mt_lu_det", "desc", "desc", "desc")(both, pivots, found)
    return found


def logarithms(both: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor]:
    """The directions of determinants, and the logarithms of their magnitudes."""
    batch, device = both.shape[:-2], both.device
    directions, logs = _core.alloc(batch, both.dtype, device), _core.alloc(batch, real_dtype(both.dtype), device)
    native("mt_lu_slogdet", "desc", "desc", "desc", "desc")(both, pivots, directions, logs)
    return directions, logs
