"""Images whose elements are each one of another image, by C++: which one, an index for each of the last dimensions.

Padding by elements and interpolation by the nearest one are such moves; their gradients add elements up where they came
from.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import moved
from ._native import native

__all__ = ["Moves", "added_back", "nearest", "nearest_by_size", "nearest_exact", "reflected", "replicated", "taken"]

_DTYPES = _core.dtypes
_I64, _F32 = _DTYPES["int64"], _DTYPES["float32"]
_HALVES = _DTYPES["float16"], _DTYPES["bfloat16"]
_kept = functools.lru_cache(256)  # they depend on sizes and scales alone, which recur in every call of a layer


class Moves:
    """For each place of the output the element of the input that is taken."""

    def __init__(self, size: int, index: Any) -> None:
        self.size, self.places = size, len(index)
        self.index = moved(index, _I64)


@functools.cache
def _alone() -> Moves:
    """Of a dimension that is not there."""
    import numpy as np

    return Moves(1, np.zeros(1, "int64"))


def _run(name: str, given: Tensor, result: Tensor, moves: Sequence[Moves]) -> None:
    """Calls a kernel with images (planes, depth, height, width)."""
    dims = len(moves)
    whole = math.prod(given.shape[:-dims])
    planes = [t.view((whole, *[1] * (3 - dims), *t.shape[-dims:])) for t in (given, result)]
    indices = [each.index for each in (*[_alone()] * (3 - dims), *moves)]
    native(name, *["desc"] * 5)(*planes, *indices)


def taken(input: Tensor, moves: Sequence[Moves]) -> Tensor:
    """Elements of the last dimensions, one of ``moves`` for each."""
    given = ops.aten.resolve_conj(input).contiguous() if input.is_complex() else input.contiguous()
    shape = (*input.shape[: -len(moves)], *(each.places for each in moves))
    result: Tensor = _core.alloc(shape, input.dtype, input.device)
    _run("mt_take_planes", given, result, moves)
    return result


def added_back(grad: Tensor, moves: Sequence[Moves]) -> Tensor:
    """The gradient of `taken`'s input: floating-point or complex numbers, halves in float32."""
    dtype = grad.dtype
    given = ops.aten.resolve_conj(grad) if grad.is_complex() else grad.to(_F32) if dtype in _HALVES else grad
    result = _core.alloc((*grad.shape[: -len(moves)], *(each.size for each in moves)), given.dtype, grad.device)
    _run("mt_add_planes", given.contiguous(), result, moves)
    back: Tensor = result.to(dtype)
    return back


# ---------------------------------------------------------------- padding
@_kept
def reflected(size: int, before: int, after: int) -> Moves:
    """Elements beyond an end are those as far within, from the end on."""
    import numpy as np

    index = np.abs(np.arange(-before, size + after))
    return Moves(size, np.where(index >= size, 2 * (size - 1) - index, index))


@_kept
def replicated(size: int, before: int, after: int) -> Moves:
    """Elements beyond an end are the last within."""
    import numpy as np

    return Moves(size, np.clip(np.arange(-before, size + after), 0, size - 1))


# ---------------------------------------------------------------- interpolation
def _step(size: int, places: int, scale: float | None) -> Any:
    """How far apart, in the input, the output's elements are."""
    import numpy as np

    return np.float32(1.0 / scale) if scale is not None and scale > 0 else np.float32(size) / np.float32(places)


@_kept
def nearest(size: int, places: int, scale: float | None) -> Moves:
    """The element that begins before each place."""
    import numpy as np

    at = np.floor(np.arange(places, dtype="float32") * _step(size, places, scale)).astype("int64")
    return Moves(size, np.minimum(at, size - 1))


def nearest_by_size(size: int, places: int, scale: float | None) -> Moves:
    """As `nearest`, but by the sizes alone where these are the same, or one is twice the other."""
    return nearest(size, places, None if places in (size, 2 * size) else scale)


@_kept
def nearest_exact(size: int, places: int, scale: float | None) -> Moves:
    """The element whose middle is nearest."""
    import numpy as np

    at = np.floor((np.arange(places, dtype="float32") + np.float32(0.5)) * _step(size, places, scale))
    return Moves(size, np.minimum(at.astype("int64"), size - 1))
