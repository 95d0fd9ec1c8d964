"""Least squares: equations with more rows or fewer than unknowns."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_array, as_tensor
from ._lapack import (
    adjoint,
    check_floating,
    empty,
    real_dtype,
    reduced_to,
)
from .solving import pinv_gradient

_DTYPES = _core.dtypes
_I32, _I64 = _DTYPES["int32"], _DTYPES["int64"]
_EPS = {_DTYPES["float32"]: 2.0**-23, _DTYPES["float64"]: 2.0**-52}


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
