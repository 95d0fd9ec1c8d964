"""Linear equations, inverses, determinants, ranks, norms and powers of matrices."""

# ruff: noqa: N803, N806 - PyTorch's names of arguments
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_array, as_tensor, scipy
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
from .decompositions import lu_unpack
from .reduction import wrap_dim, written

_DTYPES = _core.dtypes
_I32, _I64 = _DTYPES["int32"], _DTYPES["int64"]
_EPS = {_DTYPES["float32"]: 2.0**-23, _DTYPES["float64"]: 2.0**-52}

_SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)
_UNSOLVED = "The solver failed because the input matrix is singular."


# ---------------------------------------------------------------- equations
def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether what stands on the right is one vector for each matrix."""
    return B.dim() == 1 or (B.dim() == A.dim() - 1 and tuple(B.shape) == tuple(A.shape[:-1]))


def _check_same(name: str, A: Tensor, B: Tensor) -> None:
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype} and B of type "
            f"{B.dtype} instead"
        )


def _check_equation(name: str, A: Tensor, B: Tensor, left: bool) -> tuple[int, ...]:
    """The batch dimensions that both are broadcast to."""
    check_matrices(name, B, "B")
    if A.shape[-2] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    return tuple(_core.broadcast_shapes(A.shape[:-2], B.shape[:-2]))


def solve_all(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X with A X = B, or X A = B; the factors of A, the pivots, and for each matrix the first 0 in U's diagonal."""
    _batch, vector = _solve_shapes(A, B, left)
    aten = ops.aten
    both, pivots, info = aten.linalg_lu_factor_ex(A)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, _UNSOLVED)
    right = B.unsqueeze(-1) if vector else B
    solution = lu_solve(both, pivots, right, left=left)
    return solution.squeeze(-1) if vector else solution, both, pivots, info


def _solve_shapes(A: Tensor, B: Tensor, left: bool) -> tuple[tuple[int, ...], bool]:
    check_square("linalg.solve", A)
    check_floating("linalg.solve", A)
    _check_same("linalg.solve", A, B)
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    return _check_equation("linalg.solve", A, B.unsqueeze(-1) if vector else B, left), vector


def solve_all_fake(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sizes of the four."""
    batch, vector = _solve_shapes(A, B, left)
    shape = (*batch, A.shape[-1]) if vector else (*batch, *B.shape[-2:])
    shapes = ((shape, B.dtype), (A.shape, A.dtype), (A.shape[:-1], _I32), (A.shape[:-2], _I32))
    return tuple(empty(size, target, A) for size, target in shapes)  # type: ignore[return-value]


def solve_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the matrices and the solution."""
    A, B, ctx.left = inputs[:3]
    ctx.shape, ctx.vector = tuple(B.shape), _is_vector(A, B)
    ctx.save_for_backward(A, output[0])
    ctx.mark_non_differentiable(*output[1:])


def solve_backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Any, ...]:
    """A^-H grad; and of A that times X^H, negated."""
    aten = ops.aten
    matrix, solution = ctx.saved_tensors
    if ctx.vector:
        grad, solution = grad.unsqueeze(-1), solution.unsqueeze(-1)
    of_right = aten.linalg_solve_ex(adjoint(matrix), grad, left=ctx.left)[0]
    of_matrix = -aten.matmul(of_right, adjoint(solution)) if ctx.left else -aten.matmul(adjoint(solution), of_right)
    of_right = of_right.squeeze(-1) if ctx.vector else of_right
    return reduced_to(of_matrix, matrix.shape), reduced_to(of_right, ctx.shape), None, None


def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> tuple[Tensor, Tensor]:
    """The solution, and for each matrix the first 0 in the diagonal of its factor."""
    solution, _, _, info = ops.aten._linalg_solve_ex(A, B, left=left)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, _UNSOLVED)
    return solution, info


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B, or X A = B; raises LinAlgError for a matrix that is singular."""
    solution, _, _, info = ops.aten._linalg_solve_ex(A, B, left=left)
    check_info("torch.linalg.solve", info, _UNSOLVED)
    result: Tensor = solution
    return result


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B, of the factors of A; or with A^H, or X A = B."""
    batch = _check_lu_solve(LU, pivots, B, left)
    if not B.numel() or not math.prod(batch):
        return empty((*batch, *B.shape[-2:]), B.dtype, B).zero_()  # type: ignore[no-any-return]
    size = LU.shape[-1]
    # X A = B is A^H X^H = B^H.
    turned = adjoint if left else not adjoint

    def call(both: Any, exchanged: Any, right: Any) -> Sequence[Any]:
        given = right if left else right.conj().T
        found = function("getrs", both)(both, exchanged - 1, given, trans=2 * int(turned))[0]
        return (found if left else found.conj().T,)

    inputs = [LU.expand((*batch, size, size)), pivots.expand((*batch, size)), B.expand((*batch, *B.shape[-2:]))]
    return batched(call, inputs, [2, 1, 2], [(tuple(B.shape[-2:]), B.dtype)])[0]


def _check_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool) -> tuple[int, ...]:
    name = "linalg.lu_solve"
    check_square(name, LU, "LU")
    check_floating(name, LU, "LU")
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type {LU.dtype} and B of type "
            f"{B.dtype} instead"
        )
    if pivots.dtype is not _I32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix: expected "
            f"{list(LU.shape[:-1])}, but got {list(pivots.shape)}"
        )
    batch = _check_equation(name, LU, B, left)
    if not pivots.is_meta and pivots.numel():
        given = as_array(pivots)
        if given.min() < 1 or given.max() > LU.shape[-1]:
            raise RuntimeError(f"{name}: pivots must be between 1 and LU.size(-2) inclusive.")
    return batch


def lu_solve_fake(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The solutions' size."""
    return empty((*_check_lu_solve(LU, pivots, B, left), *B.shape[-2:]), B.dtype, B)


def lu_solve_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factors and the solution."""
    factors, pivots, right, ctx.left, ctx.turned = inputs
    ctx.shape = tuple(right.shape)
    ctx.save_for_backward(factors, pivots, output)


def lu_solve_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The equations turned, of the gradient; the factors' by way of A = P L U."""
    aten = ops.aten
    both, pivots, solution = ctx.saved_tensors
    of_right = aten.linalg_lu_solve(both, pivots, grad, left=ctx.left, adjoint=not ctx.turned)
    # of A as in `solve_backward`; then of L = P^T A U^-1 and of U = L^-1 P^T A.
    if ctx.left != ctx.turned:
        of_matrix = -(
            aten.matmul(of_right, adjoint(solution)) if ctx.left else aten.matmul(adjoint(of_right), solution)
        )
    else:
        of_matrix = -(
            aten.matmul(solution, adjoint(of_right)) if ctx.left else aten.matmul(adjoint(solution), of_right)
        )
    permutation, _, _ = lu_unpack(both.detach(), pivots, False, True)
    lower = both.tril(-1) + aten.eye(both.shape[-1], dtype=both.dtype, device=both.device)
    upper = both.triu()
    inner = aten.matmul(permutation.transpose(-2, -1), of_matrix)
    of_factors = aten.matmul(inner, adjoint(upper)).tril(-1) + aten.matmul(adjoint(lower), inner).triu()
    return reduced_to(of_factors, both.shape), None, reduced_to(of_right, ctx.shape), None, None


def lu_solve_of(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """As `linalg_lu_solve`."""
    result: Tensor = ops.aten.linalg_lu_solve(LU_data, LU_pivots, self)
    return result


def solve_triangular(
    self: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """X with A X = B, or X A = B, of a triangle A, in whose diagonal ones are taken to be if ``unitriangular``."""
    batch = _check_triangular(self, B, left)
    rows, columns = B.shape[-2:]
    size = self.shape[-1]

    def call(matrix: Any, right: Any) -> Sequence[Any]:
        if not right.size:
            return (right,)
        solved = function("trsm", matrix)(
            1.0, matrix, right, side=int(not left), lower=int(not upper), diag=int(unitriangular)
        )
        return (solved,)

    inputs = [self.expand((*batch, size, size)), B.expand((*batch, rows, columns))]
    return batched(call, inputs, [2, 2], [((rows, columns), B.dtype)])[0]


def _check_triangular(A: Tensor, B: Tensor, left: bool) -> tuple[int, ...]:
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_floating(name, A)
    _check_same(name, A, B)
    return _check_equation(name, A, B, left)


def solve_triangular_fake(
    self: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """The solutions' size."""
    return empty((*_check_triangular(self, B, left), *B.shape[-2:]), B.dtype, B)


def solve_triangular_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the triangle and the solution."""
    matrix, right, ctx.upper, ctx.left, ctx.ones = inputs
    ctx.shape = tuple(right.shape)
    ctx.save_for_backward(matrix, output)


def solve_triangular_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """A^-H grad; and of A the triangle of that times X^H, negated."""
    aten = ops.aten
    matrix, solution = ctx.saved_tensors
    of_right = aten.linalg_solve_triangular(
        adjoint(matrix), grad, upper=not ctx.upper, left=ctx.left, unitriangular=ctx.ones
    )
    of_matrix = -aten.matmul(of_right, adjoint(solution)) if ctx.left else -aten.matmul(adjoint(solution), of_right)
    of_matrix = of_matrix.triu(int(ctx.ones)) if ctx.upper else of_matrix.tril(-int(ctx.ones))
    return reduced_to(of_matrix, matrix.shape), reduced_to(of_right, ctx.shape), None, None, None


def triangular_solve(
    self: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Tensor, Tensor]:
    """X with A X = self, or with A's transpose, and A."""
    for tensor, called in ((self, "b"), (A, "A")):
        if tensor.dim() < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {called} to have at least 2 dimensions, but it has {tensor.dim()} "
                "dimensions instead"
            )
    batch = _check_triangular(A, self, True)
    aten = ops.aten
    given = A.transpose(-2, -1) if transpose else A
    solution = aten.linalg_solve_triangular(given, self, upper=upper != transpose, unitriangular=unitriangular)
    return solution, A.expand((*batch, *A.shape[-2:])).clone()


def triangular_solve_into(
    self: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    X: Tensor,
    M: Tensor,
) -> Any:
    """As `triangular_solve`, into tensors."""
    return written((X, M), triangular_solve(self, A, upper, transpose, unitriangular))


# ---------------------------------------------------------------- inverses
def inv_ex(A: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The inverses, and for each matrix the first 0 in the diagonal of its factor."""
    _inverse, info = inv_ex_fake(A)
    both, pivots, info = ops.aten.linalg_lu_factor_ex(A)
    if check_errors:
        check_info("linalg.inv_ex", info, _SINGULAR)
    identity = ops.aten.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    return lu_solve(both, pivots, identity.expand(A.shape)), info


def inv_ex_fake(A: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """A tensor of the same size, and a number for each matrix."""
    check_square("linalg.inv", A)
    check_floating("linalg.inv", A)
    return empty(A.shape, A.dtype, A), empty(A.shape[:-2], _I32, A)


def inv_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the inverses."""
    ctx.save_for_backward(output[0])
    ctx.mark_non_differentiable(output[1])


def inv_backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Any, ...]:
    """-A^-H grad A^-H"""
    aten = ops.aten
    turned = adjoint(ctx.saved_tensors[0])
    return -aten.matmul(turned, aten.matmul(grad, turned)), None


def inv(A: Tensor) -> Tensor:
    """The inverses; raises LinAlgError for a matrix that is singular."""
    inverse, info = ops.aten.linalg_inv_ex(A)
    check_info("linalg.inv", info, _SINGULAR)
    result: Tensor = inverse
    return result


def inverse(self: Tensor) -> Tensor:
    """As `inv`."""
    return inv(self)


def _tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """What of A's singular values counts as 0: up to one number, and up to a share of the largest."""
    usual = _EPS[real_dtype(A.dtype)] * max(A.shape[-2:])
    if isinstance(atol, Tensor) or isinstance(rtol, Tensor):
        for given, called in ((atol, "atol"), (rtol, "rtol")):
            if isinstance(given, Tensor) and given.is_complex():
                raise RuntimeError(f"{called} tensor of complex type is not supported. Got {given.dtype}")
    if rtol is None:
        if atol is None:
            rtol = usual
        elif isinstance(atol, Tensor):
            rtol = ops.aten.where(atol > 0, 0.0, usual).to(real_dtype(A.dtype))
        else:
            rtol = 0.0 if atol > 0 else usual
    return 0.0 if atol is None else atol, rtol


def _threshold(values: Tensor, atol: Any, rtol: Any) -> Tensor:
    """For each matrix the larger of both tolerances, of its singular values."""
    aten = ops.aten
    largest = values.amax([-1], True)
    limits = []
    for given, scale in ((atol, aten.ones_like(largest)), (rtol, largest)):
        limit = given.unsqueeze(-1) if isinstance(given, Tensor) else given
        limits.append(limit * scale)
    result: Tensor = aten.maximum(*limits)
    return result


def pinv(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudo-inverses, of the singular values above the tolerances."""
    check_matrices("linalg.pinv", self, "input")
    check_floating("linalg.pinv", self, "input")
    aten = ops.aten
    batch, (rows, columns) = tuple(self.shape[:-2]), self.shape[-2:]
    if not self.numel():
        return self.new_zeros((*batch, columns, rows))  # type: ignore[no-any-return]
    atol, rtol = _tolerances(self, atol, rtol)
    if hermitian:
        values, vectors = aten.linalg_eigh(self)
        sizes = values.abs()
        left, right = vectors, adjoint(vectors)
    else:
        u, values, v = aten.linalg_svd(self, False)
        sizes = values
        left, right = adjoint(v), adjoint(u)
    large = sizes > _threshold(sizes, atol, rtol)
    inverted = aten.where(large, aten.where(large, values, 1.0).reciprocal(), 0.0).to(self.dtype)
    result: Tensor = aten.matmul(left * inverted.unsqueeze(-2), right)
    return result


def pinv_fake(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The transposed matrices' size."""
    check_matrices("linalg.pinv", self, "input")
    return empty((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype, self)


def pinv_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the matrix and the result."""
    ctx.save_for_backward(inputs[0], output)


def pinv_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """As `pinv_gradient`."""
    matrix, found = ctx.saved_tensors
    return pinv_gradient(grad, found, matrix), None, None, None


def pinv_gradient(grad: Tensor, found: Tensor, matrix: Tensor) -> Tensor:
    """The gradient where the rank does not change."""
    mm = ops.aten.matmul
    turned, grad_turned = adjoint(found), adjoint(grad)
    result: Tensor
    if matrix.shape[-2] <= matrix.shape[-1]:
        k = mm(grad_turned, found)
        k_turned = mm(k, turned)
        result = (
            -adjoint(mm(found, k))
            + k_turned
            - mm(mm(matrix, found), k_turned)
            + mm(mm(turned, found), grad_turned - mm(k, matrix))
        )
    else:
        k = mm(found, grad_turned)
        turned_k = mm(turned, k)
        result = (
            -adjoint(mm(k, found))
            + mm(mm(grad_turned - mm(matrix, k), found), turned)
            + turned_k
            - mm(mm(turned_k, found), matrix)
        )
    return result


def pinv_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    """As `pinv`, of numbers."""
    check_matrices("linalg.pinv", self, "input")
    check_floating("linalg.pinv", self, "input")
    aten, kind = ops.aten, real_dtype(self.dtype)
    tensors = [None if n is None else aten.full([], n, dtype=kind, device=self.device) for n in (atol, rtol)]
    result: Tensor = aten.linalg_pinv.atol_rtol_tensor(self, atol=tensors[0], rtol=tensors[1], hermitian=hermitian)
    return result


def pinv_rcond(self: Tensor, rcond: float, hermitian: bool = False) -> Tensor:
    """As `pinv`, of one share."""
    return pinv_float(self, atol=0.0, rtol=rcond, hermitian=hermitian)


def pinv_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
    """As `pinv`, of a share for each matrix."""
    aten = ops.aten
    none = aten.full([], 0.0, dtype=real_dtype(self.dtype), device=self.device)
    result: Tensor = aten.linalg_pinv.atol_rtol_tensor(self, atol=none, rtol=rcond, hermitian=hermitian)
    return result


def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    """As `pinv`, of a share."""
    return pinv_rcond(self, rcond)


# ---------------------------------------------------------------- least squares
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _least_squares_driver(driver: str | None) -> str:
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    return driver or "gelsy"


def _check_least_squares(self: Tensor, b: Tensor) -> bool:
    """Whether what stands on the right is one vector for each matrix."""
    name = "torch.linalg.lstsq"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    check_floating(name, self, "input")
    if b.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if self.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got {self.dtype} and {b.dtype}"
        )
    difference = self.dim() - b.dim()
    if not 0 <= difference <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = bool(difference) and tuple(self.shape[:-1]) == tuple(b.shape)
    if self.shape[-2] != b.shape[-1 if vector else -2 if b.dim() > 1 else -1]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2})")
    return vector


def lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The shortest X of least ``|self X - b|``; the squares of what remains, ranks and singular values."""
    import numpy as np

    driver = _least_squares_driver(driver)
    vector = _check_least_squares(self, b)
    right = b.unsqueeze(-1) if vector else b
    batch = tuple(_core.broadcast_shapes(self.shape[:-2], right.shape[:-2]))
    rows, columns = self.shape[-2:]
    kind = real_dtype(self.dtype)
    share = _EPS[kind] * max(rows, columns) if rcond is None or rcond < 0 else rcond
    matrix = as_array(self.expand((*batch, rows, columns)))
    wanted = as_array(right.expand((*batch, *right.shape[-2:])))
    if matrix.size:
        u, s, v = np.linalg.svd(matrix, full_matrices=False)
        kept = s > share * s[..., :1] if driver != "gels" else np.ones(s.shape, "bool")
        inverted = np.where(kept, 1 / np.where(kept, s, 1), 0)
        inner = inverted[..., None] * (u.conj().swapaxes(-2, -1) @ wanted)
        found = v.conj().swapaxes(-2, -1) @ inner
        ranks = kept.sum(-1)
    else:
        found = np.zeros((*batch, columns, wanted.shape[-1]), matrix.dtype)
        s = np.zeros((*batch, min(rows, columns)), str(kind).removeprefix("torch."))
        ranks = np.zeros(batch, "int64")
    solution = as_tensor(found, self.dtype)
    residuals = empty((0,), kind, self)
    if rows > columns and driver != "gelsy" and (driver == "gels" or bool((ranks == columns).all())):
        rest = np.abs(matrix @ found - wanted)
        residuals = as_tensor((rest * rest).sum(-2), kind)
        residuals = residuals.squeeze(-1) if vector and self.dim() > 2 else residuals
    given = tuple(self.shape[:-2])
    rank = empty((0,), _I64, self) if driver == "gels" else as_tensor(_first_of(ranks, batch, given), _I64)
    values = as_tensor(_first_of(s, batch, given), kind) if driver in ("gelsd", "gelss") else empty((0,), kind, self)
    return solution.squeeze(-1) if vector else solution, residuals, rank, values


def _first_of(array: Any, batch: tuple[int, ...], given: tuple[int, ...]) -> Any:
    """What belongs to a matrix, not to its equations: without the dimensions that it was broadcast over."""
    skip = len(batch) - len(given)
    for _ in range(skip):
        array = array[0]
    for at, size in enumerate(given):
        if size == 1 and batch[skip + at] != 1:
            array = array.take([0], axis=at)
    return array


def lstsq_fake(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sizes of the four; of residuals none, which depend on ranks."""
    driver = _least_squares_driver(driver)
    vector = _check_least_squares(self, b)
    right = tuple(b.shape) + (1,) * vector
    batch = tuple(_core.broadcast_shapes(self.shape[:-2], right[:-2]))
    rows, columns = self.shape[-2:]
    shape = (*batch, columns) if vector else (*batch, columns, right[-1])
    kind, given = real_dtype(self.dtype), tuple(self.shape[:-2])
    values = (*given, min(rows, columns)) if driver in ("gelsd", "gelss") else (0,)
    ranks = (0,) if driver == "gels" else given
    return (
        empty(shape, self.dtype, self),
        empty((0,), kind, self),
        empty(ranks, _I64, self),
        empty(values, kind, self),
    )


def lstsq_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the equations and the solution."""
    self, b = inputs[:2]
    ctx.vector = _check_least_squares(self, b)
    ctx.save_for_backward(self, b, output[0])
    ctx.mark_non_differentiable(*output[2:])
    ctx.set_materialize_grads(False)


def lstsq_backward(ctx: Any, of_solution: Tensor | None, of_rest: Tensor | None, *_: Any) -> tuple[Any, ...]:
    """By way of the pseudo-inverse, and of what remains: 2 (A X - b) X^H"""
    aten = ops.aten
    matrix, b, solution = ctx.saved_tensors
    right = b.unsqueeze(-1) if ctx.vector else b
    found_matrix, found_right = None, None
    if of_solution is not None:
        grad = of_solution.unsqueeze(-1) if ctx.vector else of_solution
        inverse = aten.linalg_pinv(matrix)
        found_matrix = pinv_gradient(reduced_to(aten.matmul(grad, adjoint(right)), inverse.shape), inverse, matrix)
        found_right = aten.matmul(adjoint(inverse), grad)
    if of_rest is not None and of_rest.numel():
        solved = solution.unsqueeze(-1) if ctx.vector else solution
        single = ctx.vector and matrix.dim() > 2  # one number for each matrix, not for each column
        grad = of_rest.unsqueeze(-1).unsqueeze(-1) if single else of_rest.unsqueeze(-2)
        rest = 2 * (aten.matmul(matrix, solved) - right) * grad
        both = reduced_to(aten.matmul(rest, adjoint(solved)), matrix.shape)
        found_matrix = both if found_matrix is None else found_matrix + both
        found_right = -rest if found_right is None else found_right - rest
    if found_matrix is None or found_right is None:
        return None, None, None, None
    found_right = found_right.squeeze(-1) if ctx.vector else found_right
    return reduced_to(found_matrix, matrix.shape), reduced_to(found_right, b.shape), None, None


# ---------------------------------------------------------------- determinants
def det_all(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The determinants, the factors and the pivots."""
    found = det_fake(A)
    both, pivots, _ = ops.aten.linalg_lu_factor_ex(A)
    import numpy as np

    diagonal = np.diagonal(as_array(both), axis1=-2, axis2=-1)
    sign = _exchanges(pivots)
    return as_tensor(diagonal.prod(-1) * sign, found[0].dtype), both, pivots


def _exchanges(pivots: Tensor) -> Any:
    """-1 for each matrix whose rows were exchanged an odd number of times, else 1."""
    import numpy as np

    given = as_array(pivots)
    odd = (given != np.arange(1, given.shape[-1] + 1)).sum(-1) % 2
    return np.where(odd, -1, 1)


def det_fake(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A number for each matrix, a tensor of the same size, and a number for each row."""
    check_square("linalg.det", A)
    check_floating("linalg.det", A)
    return empty(A.shape[:-2], A.dtype, A), empty(A.shape, A.dtype, A), empty(A.shape[:-1], _I32, A)


def det_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the matrices and what is known of them."""
    ctx.save_for_backward(inputs[0], *output)
    ctx.mark_non_differentiable(*output[1:])


def det_backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Any, ...]:
    """grad det^* A^-H; of singular matrices by way of factors in whose diagonal no 0 is."""
    aten = ops.aten
    matrix, det, both, pivots = ctx.saved_tensors
    if not matrix.numel():
        return (aten.zeros_like(matrix),)
    factor = grad * (aten.conj(det) if det.is_complex() else det)
    if bool((det == 0).any().item()):
        size = matrix.shape[-1]
        on = aten.eye(size, dtype=_DTYPES["bool"], device=matrix.device)
        eps = _EPS[real_dtype(matrix.dtype)]
        both = aten.where(on & (both == 0), eps, both)
        product = both.diagonal(0, -2, -1).prod(-1) * as_tensor(_exchanges(pivots), real_dtype(matrix.dtype))
        factor = grad * (aten.conj(product) if product.is_complex() else product)
        wanted = aten.diag_embed(factor.unsqueeze(-1).expand(matrix.shape[:-1]))
        return (aten.linalg_lu_solve(both, pivots, wanted, adjoint=True),)
    wanted = aten.diag_embed(factor.unsqueeze(-1).expand(matrix.shape[:-1]))
    return (aten.linalg_solve_ex(adjoint(matrix), wanted)[0],)


def linalg_det(A: Tensor) -> Tensor:
    """The determinants."""
    result: Tensor = ops.aten._linalg_det(A)[0]
    return result


def det(self: Tensor) -> Tensor:
    """The determinants."""
    return linalg_det(self)


def slogdet_all(A: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The signs of determinants and the logarithms of their magnitudes, the factors and the pivots."""
    import numpy as np

    found = slogdet_fake(A)
    both, pivots, _ = ops.aten.linalg_lu_factor_ex(A)
    diagonal = np.diagonal(as_array(both), axis1=-2, axis2=-1)
    sizes = np.abs(diagonal)
    with np.errstate(divide="ignore", invalid="ignore"):
        signs = np.where(sizes == 0, 0, diagonal / np.where(sizes == 0, 1, sizes)).prod(-1) * _exchanges(pivots)
        logs = np.log(sizes).sum(-1)
    return as_tensor(signs, A.dtype), as_tensor(logs, found[1].dtype), both, pivots


def slogdet_fake(A: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two numbers for each matrix, a tensor of the same size, and a number for each row."""
    check_square("linalg.slogdet", A)
    check_floating("linalg.slogdet", A)
    shapes = ((A.shape[:-2], A.dtype), (A.shape[:-2], real_dtype(A.dtype)), (A.shape, A.dtype), (A.shape[:-1], _I32))
    return tuple(empty(shape, target, A) for shape, target in shapes)  # type: ignore[return-value]


def slogdet_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the matrices and the signs."""
    ctx.save_for_backward(inputs[0], output[0])
    ctx.mark_non_differentiable(*output[2:])
    ctx.set_materialize_grads(False)


def slogdet_backward(ctx: Any, of_sign: Tensor | None, of_log: Tensor | None, *_: Any) -> tuple[Any, ...]:
    """(that of the logarithm, and as an imaginary part what the sign turns by) A^-H"""
    aten = ops.aten
    matrix, sign = ctx.saved_tensors
    if of_log is None and (of_sign is None or not matrix.is_complex()):
        return (None,)
    factor = aten.zeros_like(aten.real(sign)) if of_log is None else of_log
    if matrix.is_complex() and of_sign is not None:
        factor = aten.complex(factor, aten.imag(of_sign * aten.conj(sign)))
    wanted = aten.diag_embed(factor.to(matrix.dtype).unsqueeze(-1).expand(matrix.shape[:-1]))
    return (aten.linalg_solve_ex(adjoint(matrix), wanted)[0],)


def slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The signs of determinants, and the logarithms of their magnitudes."""
    sign, log, _, _ = ops.aten._linalg_slogdet(A)
    return sign, log


def slogdet_of(self: Tensor) -> tuple[Tensor, Tensor]:
    """As `slogdet`."""
    return slogdet(self)


def logdet(self: Tensor) -> Tensor:
    """The logarithms of determinants; of real ones below 0 NaN."""
    aten = ops.aten
    sign, log = aten.linalg_slogdet(self)
    result: Tensor = sign.log() + log if self.is_complex() else aten.where(sign == -1, math.nan, log)
    return result


# ---------------------------------------------------------------- ranks and norms
def _count_above(self: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    check_matrices("linalg.matrix_rank", self, "input")
    check_floating("linalg.matrix_rank", self, "input")
    aten = ops.aten
    for given in (atol, rtol):
        if isinstance(given, Tensor) and given.is_complex():
            raise RuntimeError(
                f"torch.linalg.matrix_rank: tolerances of complex type are not supported, got {given.dtype}"
            )
    if not self.numel():
        return self.new_zeros(tuple(self.shape[:-2])).to(_I64)  # type: ignore[no-any-return]
    given_atol, given_rtol = _tolerances(self, atol, rtol)
    values = aten.linalg_eigvalsh(self.detach()).abs() if hermitian else aten.linalg_svdvals(self.detach())
    result: Tensor = (values > _threshold(values, given_atol, given_rtol)).sum([-1])
    return result


def matrix_rank(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """How many singular values of each matrix are above the tolerances."""
    return _count_above(self, atol, rtol, hermitian)


def matrix_rank_of(input: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """As `matrix_rank`."""
    return _count_above(input, atol, rtol, hermitian)


def matrix_rank_tol(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
    """As `matrix_rank`, above a number."""
    return _count_above(self, tol, 0.0, hermitian)


def matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
    """As `matrix_rank`, above a number for each matrix."""
    return _count_above(input, tol, 0.0, hermitian)


def _two_dims(name: str, self: Tensor, dim: Sequence[int]) -> tuple[int, int]:
    check_matrices(name, self)
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {list(dim)}")
    first, second = (wrap_dim(d, self.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _wide(name: str, self: Tensor, dtype: Any) -> Tensor:
    kind = self.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {kind}")
    if dtype is None:
        return self
    if not (dtype.is_floating_point or dtype.is_complex) or dtype.is_complex != kind.is_complex:
        raise RuntimeError(f"{name}: dtype should be {'complex' if kind.is_complex else 'floating point'}. Got {dtype}")
    if _core.promote_types(kind, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({kind}) should be convertible without narrowing to {dtype}"
        )
    result: Tensor = self.to(dtype)
    return result


def matrix_norm(
    self: Tensor, ord: Any, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of matrices by a number: the largest (least, if negative) sum of columns (1), of rows (inf), singular
    value (2)."""
    name = "linalg.matrix_norm"
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a real order, got {ord}")
    dims = _two_dims(name, self, dim)
    size = abs(float(ord))
    if size not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    given = _wide(name, self, dtype)
    extreme = "amax" if ord > 0 else "amin"
    if size == 2:
        check_floating(name, given)
        found = ops.aten.linalg_svdvals(given.movedim(list(dims), [-2, -1]))
        value = getattr(found, extreme)([-1])
        return _kept(value, dims) if keepdim else value
    summed, chosen = dims if size == 1 else (dims[1], dims[0])
    total = ops.aten.linalg_vector_norm(given, 1, [summed], True)
    result: Tensor = getattr(total, extreme)([chosen], True)
    return result if keepdim else result.squeeze([summed, chosen])


def _kept(value: Tensor, dims: Sequence[int]) -> Tensor:
    for d in sorted(dims):
        value = value.unsqueeze(d)
    return value


def matrix_norm_word(
    self: Tensor, ord: str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The root of the sum of squares ("fro"), or the sum of singular values ("nuc")."""
    name = "linalg.matrix_norm"
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    dims = _two_dims(name, self, dim)
    if ord == "fro":
        result: Tensor = ops.aten.linalg_vector_norm(self, 2, list(dims), keepdim, dtype=dtype)
        return result
    given = _wide(name, self, dtype)
    check_floating(name, given)
    value = ops.aten.linalg_svdvals(given.movedim(list(dims), [-2, -1])).sum([-1])
    return _kept(value, dims) if keepdim else value


def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of a matrix's singular values."""
    return matrix_norm_word(self, "nuc", (-2, -1), keepdim)


def nuclear_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """The sums of singular values, of matrices in two dimensions."""
    return matrix_norm_word(self, "nuc", dim, keepdim)


def linalg_norm(
    self: Tensor, ord: Any = None, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of vectors or matrices: of all elements as a vector where neither ``ord`` nor ``dim`` is given."""
    _check_norm("linalg.norm", self, ord, dim)
    aten = ops.aten
    result: Tensor
    if ord is not None and (len(dim) == 2 if dim is not None else self.dim() == 2):
        result = aten.linalg_matrix_norm(self, ord, list(dim) if dim is not None else [0, 1], keepdim, dtype=dtype)
    else:
        result = aten.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return result


def linalg_norm_word(
    self: Tensor, ord: str, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """As `matrix_norm_word`."""
    _check_norm("linalg.norm", self, ord, dim)
    aten = ops.aten
    result: Tensor = aten.linalg_matrix_norm(self, ord, list(dim) if dim is not None else [0, 1], keepdim, dtype=dtype)
    return result


def _check_norm(name: str, self: Tensor, ord: Any, dim: Sequence[int] | None) -> None:
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"{name}: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"{name}: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )


def cond(self: Tensor, p: Any = None) -> Tensor:
    """A matrix's norm times that of its inverse, infinite where there is none."""
    check_matrices("linalg.cond", self)
    aten = ops.aten
    result: Tensor
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        values = aten.linalg_svdvals(self)
        largest, least = values.amax([-1]), values.amin([-1])
        result = least / largest if p == -2 else largest / least
        return result
    if isinstance(p, str):
        if p not in ("fro", "nuc"):
            raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    elif abs(p) not in (1, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_square("linalg.cond", self, "A")
    if p == "nuc":
        values = aten.linalg_svdvals(self)
        inverse_norm = values.reciprocal().sum([-1])
        result = values.sum([-1]) * inverse_norm
        return result
    if not self.shape[-1]:
        return self.new_zeros(tuple(self.shape[:-2])).to(real_dtype(self.dtype))  # type: ignore[no-any-return]
    inverse, info = aten.linalg_inv_ex(self)
    singular = (info != 0).unsqueeze(-1).unsqueeze(-1)
    inverse = aten.where(singular, math.inf, inverse)
    result = aten.linalg_matrix_norm(self, p) * aten.linalg_matrix_norm(inverse, p)
    return result


# ---------------------------------------------------------------- powers and products
def matrix_power(self: Tensor, n: int) -> Tensor:
    """The n-th power, of the inverse if n is negative, by squares."""
    return _power("linalg.matrix_power", self, n)


def _power(name: str, self: Tensor, n: int) -> Tensor:
    check_square(name, self)
    aten = ops.aten
    if n == 0:
        return tied(aten.eye(self.shape[-1], dtype=self.dtype, device=self.device), self)
    base = self if n > 0 else aten.linalg_inv(self)
    n = abs(n)
    if n == 1:
        return base.clone() if base is self else base
    result: Tensor | None = None
    while n:
        if n % 2:
            result = base if result is None else aten.matmul(result, base)
        n //= 2
        if n:
            base = aten.matmul(base, base)
    return result  # type: ignore[return-value]


def matrix_exp(self: Tensor) -> Tensor:
    """The exponentials of square matrices."""
    found = matrix_exp_fake(self)
    if not self.numel():
        return found
    return as_tensor(scipy("linalg").expm(as_array(self)), self.dtype)


def matrix_exp_fake(self: Tensor) -> Tensor:
    """A tensor of the same size."""
    check_square("linalg.matrix_exp", self)
    kind = self.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {kind}")
    return empty(self.shape, kind, self)


def matrix_exp_backward(self: Tensor, grad: Tensor) -> Tensor:
    """The upper right part of the exponential of [[A^H, grad], [0, A^H]]."""
    aten = ops.aten
    if not self.numel():
        return aten.zeros_like(self)  # type: ignore[no-any-return]
    turned, size = adjoint(self), self.shape[-1]
    whole = aten.cat([aten.cat([turned, grad], -1), aten.cat([aten.zeros_like(turned), turned], -1)], -2)
    result: Tensor = aten.linalg_matrix_exp(whole).narrow(-2, 0, size).narrow(-1, size, size)
    return result


def matrix_exp_of(self: Tensor) -> Tensor:
    """As `matrix_exp`."""
    result: Tensor = ops.aten.linalg_matrix_exp(self)
    return result


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices, in the order that multiplies least; the first and the last may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    given = list(tensors)
    first, last = given[0].dim() == 1, given[-1].dim() == 1
    for at, tensor in enumerate(given):
        if tensor.dim() != 2 and not (tensor.dim() == 1 and at in (0, len(given) - 1)):
            where = "1D or 2D" if at in (0, len(given) - 1) else "2D"
            raise RuntimeError(f"multi_dot(): tensor {at} must be {where} but got {tensor.dim()}D")
        if tensor.dtype is not given[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor {at} is {tensor.dtype}, not "
                f"{given[0].dtype}"
            )
    given[0] = given[0].unsqueeze(0) if first else given[0]
    given[-1] = given[-1].unsqueeze(-1) if last else given[-1]
    for at, (a, b) in enumerate(itertools.pairwise(given)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {at} and {at + 1} with shapes {list(tensors[at].shape)} and "
                f"{list(tensors[at + 1].shape)} cannot be multiplied"
            )
    result = _product(given, _best_splits([given[0].shape[0], *(m.shape[1] for m in given)]), 0, len(given) - 1)
    if last:
        result = result.squeeze(-1)
    return result.squeeze(0) if first else result


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to divide each run of matrices, so that the fewest numbers are multiplied."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], splits[i, j] = min(options)
    return splits


def _product(given: Sequence[Tensor], splits: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return given[i]
    k = splits[i, j]
    result: Tensor = ops.aten.mm(_product(given, splits, i, k), _product(given, splits, k + 1, j))
    return result


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices, in the order that multiplies least."""
    for at, matrix in enumerate(matrices):
        if matrix.dim() != 2:
            raise RuntimeError(f"chain_matmul(): Tensor {at} must be 2-dimensional, but got {matrix.dim()}D")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return matrices[0]
    result: Tensor = ops.aten.linalg_multi_dot(list(matrices))
    return result


def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of elements from 0 on, a column each."""
    kind = x.dtype
    if kind is _DTYPES["bool"]:
        raise RuntimeError("linalg.vander(): bool is not supported")
    if N is not None and N < 2:
        raise RuntimeError("N must be greater than 1.")
    aten = ops.aten
    x = x if x.dim() else x.unsqueeze(0)
    count = x.shape[-1] if N is None else N
    powers = x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)
    ones = aten.ones([*x.shape, 1], dtype=powers.dtype, device=x.device)
    result: Tensor = aten.cat([ones, powers], -1)
    return result


def tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a matrix, whose rows are its first ``ind`` dimensions."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    before, behind = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    rows, columns = math.prod(before), math.prod(behind)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    inverse, info = ops.aten.linalg_inv_ex(self.reshape((rows, columns)))
    check_info("torch.linalg.tensorinv", info, _SINGULAR)
    result: Tensor = inverse.reshape((*behind, *before))
    return result


def tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(self, X) = other."""
    ndim = self.dim()
    if dims is not None:
        moved = [wrap_dim(d, ndim) for d in dims]
        self = self.movedim(list(moved), list(range(ndim - len(moved), ndim)))
    if other.dim() > self.dim():
        raise RuntimeError(
            f"torch.linalg.tensorsolve: other may have at most self's {self.dim()} dimensions, got {other.dim()}"
        )
    shape = tuple(self.shape[other.dim() :])
    rows, columns = other.numel(), math.prod(shape)
    if rows != columns or math.prod(self.shape[: other.dim()]) != rows:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {columns} != {math.prod(self.shape[: other.dim()])}"
        )
    solved = ops.aten.linalg_solve(self.reshape((rows, columns)), other.reshape((rows,)))
    result: Tensor = solved.reshape(shape)
    return result


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices."""
    result: Tensor = A.diagonal(offset, dim1, dim2)
    return result
