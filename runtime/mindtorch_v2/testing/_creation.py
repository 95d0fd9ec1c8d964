"""Tensors of random values for tests: `make_tensor`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core, _creation
from .._core import Tensor
from .._narrow_dtypes import widened
from .._ops import ops
from .._type_info import finfo, iinfo

__all__ = ["make_tensor"]

_DTYPES = _core.dtypes
_aten: Any = ops.aten


@dataclass(frozen=True)
class _Range:
    """The interval that values are drawn from, ``[low, high)``, and what a dtype can hold."""

    low: float
    high: float
    least: float
    bound: float


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random values, the same that ``torch.testing.make_tensor`` makes of a seed.

    ``low`` and ``high`` bound the values, ``high`` excluded: by default [-9, 9), integers [-9, 10), bool both. With
    ``noncontiguous`` every second element of a larger tensor is shown; with ``exclude_zero`` zeros are 1, or the
    smallest normal number. Raises ValueError for bounds that are NaN, in the wrong order or out of the dtype's reach,
    and for ``requires_grad`` of integers.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    floating = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not floating:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    result = _drawn(sizes, dtype, device, _range(dtype, low, high), floating)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if floating else 1
    return result.requires_grad_() if requires_grad else result


def _range(dtype: Any, low: float | None, high: float | None) -> _Range:
    """Where the values lie. Raises ValueError for bounds that leave none."""
    floating = dtype.is_floating_point or dtype.is_complex
    if dtype is _DTYPES["bool"]:
        known = _Range(0, 2, 0, 2)
    elif floating:
        info = finfo(dtype)
        known = _Range(-9, 9, info.min, info.max)
    else:
        most = iinfo(dtype).max  # what numbers are drawn below is an int64 itself
        known = _Range(-9, 10, iinfo(dtype).min, most if dtype is _DTYPES["int64"] else most + 1)
    low, high = known.low if low is None else low, known.high if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and floating:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < known.least or low >= known.bound:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{known.least}, {known.bound})"
        )
    low, high = (min(max(value, known.least), known.bound) for value in (low, high))
    if not floating:  # `high` is excluded already
        low, high = math.ceil(low), math.ceil(high)
    return _Range(low, high, known.least, known.bound)


def _drawn(sizes: Sequence[int], dtype: Any, device: Any, values: _Range, floating: bool) -> Tensor:
    if not floating:
        drawn: Tensor = _aten.randint(values.low, values.high, sizes, device=device, dtype=dtype)
        return drawn
    result: Tensor = _creation.empty(sizes, device=device, dtype=dtype)
    parts = _aten.view_as_real(result) if dtype.is_complex else widened(result)
    if values.high - values.low >= finfo(dtype).max:  # `uniform_` cannot: half of it, twice
        parts.uniform_(values.low / 2, values.high / 2).mul_(2)
    else:
        parts.uniform_(values.low, values.high)
    return parts.to(dtype) if parts.dtype is not result.dtype and not dtype.is_complex else result
