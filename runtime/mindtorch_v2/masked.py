"""``torch.masked``: reductions and normalisations of the elements where a mask holds.

Each takes ``mask``, a tensor of bools that is broadcast to the input's shape (all elements without one), and ``dtype``,
what is computed in. Where nothing is reduced, the result is what the reduction starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Tensor, dtype
from ._functional import std as _plain_std
from ._functional import var as _plain_var
from ._ops import ops
from ._type_info import iinfo

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None
_DTYPES = _core.dtypes
_BOOL, _U8, _I8, _I16, _I32, _I64 = (_DTYPES[name] for name in ("bool", "uint8", "int8", "int16", "int32", "int64"))
_SMALL = frozenset((_BOOL, _U8, _I8, _I16, _I32))
_INF = float("inf")


# ---------------------------------------------------------------- masks, dimensions and dtypes
def _whole_mask(input: Tensor, mask: Tensor | None) -> Tensor | None:
    if mask is None:
        return None
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    result: Tensor = mask.expand(input.shape).to(_BOOL)
    return result


def _filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """The input where the mask holds, and a number elsewhere."""
    whole = _whole_mask(input, mask)
    result: Tensor = input if whole is None else ops.aten.where(whole, input, value).to(input.dtype)
    return result


def _dims(dim: Dims, ndim: int) -> list[int]:
    """Dimensions in rising order; all for None and for an empty tuple."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(ndim))
    size = max(ndim, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -size <= d < size:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {d})")
        if d % size in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d % size)
    return sorted(found)


def _as(input: Tensor, target: dtype | None, wide: bool = False) -> Tensor:
    """The input as computed in a dtype: its own if none is given, or int64 of an integer if ``wide``."""
    if target is None:
        target = _I64 if wide and input.dtype in _SMALL else input.dtype
    result: Tensor = input.to(target)
    return result


def _floating(input: Tensor, target: dtype | None) -> Tensor:
    if target is None and not (input.is_floating_point() or input.is_complex()):
        target = _DTYPES["float32"]
    return _as(input, target)


def _least(kind: dtype) -> Any:
    if kind is _BOOL:
        return False
    return -_INF if kind.is_floating_point or kind.is_complex else iinfo(kind).min


def _largest(kind: dtype) -> Any:
    if kind is _BOOL:
        return True
    return _INF if kind.is_floating_point or kind.is_complex else iinfo(kind).max


# ---------------------------------------------------------------- reductions
def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Sums; of integers int64."""
    given = _filled(_as(input, dtype, True), mask, 0)
    result: Tensor = given.sum(_dims(dim, input.dim()), bool(keepdim), dtype=given.dtype)
    return result


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Products; of integers int64."""
    result = _filled(_as(input, dtype, True), mask, 1)
    for d in reversed(_dims(dim, input.dim())):
        result = result.prod(d, bool(keepdim))
    return result


def _running(name: str, input: Tensor, dim: int, target: dtype | None, mask: Tensor | None, neutral: int) -> Tensor:
    """A running reduction in a dtype, by default the elements'."""
    given = _filled(_as(input, target), mask, neutral)
    result: Tensor = getattr(given, name)(_dims(dim, input.dim())[0], dtype=given.dtype)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Running sums."""
    result: Tensor = _running("cumsum", input, dim, dtype, mask, 0)
    return result


def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Running products."""
    result: Tensor = _running("cumprod", input, dim, dtype, mask, 1)
    return result


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest elements."""
    given = _as(input, dtype)
    result: Tensor = _filled(given, mask, _least(given.dtype)).amax(_dims(dim, input.dim()), bool(keepdim))
    return result


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least elements."""
    given = _as(input, dtype)
    result: Tensor = _filled(given, mask, _largest(given.dtype)).amin(_dims(dim, input.dim()), bool(keepdim))
    return result


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest elements are, as numbers of the dtype."""
    given = _as(input, dtype)
    result: Tensor = _filled(given, mask, _least(given.dtype)).argmax(dim, bool(keepdim)).to(given.dtype)
    return result


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the least elements are, as numbers of the dtype."""
    given = _as(input, dtype)
    result: Tensor = _filled(given, mask, _largest(given.dtype)).argmin(dim, bool(keepdim)).to(given.dtype)
    return result


def _count(input: Tensor, mask: Tensor | None, dims: list[int], keepdim: bool) -> Tensor:
    """How many elements there are where the mask holds."""
    whole = _whole_mask(input, mask)
    present = ops.aten.ones_like(input, dtype=_I64) if whole is None else whole.to(_I64)
    result: Tensor = present.sum(dims, keepdim)
    return result


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Means."""
    dims = _dims(dim, input.dim())
    given = _as(input, dtype)
    if not (given.is_floating_point() or given.is_complex()):
        raise ValueError(f"mean(): expected a floating point or complex tensor, or dtype, but got {given.dtype}")
    total = sum(given, dims, keepdim=keepdim, mask=mask)
    return total / _count(input, mask, dims, bool(keepdim))


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The lower elements in the middle along a dimension."""
    d = _dims(dim, input.dim())[0]
    given = _as(input, dtype)
    if mask is None:
        plain: Tensor = given.nanmedian(d, keepdim)[0]
        return plain
    kind = given.dtype
    if not kind.is_floating_point:
        if not bool(_count(input, mask, [d], True).all().item()):
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        given = given.to(_DTYPES["float64"])
    found = _filled(given, mask, float("nan")).nanmedian(d, keepdim)[0]
    result: Tensor = found.to(kind)
    return result


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Logarithms of sums of exponentials."""
    given = _as(input, dtype)
    found = ops.aten.logsumexp(_filled(given, mask, _least(given.dtype)), _dims(dim, input.dim()), keepdim)
    result: Tensor = found.to(given.dtype)
    return result


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``, each where its mask holds."""
    first, second = _as(input, dtype), _as(other, dtype)
    result: Tensor = ops.aten.logaddexp(
        _filled(first, input_mask, _least(first.dtype)), _filled(second, other_mask, _least(second.dtype))
    )
    return result


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Norms of vectors."""
    order = 2.0 if ord is None else ord
    given = _filled(_as(input, dtype), mask, _INF if order == -_INF else 0)
    result: Tensor = ops.aten.linalg_vector_norm(given, order, _dims(dim, input.dim()), bool(keepdim))
    return result


def _spread(
    name: str,
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    target: dtype | None,
    mask: Tensor | None,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    fewer = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    dims = _dims(dim, input.dim())
    given = _floating(input, target)
    if mask is None:
        plain = _plain_var if name == "var" else _plain_std
        result: Tensor = plain(given, dims, correction=fewer, keepdim=keepdim).to(given.dtype)
        return result
    count = _count(input, mask, dims, True)
    middle = sum(given, dims, keepdim=True, mask=mask) / count
    distance = given - middle
    squares = ops.aten.real(distance * ops.aten.conj_physical(distance)) if given.is_complex() else distance * distance
    total = sum(squares, dims, keepdim=keepdim, mask=mask)
    count = _count(input, mask, dims, keepdim)
    if fewer:
        count = (count - fewer).clamp_min(0)
    found: Tensor = total / count.to(total.dtype)
    found = found if name == "var" else found.sqrt()
    return found.to(given.dtype)  # type: ignore[no-any-return]


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variances."""
    return _spread("var", input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Standard deviations."""
    return _spread("std", input, dim, unbiased, correction, bool(keepdim), dtype, mask)


# ---------------------------------------------------------------- normalisations
def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Exponentials over their sum."""
    given = _as(input, dtype)
    result: Tensor = ops.aten.softmax(_filled(given, mask, _least(given.dtype)), _dims(dim, input.dim())[0])
    return result


def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Logarithms of `softmax`."""
    given = _as(input, dtype)
    result: Tensor = ops.aten.log_softmax(_filled(given, mask, _least(given.dtype)), _dims(dim, input.dim())[0])
    return result


def softmin(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of the negative."""
    given = _as(input, dtype)
    result: Tensor = ops.aten.softmax(-_filled(given, mask, _largest(given.dtype)), _dims(dim, input.dim())[0])
    return result


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Vectors over their norm, which is taken to be at least ``eps``."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    floor = length.new_full((), eps)
    result: Tensor = _filled(_as(input, dtype), mask, 0) / ops.aten.maximum(length, floor)
    return result
