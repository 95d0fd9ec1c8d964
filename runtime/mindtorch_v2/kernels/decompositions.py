"""Decompositions of matrices, by LAPACK: Cholesky's, LU, QR, LDL, eigenvalues and singular values; and their gradients.

Gradients are composed of operators, and so have gradients themselves.
"""

# ruff: noqa: N803 - PyTorch's names of arguments
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..autograd import is_grad_enabled
from ..errors import LinAlgError
from ._arrays import as_array, as_tensor
from ._lapack import (
    adjoint,
    batched,
    check_floating,
    check_info,
    check_matrices,
    check_square,
    empty,
    function,
    real_dtype,
    reduced_to,
    tied,
)
from .reduction import written

_DTYPES = _core.dtypes
_I32, _I64 = _DTYPES["int32"], _DTYPES["int64"]
_COMPLEX = {_DTYPES["float32"]: _DTYPES["complex64"], _DTYPES["float64"]: _DTYPES["complex128"]}

_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)


def _diagonal(matrix: Tensor) -> Tensor:
    result: Tensor = matrix.diagonal(0, -2, -1)
    return result


def _with_diagonal(matrix: Tensor, diagonal: Tensor | float) -> Tensor:
    """A matrix with another diagonal."""
    aten = ops.aten
    size = matrix.shape[-1]
    on = aten.eye(size, dtype=_DTYPES["bool"], device=matrix.device)
    value = diagonal.unsqueeze(-2) if isinstance(diagonal, Tensor) else diagonal
    result: Tensor = aten.where(on, value, matrix)
    return result


# ---------------------------------------------------------------- Cholesky's
def cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """L, or U, with self = L L^H = U^H U; and for each matrix the first minor that is not positive, or 0."""
    check_square("linalg.cholesky_ex", self)
    check_floating("linalg.cholesky_ex", self)
    size = self.shape[-1]

    def call(matrix: Any) -> Sequence[Any]:
        if not size:
            return matrix, 0
        return function("potrf", matrix)(matrix, lower=not upper, clean=1)  # type: ignore[no-any-return]

    factor, info = batched(call, [self], [2], [((size, size), self.dtype), ((), _I32)])
    if check_errors:
        check_info("linalg.cholesky_ex", info, _NOT_POSITIVE)
    return factor, info


def cholesky_ex_fake(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """A tensor of the same size, and a number for each matrix."""
    check_square("linalg.cholesky_ex", self)
    return empty(self.shape, self.dtype, self), empty(self.shape[:-2], _I32, self)


def cholesky_ex_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factor."""
    ctx.upper = bool(inputs[1])
    ctx.save_for_backward(output[0])
    ctx.mark_non_differentiable(output[1])


def cholesky_ex_backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Any, ...]:
    """L^-H (the lower triangle of L^H gL, made Hermitian, halved) L^-1"""
    (factor,) = ctx.saved_tensors
    return cholesky_gradient(grad, factor, ctx.upper), None, None


def cholesky_gradient(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a matrix by that of its factor."""
    aten = ops.aten
    if upper:
        grad, factor = adjoint(grad), adjoint(factor)
    phi = aten.matmul(adjoint(factor), grad).tril()
    phi = (phi + adjoint(phi.tril(-1))) * 0.5
    turned = adjoint(factor)
    left = aten.linalg_solve_triangular(turned, phi, upper=True, left=True)
    result: Tensor = aten.linalg_solve_triangular(factor, left, upper=False, left=False)
    return result


def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """As `cholesky_ex`; raises LinAlgError for what is not positive-definite."""
    return _cholesky("linalg.cholesky", self, upper)


def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """As `linalg_cholesky`."""
    return _cholesky("cholesky", self, upper)


def _cholesky(name: str, self: Tensor, upper: bool) -> Tensor:
    check_square(name, self)
    check_floating(name, self)
    factor, info = ops.aten.linalg_cholesky_ex(self, upper=upper)
    check_info(name, info, _NOT_POSITIVE)
    result: Tensor = factor
    return result


def cholesky_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factor."""
    ctx.upper = bool(inputs[1])
    ctx.save_for_backward(output)


def cholesky_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """As `cholesky_ex_backward`."""
    (factor,) = ctx.saved_tensors
    return cholesky_gradient(grad, factor, ctx.upper), None


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = self, of the factor of A."""
    for tensor, called in ((self, "b"), (input2, "u")):
        if tensor.dim() < 2:
            raise RuntimeError(f"{called} should have at least 2 dimensions, but has {tensor.dim()} dimensions instead")
    check_square("cholesky_solve", input2)
    if self.dtype is not input2.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {self.dtype} and A of type {input2.dtype} "
            "instead"
        )
    if self.shape[-2] != input2.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} "
            f"but each b matrix is {self.shape[-2]} by {self.shape[-1]}"
        )
    check_floating("cholesky_solve", self)
    aten = ops.aten
    turned = adjoint(input2)
    first, second = (turned, input2) if upper else (input2, turned)
    half = aten.linalg_solve_triangular(first, self, upper=False)
    result: Tensor = aten.linalg_solve_triangular(second, half, upper=True)
    return result


def cholesky_solve_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factor and the solution."""
    self, factor, ctx.upper = inputs
    ctx.shapes = tuple(self.shape), tuple(factor.shape)
    ctx.save_for_backward(factor, output)


def cholesky_solve_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """A^-1 grad; and of the factor -(A^-1 grad X^H, made Hermitian) L"""
    aten = ops.aten
    factor, solution = ctx.saved_tensors
    found = aten.cholesky_solve(grad, factor, ctx.upper)
    both = aten.matmul(found, adjoint(solution))
    both = both + adjoint(both)
    of_factor = -(aten.matmul(factor, both) if ctx.upper else aten.matmul(both, factor))
    return reduced_to(found, ctx.shapes[0]), reduced_to(of_factor, ctx.shapes[1]), None


def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose factor is given."""
    check_square("cholesky_inverse", self)
    check_floating("cholesky_inverse", self)
    identity = ops.aten.eye(self.shape[-1], dtype=self.dtype, device=self.device)
    return cholesky_solve(identity.expand(self.shape), self, upper)


def cholesky_inverse_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factor and the inverse."""
    ctx.upper = inputs[1]
    ctx.save_for_backward(inputs[0], output)


def cholesky_inverse_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """-A^-1 (grad + grad^H) A^-1 L"""
    aten = ops.aten
    factor, inverse = ctx.saved_tensors
    both = aten.matmul(aten.matmul(inverse, grad + adjoint(grad)), inverse)
    return -(aten.matmul(factor, both) if ctx.upper else aten.matmul(both, factor)), None


# ---------------------------------------------------------------- LU
def _rank(tensor: Tensor) -> int:
    return min(tensor.shape[-2:])


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    check_matrices(name, A)
    check_floating(name, A)
    if not pivot and not A.is_meta:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """L and U in one matrix, the row that each row was exchanged with (from 1 on), and the first 0 in U's diagonal."""
    _check_lu("torch.linalg.lu_factor_ex", A, pivot)
    size = _rank(A)

    def call(matrix: Any) -> Sequence[Any]:
        if not size:
            return matrix, 0, 0
        both, pivots, info = function("getrf", matrix)(matrix)
        return both, pivots + 1, info

    outputs = [(tuple(A.shape[-2:]), A.dtype), ((size,), _I32), ((), _I32)]
    both, pivots, info = batched(call, [A], [2], outputs)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", info, "U[{0},{0}] is zero, and using it to solve would divide by it.")
    return both, pivots, info


def lu_factor_ex_fake(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, ...]:
    """A tensor of the same size, a number for each row, and one for each matrix."""
    check_matrices("torch.linalg.lu_factor_ex", A)
    batch = tuple(A.shape[:-2])
    return empty(A.shape, A.dtype, A), empty((*batch, _rank(A)), _I32, A), empty(batch, _I32, A)


def lu_factor_ex_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factors and the pivots."""
    both, pivots, info = output
    ctx.save_for_backward(both, pivots)
    ctx.mark_non_differentiable(pivots, info)


def lu_factor_ex_backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Any, ...]:
    """That of L below the diagonal, and that of U from there on."""
    aten = ops.aten
    both, pivots = ctx.saved_tensors
    rank = _rank(both)
    permutation, lower, upper = aten.lu_unpack(both, pivots)
    of_lower, of_upper = grad.narrow(-1, 0, rank).tril(-1), grad.narrow(-2, 0, rank).triu()
    return lu_gradient(of_lower, of_upper, permutation, lower, upper), None, None


def lu_gradient(of_lower: Tensor | None, of_upper: Tensor | None, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """The gradient of a matrix P L U by those of L and U."""
    aten = ops.aten
    rows, columns = L.shape[-2], U.shape[-1]
    rank = min(rows, columns)
    of_lower = aten.zeros_like(L) if of_lower is None else of_lower
    of_upper = aten.zeros_like(U) if of_upper is None else of_upper
    square_l, square_u = L.narrow(-2, 0, rank), U.narrow(-1, 0, rank)
    top, left = of_lower.narrow(-2, 0, rank), of_upper.narrow(-1, 0, rank)
    # What hangs on the square part alone: L2 = A2 U1^-1, U2 = L1^-1 A2.
    inner_l, inner_u = aten.matmul(adjoint(square_l), top), aten.matmul(left, adjoint(square_u))
    rest = None
    if rows > rank:
        below = L.narrow(-2, rank, rows - rank)
        grad_below = of_lower.narrow(-2, rank, rows - rank)
        rest = aten.linalg_solve_triangular(adjoint(square_u), grad_below, upper=False, left=False)
        inner_u = inner_u - aten.matmul(adjoint(below), grad_below)
    elif columns > rank:
        behind = U.narrow(-1, rank, columns - rank)
        grad_behind = of_upper.narrow(-1, rank, columns - rank)
        rest = aten.linalg_solve_triangular(adjoint(square_l), grad_behind, upper=True)
        inner_l = inner_l - aten.matmul(grad_behind, adjoint(behind))
    inner = inner_l.tril(-1) + inner_u.triu()
    inner = aten.linalg_solve_triangular(adjoint(square_u), inner, upper=False, left=False)
    inner = aten.linalg_solve_triangular(adjoint(square_l), inner, upper=True)
    if rest is not None:
        inner = aten.cat([inner, rest], -2 if rows > rank else -1)
    result: Tensor = aten.matmul(P, inner)
    return result


def lu_factor(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """As `lu_factor_ex`; raises RuntimeError for a 0 in U's diagonal."""
    _check_lu("linalg.lu_factor", A, pivot)
    both, pivots, info = ops.aten.linalg_lu_factor_ex(A, pivot=pivot)
    _check_lu_info("torch.linalg.lu_factor", info)
    return both, pivots


def _check_lu_info(name: str, info: Tensor) -> None:
    try:
        check_info(
            name,
            info,
            "U[{0},{0}] is zero, and to solve equations would divide by it. If you still want to perform the "
            "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        )
    except LinAlgError as error:
        raise RuntimeError(str(error)) from None


def lu_with_info(self: Tensor, pivot: bool = True, check_errors: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """As `lu_factor_ex`."""
    found: tuple[Tensor, Tensor, Tensor] = ops.aten.linalg_lu_factor_ex(self, pivot=pivot, check_errors=False)
    if check_errors:
        _check_lu_info("lu", found[2])
    return found


def linalg_lu(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U, whose product is the matrix."""
    _check_lu("linalg.lu", A, pivot)
    both, pivots, _ = lu_factor_ex(A, pivot=pivot)
    return lu_unpack(both, pivots)


def linalg_lu_fake(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Matrices of the sizes of the three."""
    check_matrices("linalg.lu", A)
    return _unpacked_fake(A, True, True)


def _unpacked_fake(A: Tensor, data: bool, pivots: bool) -> tuple[Tensor, Tensor, Tensor]:
    batch, rows, columns = tuple(A.shape[:-2]), *A.shape[-2:]
    rank = min(rows, columns)
    shapes = ((*batch, rows, rows), (*batch, rows, rank), (*batch, rank, columns))
    there = (pivots, data, data)
    return tuple(empty(s if t else (0,), A.dtype, A) for s, t in zip(shapes, there, strict=True))  # type: ignore[return-value]


def linalg_lu_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the three."""
    ctx.save_for_backward(*output)
    ctx.mark_non_differentiable(output[0])
    ctx.set_materialize_grads(False)


def linalg_lu_backward(ctx: Any, _: Any, of_lower: Tensor | None, of_upper: Tensor | None) -> tuple[Any, ...]:
    """As `lu_gradient`."""
    return lu_gradient(of_lower, of_upper, *ctx.saved_tensors), None


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U of what `lu_factor` returns; tensors without elements in place of what is not asked for."""
    import numpy as np

    check_matrices("torch.lu_unpack", LU_data, "LU_data")
    if unpack_pivots and LU_pivots.dtype is not _I32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    rows, columns = LU_data.shape[-2:]
    rank = min(rows, columns)
    if unpack_pivots and tuple(LU_pivots.shape) != (*LU_data.shape[:-2], rank):
        raise RuntimeError(
            f"torch.lu_unpack: expected LU_pivots of size {[*LU_data.shape[:-2], rank]}, got {list(LU_pivots.shape)}"
        )
    permutation, lower, upper = (empty((0,), LU_data.dtype, LU_data) for _ in range(3))
    if unpack_data:
        lower = _with_diagonal_of(LU_data.narrow(-1, 0, rank).tril(-1))
        upper = LU_data.narrow(-2, 0, rank).triu()
    if unpack_pivots:
        pivots = as_array(LU_pivots)
        if pivots.size and not (pivots.min() >= 1 and pivots.max() <= rows):
            raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.")
        flat = pivots.reshape((-1, rank)) if rank else np.zeros((max(_count(LU_data), 0), 0), "int32")
        order = np.tile(np.arange(rows), (flat.shape[0], 1))
        at = np.arange(flat.shape[0])
        for k in range(rank):  # the exchanges in their order, of all matrices at once
            other = flat[:, k] - 1
            kept = order[at, k].copy()
            order[at, k] = order[at, other]
            order[at, other] = kept
        whole = np.zeros((flat.shape[0], rows, rows), "bool")
        whole[at[:, None], order, np.arange(rows)] = True
        permutation = as_tensor(whole.reshape((*LU_data.shape[:-2], rows, rows)), LU_data.dtype)
    return permutation, lower, upper


def _count(matrices: Tensor) -> int:
    count = 1
    for size in matrices.shape[:-2]:
        count *= size
    return count


def _with_diagonal_of(lower: Tensor) -> Tensor:
    aten = ops.aten
    on = aten.eye(lower.shape[-2], lower.shape[-1], dtype=lower.dtype, device=lower.device)
    result: Tensor = lower + on
    return result


def lu_unpack_fake(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `linalg_lu_fake`."""
    return _unpacked_fake(LU_data, unpack_data, unpack_pivots)


def lu_unpack_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the shape."""
    ctx.shape = tuple(inputs[0].shape)
    ctx.mark_non_differentiable(output[0])
    ctx.set_materialize_grads(False)


def lu_unpack_backward(ctx: Any, _: Any, of_lower: Tensor | None, of_upper: Tensor | None) -> tuple[Any, ...]:
    """That of L below the diagonal, and that of U from there on."""
    aten = ops.aten
    *batch, rows, columns = ctx.shape
    rank = min(rows, columns)
    found = None
    for grad, dim, size in ((of_lower, -1, columns), (of_upper, -2, rows)):
        if grad is None:
            continue
        part = grad.tril(-1) if dim == -1 else grad.triu()
        if size > rank:
            shape = (*batch, rows, size - rank) if dim == -1 else (*batch, size - rank, columns)
            part = aten.cat([part, part.new_zeros(shape)], dim)
        found = part if found is None else found + part
    return found, None, None, None


# ---------------------------------------------------------------- QR
def linalg_qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Q with orthogonal columns and R, an upper triangle, whose product is the matrix."""
    import numpy as np

    _check_qr(A, mode)
    decompose: Any = np.linalg.qr  # whose stubs want literal words
    found = decompose(as_array(A), mode) if A.numel() or mode == "complete" else None
    if found is None or not A.numel():
        q, r = linalg_qr_fake(A, mode)
        q.zero_()
        r.zero_()
        if mode == "complete":
            q.diagonal(0, -2, -1).fill_(1)
        return q, r
    if mode == "r":
        return empty((0,), A.dtype, A), as_tensor(found, A.dtype)
    return as_tensor(found[0], A.dtype), as_tensor(found[1], A.dtype)


def _check_qr(A: Tensor, mode: str) -> None:
    check_matrices("linalg.qr", A)
    check_floating("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )


def linalg_qr_fake(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """The two matrices' sizes."""
    _check_qr(A, mode)
    batch, rows, columns = tuple(A.shape[:-2]), *A.shape[-2:]
    inner = rows if mode == "complete" else min(rows, columns)
    q = (0,) if mode == "r" else (*batch, rows, inner)
    return empty(q, A.dtype, A), empty((*batch, inner, columns), A.dtype, A)


def linalg_qr_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps Q and R."""
    ctx.mode = inputs[1]
    ctx.save_for_backward(*output)
    ctx.set_materialize_grads(False)


def linalg_qr_backward(ctx: Any, of_q: Tensor | None, of_r: Tensor | None) -> tuple[Any, ...]:
    """(gQ + Q (the upper triangle of gR R^H - Q^H gQ, made Hermitian)) R^-H of as many columns as rows or fewer."""
    q, r = ctx.saved_tensors
    if ctx.mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to require gradients"
        )
    rows, columns = q.shape[-2], r.shape[-1]
    if ctx.mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if of_q is None and of_r is None:
        return None, None
    aten = ops.aten
    of_q = aten.zeros_like(q) if of_q is None else of_q
    of_r = aten.zeros_like(r) if of_r is None else of_r
    behind = None
    if columns > rows:  # R's other columns are Q^H A2
        right, r = r.narrow(-1, rows, columns - rows), r.narrow(-1, 0, rows)
        grad_right, of_r = of_r.narrow(-1, rows, columns - rows), of_r.narrow(-1, 0, rows)
        behind = aten.matmul(q, grad_right)
        of_q = of_q + aten.matmul(aten.matmul(q, right), adjoint(grad_right))
    inner = (aten.matmul(of_r, adjoint(r)) - aten.matmul(adjoint(q), of_q)).triu()
    both = inner + adjoint(inner)
    both = _with_diagonal(both, _diagonal(both) * 0.5)
    found = aten.linalg_solve_triangular(adjoint(r), of_q + aten.matmul(q, both), upper=False, left=False)
    return found if behind is None else aten.cat([found, behind], -1), None


def qr(self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """As `linalg_qr`."""
    found: tuple[Tensor, Tensor] = ops.aten.linalg_qr(self, "reduced" if some else "complete")
    return found


def geqrf(self: Tensor) -> tuple[Tensor, Tensor]:
    """R in the upper triangle, the vectors of the reflections below it, and their factors."""
    check_matrices("torch.geqrf", self, "input")
    check_floating("torch.geqrf", self, "input")
    size = _rank(self)

    def call(matrix: Any) -> Sequence[Any]:
        return function("geqrf", matrix)(matrix)[:2] if size else (matrix, 0)

    outputs = [(tuple(self.shape[-2:]), self.dtype), ((size,), self.dtype)]
    both, factors = batched(call, [self], [2], outputs)
    return both, factors


def geqrf_fake(self: Tensor) -> tuple[Tensor, Tensor]:
    """A tensor of the same size, and the factors."""
    check_matrices("torch.geqrf", self, "input")
    return empty(self.shape, self.dtype, self), empty((*self.shape[:-2], _rank(self)), self.dtype, self)


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections ``I - tau v v^H``."""
    name = "torch.linalg.householder_product"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    rows, columns = input.shape[-2:]
    if not tau.dim():
        raise RuntimeError(f"{name}: tau must have at least 1 dimension.")
    if rows < columns:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if columns < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and "
            f"input.ndim is equal to {input.dim()}"
        )
    if tuple(tau.shape[:-1]) != tuple(input.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.dtype is not input.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {input.dtype}")
    check_floating(name, input, "input")
    start = tied(ops.aten.eye(rows, columns, dtype=input.dtype, device=input.device), input)
    return _reflected(input, tau, start, True, False)


def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of `geqrf`'s Q, or of its adjoint, and a matrix."""
    _check_ormqr(self, input2, input3, left)
    return _reflected(self, input2, input3, left, transpose)


def _check_ormqr(self: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    name = "torch.ormqr"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if other.dim() < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    if not tau.dim():
        raise RuntimeError(f"{name}: tau must have at least 1 dimension.")
    side = other.shape[-2 if left else -1]
    where = -2 if left else -1
    if side < tau.shape[-1]:
        raise RuntimeError(f"{name}: other.shape[{where}] must be greater than or equal to tau.shape[-1]")
    if side != self.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{where}] must be equal to input.shape[-2]")
    if tau.shape[-1] > self.shape[-1]:
        raise RuntimeError(f"{name}: tau.shape[-1] must be less than or equal to input.shape[-1]")
    if self.dim() - tau.dim() != 1 or self.dim() != other.dim():
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input and other as many, but got tau.ndim equal to "
            f"{tau.dim()}, input.ndim {self.dim()}, other.ndim {other.dim()}"
        )
    batch = tuple(self.shape[:-2])
    for tensor, called, ranks in ((tau, "tau", 1), (other, "other", 2)):
        if tuple(tensor.shape[: tensor.dim() - ranks]) != batch:
            raise RuntimeError(f"{name}: Expected batch dimensions of {called} to be equal to input.shape[:-2]")
        if tensor.dtype is not self.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {called} to have the same dtype, but input has dtype {self.dtype} and "
                f"{called} has dtype {tensor.dtype}"
            )
    check_floating(name, self, "input")


def _reflected(vectors: Tensor, tau: Tensor, other: Tensor, left: bool, turned: bool) -> Tensor:
    """Reflections of a matrix, from the left or the right, by all of them or by their adjoints."""
    aten = ops.aten
    count = tau.shape[-1]
    if not other.numel():
        nothing: Tensor = other + (vectors.sum() + tau.sum()) * 0  # which depends on all three
        return nothing
    rows = vectors.shape[-2]
    at = aten.arange(rows, device=vectors.device).unsqueeze(-1)
    numbers = range(count) if left == turned else range(count - 1, -1, -1)
    for k in numbers:
        vector = aten.where(at > k, vectors.narrow(-1, k, 1), (at == k).to(vectors.dtype))
        factor = tau.narrow(-1, k, 1).unsqueeze(-1)
        factor = aten.conj(factor) if turned and factor.is_complex() else factor
        if left:
            other = other - factor * aten.matmul(vector, aten.matmul(adjoint(vector), other))
        else:
            other = other - factor * aten.matmul(aten.matmul(other, vector), adjoint(vector))
    return other


# ---------------------------------------------------------------- LDL
def ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """L and D in one lower triangle, with blocks of two where a pivot is negative, the pivots, and the first 0 in D."""
    check_square("torch.linalg.ldl_factor_ex", self)
    check_floating("torch.linalg.ldl_factor_ex", self)
    size = self.shape[-1]
    name = "hetrf" if hermitian and self.is_complex() else "sytrf"

    def call(matrix: Any) -> Sequence[Any]:
        if not size:
            return matrix, 0, 0
        import numpy as np

        both, pivots, info = function(name, matrix)(matrix, lower=1)
        return np.tril(both), pivots, info

    outputs = [((size, size), self.dtype), ((size,), _I32), ((), _I32)]
    both, pivots, info = batched(call, [self], [2], outputs)
    if check_errors:
        _check_ldl("torch.linalg.ldl_factor_ex", info)
    return both, pivots, info


def _check_ldl(name: str, info: Tensor) -> None:
    check_info(name, info, "D[{0},{0}] is zero, and using it to solve would divide by it.")


def ldl_factor_ex_fake(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """A tensor of the same size, a number for each row, and one for each matrix."""
    check_square("torch.linalg.ldl_factor_ex", self)
    shapes = ((self.shape, self.dtype), (self.shape[:-1], _I32), (self.shape[:-2], _I32))
    return tuple(empty(shape, target, self) for shape, target in shapes)  # type: ignore[return-value]


def ldl_factor(self: Tensor, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """As `ldl_factor_ex`; raises LinAlgError for a 0 in D."""
    both, pivots, info = ops.aten.linalg_ldl_factor_ex(self, hermitian=hermitian)
    _check_ldl("torch.linalg.ldl_factor", info)
    return both, pivots


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, of the factors of A."""
    _check_ldl_solve(LD, pivots, B)
    batch = _core.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    size, columns = B.shape[-2:]
    name = "hetrs" if hermitian and LD.is_complex() else "sytrs"

    def call(both: Any, exchanged: Any, right: Any) -> Sequence[Any]:
        if not right.size:
            return (right,)
        return (function(name, both)(both, exchanged, right, lower=1)[0],)

    inputs = [LD.expand((*batch, size, size)), pivots.expand((*batch, size)), B.expand((*batch, size, columns))]
    return batched(call, inputs, [2, 1, 2], [((size, columns), B.dtype)])[0]


def _check_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor) -> None:
    name = "torch.linalg.ldl_solve"
    check_square(name, LD, "LD")
    check_matrices(name, B, "B")
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of LD and B for the equation AX = B ({LD.shape[-2]}x{LD.shape[-1]} and "
            f"{B.shape[-2]}x{B.shape[-1]})"
        )
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got {list(pivots.shape)}"
        )
    if pivots.is_floating_point() or pivots.is_complex() or pivots.dtype is _DTYPES["bool"]:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    if LD.dtype is not B.dtype:
        raise RuntimeError(f"{name}: LD dtype {LD.dtype} does not match b dtype {B.dtype}")


def ldl_solve_fake(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solutions' size."""
    _check_ldl_solve(LD, pivots, B)
    batch = _core.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    return empty((*batch, *B.shape[-2:]), B.dtype, B)


# ---------------------------------------------------------------- eigenvalues
def eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    """The eigenvalues of Hermitian matrices in rising order, and the eigenvectors, a column each."""
    import numpy as np

    eigenvalues, eigenvectors = eigh_fake(A, UPLO, compute_v)
    if not A.numel():
        return eigenvalues, eigenvectors
    array = as_array(A)
    # Of what is not finite LAPACK may find nothing, or never end.
    finite = np.isfinite(array).all(axis=(-2, -1), keepdims=True)
    array = np.where(finite, array, np.zeros((), array.dtype))
    triangle = UPLO.upper()
    try:
        decompose: Any = np.linalg  # whose stubs want literal words
        values, vectors = decompose.eigh(array, triangle) if compute_v else (decompose.eigvalsh(array, triangle), None)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            "repeated eigenvalues."
        ) from None
    missing = float("nan")
    eigenvalues = as_tensor(np.where(finite[..., 0], values, missing), eigenvalues.dtype)
    if vectors is not None:
        eigenvectors = as_tensor(np.where(finite, vectors, missing), A.dtype)
    return eigenvalues, eigenvectors


def eigh_fake(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    """A real number for each row; and a tensor of the same size, or without elements."""
    check_square("linalg.eigh", A)
    check_floating("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    vectors = A.shape if compute_v else (0,)
    return empty(A.shape[:-1], real_dtype(A.dtype), A), empty(vectors, A.dtype, A)


def eigh_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps both."""
    ctx.save_for_backward(*output)
    ctx.set_materialize_grads(False)


def _check_phase(name: str, what: str, diagonal: Tensor) -> None:
    """Raises RuntimeError where a loss depends on the phase of complex vectors, which nothing determines."""
    if not diagonal.is_complex() or not diagonal.numel():
        return
    phase = ops.aten.imag(diagonal.detach()).abs()
    if float(phase.amax().item()) > 1e-2:
        raise RuntimeError(
            f"{name}_backward: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )


def eigh_backward(ctx: Any, of_values: Tensor | None, of_vectors: Tensor | None) -> tuple[Any, ...]:
    """V (the skew part of V^H gV over differences of eigenvalues, whose gradients are in the diagonal) V^H"""
    aten = ops.aten
    values, vectors = ctx.saved_tensors
    if of_values is None and of_vectors is None:
        return None, None, None
    turned = adjoint(vectors)
    if of_vectors is None:
        if of_values is None:
            return None, None, None
        return aten.matmul(vectors * of_values.unsqueeze(-2), turned), None, None
    inner = aten.matmul(turned, of_vectors)
    _check_phase("linalg_eigh", "eigenvectors", _diagonal(inner))
    inner = (inner - adjoint(inner)) * 0.5
    inner = inner / _with_diagonal(values.unsqueeze(-2) - values.unsqueeze(-1), 1.0)
    own = aten.zeros_like(values) if of_values is None else of_values
    inner = _with_diagonal(inner, own.to(inner.dtype))
    return aten.matmul(vectors, aten.matmul(inner, turned)), None, None


def linalg_eigh(self: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    """As `eigh`."""
    found: tuple[Tensor, Tensor] = ops.aten._linalg_eigh(self, UPLO, True)
    return found


def linalg_eigh_into(self: Tensor, UPLO: str = "L", *, eigvals: Tensor, eigvecs: Tensor) -> Any:
    """As `eigh`, into tensors."""
    return written((eigvals, eigvecs), ops.aten._linalg_eigh(self, UPLO, True))


def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues alone; the gradient needs the others, too."""
    result: Tensor = ops.aten._linalg_eigh(self, UPLO, _records(self))[0]
    return result


def _records(self: Tensor) -> bool:
    return bool(self.requires_grad and is_grad_enabled()) or _core.is_tracing()


def linalg_eig(self: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues of square matrices, complex ones, and the eigenvectors, a column each."""
    import numpy as np

    eigenvalues, eigenvectors = linalg_eig_fake(self)
    if not self.numel():
        return eigenvalues, eigenvectors
    values, vectors = np.linalg.eig(_finite(self))
    target = eigenvectors.dtype
    return as_tensor(values, target), as_tensor(vectors, target)


def _finite(self: Tensor) -> Any:
    import numpy as np

    array = as_array(self)
    if not np.isfinite(array).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return array


def linalg_eig_fake(self: Tensor) -> tuple[Tensor, Tensor]:
    """Complex numbers, one for each row, and matrices of the same size."""
    check_square("linalg.eig", self)
    check_floating("linalg.eig", self)
    target = _COMPLEX.get(self.dtype, self.dtype)
    return empty(self.shape[:-1], target, self), empty(self.shape, target, self)


def linalg_eig_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps both."""
    ctx.real = not inputs[0].is_complex()
    ctx.save_for_backward(*output)
    ctx.set_materialize_grads(False)


def linalg_eig_backward(ctx: Any, of_values: Tensor | None, of_vectors: Tensor | None) -> tuple[Any, ...]:
    """V^-H (as of Hermitian matrices, less what changes the vectors' lengths) V^H"""
    aten = ops.aten
    values, vectors = ctx.saved_tensors
    if of_values is None and of_vectors is None:
        return (None,)
    turned = adjoint(vectors)
    if of_vectors is None:
        inner = aten.diag_embed(of_values)
    else:
        inner = aten.matmul(turned, of_vectors)
        diagonal = _diagonal(inner)
        _check_phase("linalg_eig", "eigenvectors", diagonal)
        lengths = aten.real(diagonal).to(vectors.dtype)
        inner = inner - aten.matmul(turned, vectors * lengths.unsqueeze(-2))
        distance = aten.conj(values.unsqueeze(-2) - values.unsqueeze(-1))
        inner = inner / _with_diagonal(distance, 1.0)
        inner = _with_diagonal(inner, aten.zeros_like(values) if of_values is None else of_values)
    found = aten.linalg_solve(turned, aten.matmul(inner, turned))
    return (aten.real(found) if ctx.real else found,)


def linalg_eigvals(self: Tensor) -> Tensor:
    """The eigenvalues alone; the gradient needs the vectors, too."""
    result: Tensor = ops.aten.linalg_eig(self)[0] if _records(self) else ops.aten._linalg_eigvals(self)
    return result


def eigvals(self: Tensor) -> Tensor:
    """The eigenvalues of square matrices."""
    import numpy as np

    found = eigvals_fake(self)
    return as_tensor(np.linalg.eigvals(_finite(self)), found.dtype) if self.numel() else found


def eigvals_fake(self: Tensor) -> Tensor:
    """Complex numbers, one for each row."""
    return linalg_eig_fake(self)[0]


# ---------------------------------------------------------------- singular values
def svd(
    A: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V^H, whose product is the matrix: S in falling order, the columns of U and V orthogonal."""
    import numpy as np

    found = svd_fake(A, full_matrices, compute_uv, driver=driver)
    if not A.numel():
        for part in (found[0], found[2]):
            if part.numel():
                part.zero_()
                part.diagonal(0, -2, -1).fill_(1)
        return found
    array = as_array(A)
    if not np.isfinite(array).all():
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    try:
        decompose: Any = np.linalg.svd  # whose stubs want literal words
        parts = decompose(array, full_matrices, compute_uv)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            "repeated singular values."
        ) from None
    if not compute_uv:
        return found[0], as_tensor(parts, found[1].dtype), found[2]
    return tuple(as_tensor(part, like.dtype) for part, like in zip(parts, found, strict=True))  # type: ignore[return-value]


def svd_fake(
    A: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The three matrices' sizes."""
    check_matrices("linalg.svd", A)
    check_floating("linalg.svd", A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    batch, rows, columns = tuple(A.shape[:-2]), *A.shape[-2:]
    rank = min(rows, columns)
    u = (*batch, rows, rows if full_matrices else rank) if compute_uv else (0,)
    v = (*batch, columns if full_matrices else rank, columns) if compute_uv else (0,)
    return empty(u, A.dtype, A), empty((*batch, rank), real_dtype(A.dtype), A), empty(v, A.dtype, A)


def svd_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the three."""
    ctx.save_for_backward(*output)
    ctx.set_materialize_grads(False)


def svd_backward(ctx: Any, of_u: Tensor | None, of_s: Tensor | None, of_v: Tensor | None) -> tuple[Any, ...]:
    """U (what the vectors' gradients are over differences of squares of S, and that of S) V^H, and what lies beside."""
    aten = ops.aten
    u, s, v = ctx.saved_tensors
    rank = s.shape[-1]
    if of_u is None and of_s is None and of_v is None:
        return None, None, None
    u, v = u.narrow(-1, 0, rank), v.narrow(-2, 0, rank)
    of_u = None if of_u is None else of_u.narrow(-1, 0, rank)
    of_v = None if of_v is None else of_v.narrow(-2, 0, rank)
    rows, columns = u.shape[-2], v.shape[-1]
    if of_u is None and of_v is None and of_s is not None:
        tall = rows >= columns
        found = aten.matmul(u, of_s.unsqueeze(-1) * v) if tall else aten.matmul(u * of_s.unsqueeze(-2), v)
        return found, None, None
    inner_u = None if of_u is None else aten.matmul(adjoint(u), of_u)
    inner_v = None if of_v is None else aten.matmul(v, adjoint(of_v))
    skew_u, skew_v = (None if part is None else part - adjoint(part) for part in (inner_u, inner_v))
    phases = [_diagonal(part) for part in (skew_u, skew_v) if part is not None]
    _check_phase("svd", "singular vectors", sum(phases[1:], start=phases[0]))
    squares = s * s
    distance = _with_diagonal(squares.unsqueeze(-2) - squares.unsqueeze(-1), 1.0)
    inner: Any = u.new_zeros((*u.shape[:-2], rank, rank))
    if skew_u is not None:
        inner = inner + (skew_u / distance) * s.unsqueeze(-2)
    if skew_v is not None:
        inner = inner + s.unsqueeze(-1) * (skew_v / distance)
    diagonal = aten.zeros_like(s) if of_s is None else of_s
    diagonal = diagonal.to(u.dtype)
    if u.is_complex() and skew_u is not None:
        diagonal = diagonal + _diagonal(skew_u) / (2 * s)
    inner = _with_diagonal(inner, diagonal)
    found = aten.matmul(u, inner)
    if of_u is not None and inner_u is not None and rows > rank:
        found = found + (of_u - aten.matmul(u, inner_u)) / s.unsqueeze(-2)
    found = aten.matmul(found, v)
    if of_v is not None and inner_v is not None and columns > rank:
        beside = of_v - aten.matmul(adjoint(inner_v), v)
        found = found + aten.matmul(u, beside / s.unsqueeze(-1))
    return found, None, None


def linalg_svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `svd`."""
    found: tuple[Tensor, Tensor, Tensor] = ops.aten._linalg_svd(A, full_matrices, True, driver=driver)
    return found


def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values alone; the gradient needs the vectors, too."""
    result: Tensor = ops.aten._linalg_svd(A, False, _records(A), driver=driver)[1]
    return result


def svd_of(self: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V; zeros in place of U and V without ``compute_uv``."""
    if self.dim() < 2:
        raise RuntimeError("linalg.svd: input should have at least 2 dimensions, but has " + str(self.dim()))
    if compute_uv:
        u, s, v = ops.aten._linalg_svd(self, not some, True)
        return u, s, adjoint(v)
    s = ops.aten.linalg_svdvals(self)
    batch, (rows, columns) = tuple(self.shape[:-2]), self.shape[-2:]
    return self.new_zeros((*batch, rows, rows)), s, self.new_zeros((*batch, columns, columns))
