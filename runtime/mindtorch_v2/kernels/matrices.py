"""Determinants, ranks, norms, powers and products of matrices."""

# ruff: noqa: N803 - PyTorch's names of arguments
from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_array, as_tensor
from ._lapack import (
    adjoint,
    check_floating,
    check_info,
    check_matrices,
    check_square,
    empty,
    real_dtype,
    tied,
)
from ._lu import determinants, logarithms
from ._native import native
from .decompositions import lu_factor_ex
from .reduction import wrap_dim
from .solving import threshold_of, tolerances_of

_DTYPES = _core.dtypes
_I32, _I64 = _DTYPES["int32"], _DTYPES["int64"]
_EPS = {_DTYPES["float32"]: 2.0**-23, _DTYPES["float64"]: 2.0**-52}
_SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


# ---------------------------------------------------------------- determinants
def det_all(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The determinants, the factors and the pivots."""
    check_square("linalg.det", A)
    check_floating("linalg.det", A)
    both, pivots, _ = lu_factor_ex(A)
    return determinants(both, pivots), both, pivots


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
    factor = grad * (aten.conj_physical(det) if det.is_complex() else det)
    if bool((det == 0).any().item()):
        size = matrix.shape[-1]
        on = aten.eye(size, dtype=_DTYPES["bool"], device=matrix.device)
        eps = _EPS[real_dtype(matrix.dtype)]
        both = aten.where(on & (both == 0), eps, both)
        product = both.diagonal(0, -2, -1).prod(-1) * as_tensor(_exchanges(pivots), real_dtype(matrix.dtype))
        factor = grad * (aten.conj_physical(product) if product.is_complex() else product)
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
    check_square("linalg.slogdet", A)
    check_floating("linalg.slogdet", A)
    both, pivots, _ = lu_factor_ex(A)
    return *logarithms(both, pivots), both, pivots


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
        factor = aten.complex(factor, aten.imag(of_sign * aten.conj_physical(sign)))
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
    given_atol, given_rtol = tolerances_of(self, atol, rtol)
    values = aten.linalg_eigvalsh(self.detach()).abs() if hermitian else aten.linalg_svdvals(self.detach())
    result: Tensor = (values > threshold_of(values, given_atol, given_rtol)).sum([-1])
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
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    dims = _two_dims(name, self, dim)
    size = abs(float(ord))
    if size not in (1.0, 2.0, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    given = _wide(name, self, dtype)
    if size == 2:
        check_floating(name, given)
        value = _extreme(_values_in(given, dims), -1, ord > 0, False)
        return _kept(value, dims) if keepdim else value
    summed, chosen = dims if size == 1 else (dims[1], dims[0])
    result = _extreme(given.abs().sum([summed], True), chosen, ord > 0, True)
    return result if keepdim else result.squeeze([summed, chosen])


def _extreme(values: Tensor, dim: int, is_largest: bool, keepdim: bool) -> Tensor:
    """The largest of numbers, which of none is 0, or the least, which of none is nothing."""
    if not is_largest:
        result: Tensor = values.amin([dim], keepdim)
    else:
        result = values.amax([dim], keepdim) if values.shape[dim] else values.sum([dim], keepdim)
    return result


def _values_in(given: Tensor, dims: tuple[int, int]) -> Tensor:
    """The singular values of matrices in two dimensions."""
    last = given.dim() - 1
    moved = given if dims == (last - 1, last) else given.movedim(list(dims), [-2, -1])
    result: Tensor = ops.aten.linalg_svdvals(moved)
    return result


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
    value = _values_in(given, dims).sum([-1])
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
    by_number = p is None or (not isinstance(p, str) and abs(p) in (1, 2, math.inf))
    if by_number and not self.numel():
        return self.new_zeros(tuple(self.shape[:-2])).to(real_dtype(self.dtype))  # type: ignore[no-any-return]
    if p is None or (by_number and abs(p) == 2):
        values = aten.linalg_svdvals(self)
        largest, least = values.amax([-1]), values.amin([-1])
        result = least / largest if p == -2 else largest / least
        return result
    if not (by_number or p in ("fro", "nuc")):
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
    product = aten.linalg_matrix_norm(self, p) * aten.linalg_matrix_norm(inverse, p)
    result = aten.where((info != 0) | product.isnan(), math.inf, product)
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
    kind = self.dtype
    if real_dtype(kind).itemsize < 4:
        wide: Tensor = matrix_exp(self.to(_DTYPES["complex64" if kind.is_complex else "float32"]))
        return wide.to(kind)  # type: ignore[no-any-return]
    native("mt_matrix_exp", "desc", "desc")(self, found)
    return found


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
            end = "first" if at == 0 else "last" if at == len(given) - 1 else None
            which, wanted = (f"the {end} tensor", "1D or 2D") if end else (f"tensor {at}", "2D")
            raise RuntimeError(f"multi_dot(): {which} must be {wanted} but got {tensor.dim()}D")
        if tensor.dtype is not given[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {given[0].dtype} and tensor "
                f"{at} {tensor.dtype}"
            )
    given[0] = given[0].unsqueeze(0) if first else given[0]
    given[-1] = given[-1].unsqueeze(-1) if last else given[-1]
    for at, (a, b) in enumerate(itertools.pairwise(given)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {at} and {at + 1} with shapes {list(tensors[at].shape)} and "
                f"{list(tensors[at + 1].shape)} cannot be multiplied"
            )
    if len(given) == 3:
        a, b, c = given
        rows, inner, other, columns = (*a.shape, *c.shape)
        mm = ops.aten.mm
        first_two = rows * other * (inner + columns) <= inner * columns * (other + rows)
        result: Tensor = mm(mm(a, b), c) if first_two else mm(a, mm(b, c))
    else:
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
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {matrix.dim()}, expected 2 instead (tensor {at}).")
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
