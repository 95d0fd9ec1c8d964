"""Linear equations, and inverses of matrices."""

# ruff: noqa: N803, N806 - PyTorch's names of arguments
from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._lapack import (
    address,
    adjoint,
    check_floating,
    check_info,
    check_matrices,
    check_square,
    empty,
    of_exchanges,
    real_dtype,
    reduced_to,
)
from ._lu import is_small, solved
from ._native import native
from .decompositions import lu_factor_ex, lu_unpack
from .reduction import written

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
    return () if A.dim() == B.dim() == 2 else tuple(_core.broadcast_shapes(A.shape[:-2], B.shape[:-2]))


def solve_all(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X with A X = B, or X A = B; the factors of A, the pivots, and for each matrix the first 0 in U's diagonal."""
    batch, vector = _solve_shapes(A, B, left)
    both, pivots, info = lu_factor_ex(A)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, _UNSOLVED)
    right = B.unsqueeze(-1) if vector else B
    solution = _lu_solved(both, pivots, right, batch, left, False)
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
    try:
        return _lu_solved(LU, pivots, B, batch, left, adjoint)
    except _core.KernelError as failure:
        fits = "greater or equal to 1" if (pivots < 1).any().item() else "smaller or equal to LU.size(-2)"
        reason = f"Pivots given to lu_solve must all be {fits}. Did you properly pass the result of lu_factor?"
        raise of_exchanges(failure, reason) from None


def _lu_solved(LU: Tensor, pivots: Tensor, B: Tensor, batch: tuple[int, ...], left: bool, adjoint: bool) -> Tensor:
    if batch:
        size = LU.shape[-1]
        LU, pivots, B = (
            given.expand((*batch, *own))
            for given, own in ((LU, (size, size)), (pivots, (size,)), (B, tuple(B.shape[-2:])))
        )
    if not B.numel():
        return empty(B.shape, B.dtype, B)
    return solved(LU.contiguous(), pivots.contiguous(), B, left, adjoint)


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
    return _check_equation(name, LU, B, left)


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
    A, kind = self, B.dtype
    if batch:
        A, B = A.expand((*batch, *A.shape[-2:])), B.expand((*batch, *B.shape[-2:]))
    found = _core.alloc(B.shape, kind, B.device)
    if found.numel():
        trsm = 0 if is_small(B) else address("trsm", kind)
        run = native("mt_solve_triangles", "i64", "desc", "desc", "desc", "i64", "i64", "i64")
        run(trsm, A, B, found, left, upper, unitriangular)
    return found


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
    check_square("linalg.inv", A)
    check_floating("linalg.inv", A)
    both, pivots, info = lu_factor_ex(A)
    if check_errors:
        check_info("linalg.inv_ex", info, _SINGULAR)
    identity = ops.aten.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    batch = A.shape[:-2]
    return _lu_solved(both, pivots, identity.expand(A.shape) if batch else identity, batch, True, False), info


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


def tolerances_of(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
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


def threshold_of(values: Tensor, atol: Any, rtol: Any) -> Tensor:
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
    _check_pinv(self)
    check_floating("linalg.pinv", self, "input")
    aten = ops.aten
    batch, (rows, columns) = tuple(self.shape[:-2]), self.shape[-2:]
    if not self.numel():
        return self.new_zeros((*batch, columns, rows))  # type: ignore[no-any-return]
    atol, rtol = tolerances_of(self, atol, rtol)
    if hermitian:
        values, vectors = aten.linalg_eigh(self)
        sizes = values.abs()
        left, right = vectors, adjoint(vectors)
    else:
        u, values, v = aten.linalg_svd(self, False)
        sizes = values
        left, right = adjoint(v), adjoint(u)
    large = sizes > threshold_of(sizes, atol, rtol)
    inverted = aten.where(large, aten.where(large, values, 1.0).reciprocal(), 0.0).to(self.dtype)
    result: Tensor = aten.matmul(left * inverted.unsqueeze(-2), right)
    return result


def _check_pinv(self: Tensor) -> None:
    if self.dim() < 2:
        given = f"{_core.scalar_types[self.dtype.name]}{{{list(self.shape)}}}"
        raise RuntimeError(
            f"linalg.pinv({given}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble "
            "types"
        )


def pinv_fake(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The transposed matrices' size."""
    _check_pinv(self)
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
