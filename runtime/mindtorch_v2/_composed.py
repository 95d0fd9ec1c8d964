"""Functions of the top level that are rarely used, composed of operators: ``torch.lu``, ``torch.svd_lowrank``, ..."""

from __future__ import annotations

from typing import Any

from ._argument_types import checks_types
from ._core import Tensor
from ._ops import ops
from .kernels._lapack import adjoint
from .kernels.reduction import written
from .library._publishing import published_form

__all__ = ["_segment_reduce", "lu", "pca_lowrank", "svd_lowrank"]

_segment_reduce = published_form(ops.aten.segment_reduce)


@checks_types
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:  # noqa: N803
    """L and U in one matrix, the exchanges of rows, and if ``get_infos`` where U has a 0; else that is an error."""
    found: tuple[Tensor, ...] = ops.aten._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    found = tuple(found) if get_infos else tuple(found[:2])
    if out is None:
        return found
    if len(out) != len(found):
        raise TypeError(f"expected tuple of {len(found)} elements but got {len(out)}")
    return written(tuple(out), found)


@checks_types
def svd_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = 6,
    niter: int | None = 2,
    M: Tensor | None = None,  # noqa: N803
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of ``A - M`` for about the ``q`` largest singular values, by chance and ``niter`` iterations."""
    if M is not None:
        A = A - M.expand(A.shape)  # noqa: N806
    wanted = 6 if q is None else q
    rows, columns = A.shape[-2:]
    turned = rows < columns
    matrix = adjoint(A) if turned else A
    basis = _approximate_basis(matrix, wanted, 2 if niter is None else niter)
    u, s, v = ops.aten.linalg_svd(ops.aten.matmul(adjoint(basis), matrix), False)
    u, v = ops.aten.matmul(basis, u), adjoint(v)
    return (v, s, u) if turned else (u, s, v)


def _approximate_basis(matrix: Tensor, count: int, steps: int) -> Tensor:
    """Orthogonal columns that nearly span what a matrix makes of vectors."""
    aten = ops.aten
    drawn = aten.randn([matrix.shape[-1], count], dtype=matrix.dtype, device=matrix.device)
    basis = aten.linalg_qr(aten.matmul(matrix, drawn))[0]
    for _ in range(steps):
        basis = aten.linalg_qr(aten.matmul(adjoint(matrix), basis))[0]
        basis = aten.linalg_qr(aten.matmul(matrix, basis))[0]
    result: Tensor = basis
    return result


@checks_types
def pca_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = None,
    center: bool = True,
    niter: int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `svd_lowrank`, of a matrix whose columns' means are taken away if ``center``."""
    rows, columns = A.shape[-2:]
    count = min(6, rows, columns) if q is None else q
    if not 0 <= count <= min(rows, columns):
        raise ValueError(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    centred = A - A.mean([-2], True) if center else A
    found: tuple[Tensor, Tensor, Tensor] = svd_lowrank(centred, count, niter)
    return found
