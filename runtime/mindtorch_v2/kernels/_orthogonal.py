"""Decompositions of matrices into orthogonal ones, into tensors: by LAPACK's functions, which come with SciPy, in C++;
where SciPy is not installed by NumPy's, which take longer for small matrices.

Each fills outputs that are contiguous and not empty; of those that are not wanted, which have one dimension, nothing.
What is returned is LAPACK's word on each matrix: 0, or a number of what did not converge, or -1 where a number is not
finite.
"""

# ruff: noqa: N803 - PyTorch's names of arguments
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from ._arrays import as_array
from ._lapack import address, has_lapack
from ._native import native

__all__ = ["into_eig", "into_eigh", "into_qr", "into_svd"]

_I32 = _core.dtypes["int32"]
_NOT_FINITE = -1


def into_svd(A: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """U, S and V^H with ``A = U S V^H``."""
    info = _core.alloc(A.shape[:-2], _I32, A.device)
    if has_lapack():
        run = native("mt_svd", "i64", "desc", "desc", "desc", "desc", "desc")
        run(address("gesdd", A.dtype), A, U, S, Vh, info)
        return info

    def decompose(numpy: Any, array: Any) -> tuple[Any, ...]:
        if U.dim() < A.dim():
            return (None, numpy.linalg.svd(array, compute_uv=False), None)
        return numpy.linalg.svd(array, U.shape[-1] == A.shape[-2] and Vh.shape[-2] == A.shape[-1])  # type: ignore[no-any-return]

    return _by_numpy(A, (U, S, Vh), info, decompose)


def into_eigh(A: Tensor, values: Tensor, vectors: Tensor, upper: bool) -> Tensor:
    """The eigenvalues of Hermitian matrices, and eigenvectors: NaN of what is not finite."""
    info = _core.alloc(A.shape[:-2], _I32, A.device)
    if has_lapack():
        run = native("mt_eigh", "i64", "desc", "desc", "desc", "desc", "i64")
        run(address("syevd", A.dtype), A, values, vectors, info, upper)
        return info
    triangle = "U" if upper else "L"

    def decompose(numpy: Any, array: Any) -> tuple[Any, ...]:
        wants = vectors.dim() == A.dim()
        return numpy.linalg.eigh(array, triangle) if wants else (numpy.linalg.eigvalsh(array, triangle), None)

    found = _by_numpy(A, (values, vectors), info, decompose)
    missing = found == _NOT_FINITE
    values.masked_fill_(missing.unsqueeze(-1), float("nan"))
    if vectors.dim() == A.dim():
        vectors.masked_fill_(missing.unsqueeze(-1).unsqueeze(-1), float("nan"))
    found.masked_fill_(missing, 0)
    return found


def into_eig(A: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """The eigenvalues of square matrices, and eigenvectors, which are complex."""
    info = _core.alloc(A.shape[:-2], _I32, A.device)
    if has_lapack():
        native("mt_eig", "i64", "desc", "desc", "desc", "desc")(address("geev", A.dtype), A, values, vectors, info)
        return info

    def decompose(numpy: Any, array: Any) -> tuple[Any, ...]:
        wants = vectors.dim() == A.dim()
        return numpy.linalg.eig(array) if wants else (numpy.linalg.eigvals(array), None)

    return _by_numpy(A, (values, vectors), info, decompose)


def into_qr(A: Tensor, Q: Tensor, R: Tensor) -> None:
    """Q and R with ``A = Q R``."""
    if has_lapack():
        kind = A.dtype
        native("mt_qr", "i64", "i64", "desc", "desc", "desc")(address("geqrf", kind), address("orgqr", kind), A, Q, R)
        return
    import numpy as np

    complete = R.shape[-2] > A.shape[-1]
    decompose: Any = np.linalg.qr  # whose stubs want literal words
    if Q.dim() < A.dim():
        as_array(R)[...] = decompose(as_array(A), "r")
    else:
        as_array(Q)[...], as_array(R)[...] = decompose(as_array(A), "complete" if complete else "reduced")


def _by_numpy(A: Tensor, outputs: tuple[Tensor, ...], info: Tensor, decompose: Callable[..., Any]) -> Tensor:
    """As one call of LAPACK's for each matrix would, of what NumPy finds of all finite ones."""
    import numpy as np

    array = as_array(A)
    finite = np.isfinite(array).all(axis=(-2, -1))
    as_array(info)[...] = np.where(finite, 0, _NOT_FINITE)
    try:
        parts = decompose(np, np.where(finite[..., None, None], array, np.zeros((), array.dtype)))
    except np.linalg.LinAlgError:
        info.fill_(1)  # of which is not told
        return info
    for output, part in zip(outputs, parts, strict=True):
        if part is not None:
            as_array(output)[...] = part
    return info
