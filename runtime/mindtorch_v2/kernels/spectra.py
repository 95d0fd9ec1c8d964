"""Decompositions of matrices into orthogonal ones, by LAPACK: QR, eigenvalues, singular values; and their gradients.

Gradients are composed of operators, and so have gradients themselves.
"""

# ruff: noqa: N803 - PyTorch's names of arguments
from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..autograd import is_grad_enabled
from ._lapack import (
    address,
    adjoint,
    check_floating,
    check_info,
    check_matrices,
    check_square,
    empty,
    has_lapack,
    real_dtype,
)
from ._native import native
from ._orthogonal import into_eig, into_eigh, into_qr, into_svd
from .decompositions import rank_of
from .reduction import written

_DTYPES = _core.dtypes
_COMPLEX = {_DTYPES["float32"]: _DTYPES["complex64"], _DTYPES["float64"]: _DTYPES["complex128"]}


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


# ---------------------------------------------------------------- QR
def linalg_qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Q with orthogonal columns and R, an upper triangle, whose product is the matrix."""
    q, r = linalg_qr_fake(A, mode)
    if A.numel():
        into_qr(A, q, r)
        return q, r
    q.zero_()
    r.zero_()
    if mode == "complete":
        q.diagonal(0, -2, -1).fill_(1)
    return q, r


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
    both, factors = geqrf_fake(self)
    if both.numel():
        native("mt_reflections", "i64", "desc", "desc", "desc")(address("geqrf", self.dtype), self, both, factors)
    return both, factors


def geqrf_fake(self: Tensor) -> tuple[Tensor, Tensor]:
    """A tensor of the same size, and the factors."""
    check_matrices("torch.geqrf", self, "input")
    return empty(self.shape, self.dtype, self), empty((*self.shape[:-2], rank_of(self)), self.dtype, self)


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections ``I - tau v v^H``."""
    found = householder_product_fake(input, tau)
    if not has_lapack():
        identity = ops.aten.eye(*input.shape[-2:], dtype=input.dtype, device=input.device)
        return _reflected(input, tau, identity.expand(input.shape).clone(), True, False)
    if found.numel():
        run = native("mt_reflected", "i64", "desc", "desc", "desc")
        run(address("orgqr", input.dtype), input, tau.contiguous(), found)
    return found


def householder_product_fake(input: Tensor, tau: Tensor) -> Tensor:
    """A tensor of the same size."""
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
    return empty(input.shape, input.dtype, input)


def householder_product_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the reflections."""
    ctx.save_for_backward(*inputs)


def householder_product_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Reflection by reflection, each of which met what the later ones had made of the identity."""
    aten = ops.aten
    vectors, tau = ctx.saved_tensors
    count, (rows, columns) = tau.shape[-1], vectors.shape[-2:]
    if not vectors.numel() or not count:
        return aten.zeros_like(vectors), aten.zeros_like(tau)
    steps = [_reflection(vectors, tau, k) for k in range(count)]
    made = [aten.eye(rows, columns, dtype=vectors.dtype, device=vectors.device)]
    for vector, factor in reversed(steps[1:]):
        made.append(made[-1] - factor * aten.matmul(vector, aten.matmul(adjoint(vector), made[-1])))
    of_vectors, of_factors = [], []
    for k, (vector, factor) in enumerate(steps):
        before = made[count - 1 - k]
        turned = aten.matmul(adjoint(grad), vector)
        along = aten.matmul(grad, adjoint(aten.matmul(adjoint(vector), before)))
        opposite = aten.conj_physical(factor) if factor.is_complex() else factor
        of_vector = -(opposite * along + factor * aten.matmul(before, turned))
        of_vectors.append(aten.where(_places(vectors) > k, of_vector, 0))
        of_factors.append(-aten.matmul(adjoint(vector), along).squeeze(-1))
        grad = grad - opposite * aten.matmul(vector, adjoint(turned))
    of_vectors.extend(aten.zeros_like(of_vectors[0]) for _ in range(columns - count))
    return aten.cat(of_vectors, -1), aten.cat(of_factors, -1)


def _places(vectors: Tensor) -> Tensor:
    places: Tensor = ops.aten.arange(vectors.shape[-2], device=vectors.device).unsqueeze(-1)
    return places


def _reflection(vectors: Tensor, tau: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k-th vector, with its 1 and the zeros before it, and its factor."""
    at = _places(vectors)
    vector = ops.aten.where(at > k, vectors.narrow(-1, k, 1), (at == k).to(vectors.dtype))
    return vector, tau.narrow(-1, k, 1).unsqueeze(-1)


def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """As `householder_product`."""
    result: Tensor = ops.aten.linalg_householder_product(self, input2)
    return result


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
    numbers = range(count) if left == turned else range(count - 1, -1, -1)
    for k in numbers:
        vector, factor = _reflection(vectors, tau, k)
        factor = aten.conj_physical(factor) if turned and factor.is_complex() else factor
        if left:
            other = other - factor * aten.matmul(vector, aten.matmul(adjoint(vector), other))
        else:
            other = other - factor * aten.matmul(aten.matmul(other, vector), adjoint(vector))
    return other


# ---------------------------------------------------------------- eigenvalues
def eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    """The eigenvalues of Hermitian matrices in rising order, and the eigenvectors, a column each."""
    eigenvalues, eigenvectors = eigh_fake(A, UPLO, compute_v)
    if A.numel():
        _check_converged("linalg.eigh", "eigenvalues", into_eigh(A, eigenvalues, eigenvectors, UPLO in "Uu"))
    return eigenvalues, eigenvectors


def _check_converged(name: str, values: str, info: Tensor) -> None:
    """Raises LinAlgError for the first matrix whose values LAPACK did not find."""
    check_info(
        name,
        info,
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
        f"{values} (error code: {{}}).",
    )


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
    eigenvalues, eigenvectors = linalg_eig_fake(self)
    if self.numel():
        _check_eig(into_eig(self, eigenvalues, eigenvectors))
    return eigenvalues, eigenvectors


def _check_eig(info: Tensor) -> None:
    if not info.any().item():
        return
    if (info < 0).any().item():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    _check_converged("linalg.eig", "eigenvalues", info)


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
        distance = aten.conj_physical(values.unsqueeze(-2) - values.unsqueeze(-1))
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
    found = eigvals_fake(self)
    if self.numel():
        _check_eig(into_eig(self, found, empty((0,), found.dtype, self)))
    return found


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
    found = svd_fake(A, full_matrices, compute_uv, driver=driver)
    if not A.numel():
        for part in (found[0], found[2]):
            if part.numel():
                part.zero_()
                part.diagonal(0, -2, -1).fill_(1)
        return found
    info = into_svd(A, *found)
    if info.any().item():
        if (info < 0).any().item():
            check_info(
                "linalg.svd",
                info,
                "The algorithm failed to converge because the input matrix contained non-finite values.",
            )
        _check_converged("linalg.svd", "singular values", info)
    return found


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
