"""Least squares: equations with more rows or fewer than unknowns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._lapack import (
    address,
    adjoint,
    check_floating,
    check_info,
    empty,
    real_dtype,
    reduced_to,
)
from ._native import native
from .solving import pinv_gradient

_DTYPES = _core.dtypes
_I32, _I64 = _DTYPES["int32"], _DTYPES["int64"]
_EPS = {_DTYPES["float32"]: 2.0**-23, _DTYPES["float64"]: 2.0**-52}


# ---------------------------------------------------------------- least squares
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")  # in this order to C++, too
_BY_VALUES = ("gelsd", "gelss")


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
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {self.dtype} and other's "
            f"dtype {b.dtype}"
        )
    difference = self.dim() - b.dim()
    if not 0 <= difference <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = bool(difference) and tuple(self.shape[:-1]) == tuple(b.shape)
    if self.shape[-2] != b.shape[-1 if vector else -2 if b.dim() > 1 else -1]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector or b.dim() == 1 else -2})")
    return vector


def lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The shortest X of least ``|self X - b|``; the squares of what remains, ranks and singular values."""
    driver = _least_squares_driver(driver)
    vector = _check_least_squares(self, b)
    right = b.unsqueeze(-1) if vector else b
    given, (rows, columns) = self.shape[:-2], self.shape[-2:]
    batch, matrix = given, self
    if right.shape[:-2] != given:
        batch = _core.broadcast_shapes(given, right.shape[:-2])
        matrix, right = self.expand((*batch, rows, columns)), right.expand((*batch, *right.shape[-2:]))
    kind, count = real_dtype(self.dtype), right.shape[-1]
    share = _EPS[kind] * max(rows, columns) if rcond is None else rcond
    solution = empty((*batch, columns, count), self.dtype, self)
    has_rest = rows > columns and driver != "gelsy"
    residuals = empty((*batch, count) if has_rest else (0,), kind, self)
    ranks = empty((0,) if driver == "gels" else batch, _I64, self)
    values = empty((*batch, min(rows, columns)) if driver in _BY_VALUES else (0,), kind, self)
    if matrix.numel():
        info = empty(batch, _I32, self)
        run = native("mt_least_squares", "i64", "i64", *["desc"] * 7, "f64")
        where = address(driver, self.dtype)
        run(where, _DRIVERS.index(driver), matrix, right, solution, residuals, ranks, values, info, share)
        _check_solved(info)
    elif self.numel() and driver != "gels":  # there are no equations, but what belongs to the matrices
        _, _, ranks, values = lstsq(self, self.new_zeros((*given, rows, 1)), rcond, driver=driver)
        batch = given
    else:
        for nothing in (solution, ranks, values):
            nothing.zero_()
        if has_rest:
            residuals = (
                (right * ops.aten.conj_physical(right)).real.sum(-2) if right.is_complex() else (right * right).sum(-2)
            )
    if has_rest and driver in _BY_VALUES and not (ranks == columns).all().item():
        residuals = empty((0,), kind, self)
    if batch != given:
        ranks = ranks if driver == "gels" else _first_of(ranks, batch, given)
        values = _first_of(values, batch, given) if driver in _BY_VALUES else values
    return solution.squeeze(-1) if vector else solution, residuals, ranks, values


def _check_solved(info: Tensor) -> None:
    if not info.any().item():
        return
    if (info < 0).any().item():
        raise RuntimeError("torch.linalg.lstsq: The least squares solution could not be computed because of NaN.")
    check_info(
        "torch.linalg.lstsq",
        info,
        "The least squares solution could not be computed because the input matrix does not have full rank (error "
        "code: {}).",
    )


def _first_of(found: Tensor, batch: Sequence[int], given: Sequence[int]) -> Tensor:
    """What belongs to a matrix, not to its equations: without the dimensions that it was broadcast over."""
    skip = len(batch) - len(given)
    for _ in range(skip):
        found = found.select(0, 0)
    for at, size in enumerate(given):
        if size == 1 and batch[skip + at] != 1:
            found = found.narrow(at, 0, 1)
    result: Tensor = found.clone()
    return result


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
    values = (*given, min(rows, columns)) if driver in _BY_VALUES else (0,)
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
        rest = 2 * (aten.matmul(matrix, solved) - right) * of_rest.unsqueeze(-2)
        both = reduced_to(aten.matmul(rest, adjoint(solved)), matrix.shape)
        found_matrix = both if found_matrix is None else found_matrix + both
        found_right = -rest if found_right is None else found_right - rest
    if found_matrix is None or found_right is None:
        return None, None, None, None
    found_right = found_right.squeeze(-1) if ctx.vector else found_right
    return reduced_to(found_matrix, matrix.shape), reduced_to(found_right, b.shape), None, None
