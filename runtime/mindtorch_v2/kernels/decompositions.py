"""Decompositions of matrices into triangular ones, by LAPACK: Cholesky's, LU and LDL; and their gradients.

Gradients are composed of operators, and so have gradients themselves.
"""

# ruff: noqa: N803, N806 - PyTorch's names of arguments
from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..errors import LinAlgError
from ._lapack import (
    address,
    adjoint,
    check_floating,
    check_info,
    check_matrices,
    check_square,
    empty,
    of_exchanges,
    reduced_to,
)
from ._lu import factors, unpacked
from ._native import native

_DTYPES = _core.dtypes
_I32, _I64 = _DTYPES["int32"], _DTYPES["int64"]
_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)
_SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


# ---------------------------------------------------------------- Cholesky's
def cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """L, or U, with self = L L^H = U^H U; and for each matrix the first minor that is not positive, or 0."""
    check_square("linalg.cholesky_ex", self)
    check_floating("linalg.cholesky_ex", self)
    shape, kind, device = self.shape, self.dtype, self.device
    factor, info = _core.alloc(shape, kind, device), _core.alloc(shape[:-2], _I32, device)
    if factor.numel():
        native("mt_cholesky", "i64", "desc", "desc", "desc", "i64")(address("potrf", kind), self, factor, info, upper)
    else:
        info.zero_()
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
    return _by_factor(self, input2, upper)


def _by_factor(right: Tensor, factor: Tensor, upper: bool) -> Tensor:
    turned = adjoint(factor)
    first, second = (turned, factor) if upper else (factor, turned)
    solve = ops.aten.linalg_solve_triangular
    result: Tensor = solve(second, solve(first, right, upper=False), upper=True)
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
    if self.numel():
        zero = self.diagonal(0, -2, -1) == 0
        first = ops.aten.where(zero.any(-1), zero.to(_I32).argmax(-1) + 1, 0)
        check_info("cholesky_inverse", first, _SINGULAR)
    return _by_factor(ops.aten.eye(self.shape[-1], dtype=self.dtype, device=self.device), self, upper)


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
def rank_of(tensor: Tensor) -> int:
    """How many singular values the matrices have."""
    return min(tensor.shape[-2:])


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    check_matrices(name, A)
    check_floating(name, A)
    if not pivot and not A.is_meta:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """L and U in one matrix, the row that each row was exchanged with (from 1 on), and the first 0 in U's diagonal."""
    _check_lu("torch.linalg.lu_factor_ex", A, pivot)
    both, pivots, info = factors(A)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", info, "U[{0},{0}] is zero, and using it to solve would divide by it.")
    return both, pivots, info


def lu_factor_ex_fake(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, ...]:
    """A tensor of the same size, a number for each row, and one for each matrix."""
    check_matrices("torch.linalg.lu_factor_ex", A)
    batch = tuple(A.shape[:-2])
    return empty(A.shape, A.dtype, A), empty((*batch, rank_of(A)), _I32, A), empty(batch, _I32, A)


def lu_factor_ex_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factors and the pivots."""
    both, pivots, info = output
    ctx.save_for_backward(both, pivots)
    ctx.mark_non_differentiable(pivots, info)


def lu_factor_ex_backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Any, ...]:
    """That of L below the diagonal, and that of U from there on."""
    aten = ops.aten
    both, pivots = ctx.saved_tensors
    rank = rank_of(both)
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
    found = _unpacked_fake(A, True, True)
    unpacked(both, pivots, *found)
    return found


def linalg_lu_fake(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Matrices of the sizes of the three."""
    check_matrices("linalg.lu", A)
    return _unpacked_fake(A, True, True)


def _unpacked_fake(A: Tensor, data: bool, pivots: bool) -> tuple[Tensor, Tensor, Tensor]:
    batch, rows, columns = tuple(A.shape[:-2]), *A.shape[-2:]
    rank = min(rows, columns)
    return (
        empty((*batch, rows, rows) if pivots else (0,), A.dtype, A),
        empty((*batch, rows, rank) if data else (0,), A.dtype, A),
        empty((*batch, rank, columns) if data else (0,), A.dtype, A),
    )


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
    found = _unpacked_fake(LU_data, unpack_data, unpack_pivots)
    try:
        unpacked(LU_data, LU_pivots.contiguous(), *found)
    except _core.KernelError as failure:
        reason = "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive"
        raise of_exchanges(failure, f"{reason}. Did you properly pass the result of lu_factor?") from None
    return found


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


# ---------------------------------------------------------------- LDL
def ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """L and D in one lower triangle, with blocks of two where a pivot is negative, the pivots, and the first 0 in D."""
    check_square("torch.linalg.ldl_factor_ex", self)
    check_floating("torch.linalg.ldl_factor_ex", self)
    both, pivots, info = ldl_factor_ex_fake(self)
    if both.numel():
        where = address("hetrf" if hermitian and self.is_complex() else "sytrf", self.dtype)
        native("mt_ldl", "i64", "desc", "desc", "desc", "desc")(where, self, both, pivots, info)
    else:
        info.zero_()
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
    found = empty((*batch, size, columns), B.dtype, B)
    if found.numel():
        if batch:
            LD, B = LD.expand((*batch, size, size)), B.expand(found.shape)
            pivots = pivots.expand((*batch, size))
        where = address("hetrs" if hermitian and LD.is_complex() else "sytrs", LD.dtype)
        run = native("mt_ldl_solve", "i64", "desc", "desc", "desc", "desc")
        try:
            run(where, LD, pivots.to(_I32).contiguous(), B, found)
        except _core.KernelError as failure:
            raise of_exchanges(
                failure,
                "Pivots given to ldl_solve must all satisfy 1 <= |pivot| <= LD.size(-2), and be negative in pairs. Did "
                "you properly pass the result of ldl_factor?",
            ) from None
    return found


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
