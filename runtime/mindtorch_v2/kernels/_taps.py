"""Weighted sums of elements along a dimension, by C++: which elements each place of the output is made of.

Interpolation and sums over windows are such sums, one dimension after another; their gradients are those of the
transposed taps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import moved
from ._native import native

__all__ = [
    "Taps",
    "adaptive_ends",
    "adaptive_windows",
    "antialiased",
    "cubic",
    "linear",
    "resampled",
    "window_ends",
    "windows",
]

_F32, _F64, _I64, _BOOL, _U8 = (_core.dtypes[name] for name in ("float32", "float64", "int64", "bool", "uint8"))
_kept = functools.lru_cache(256)  # taps depend on sizes and scales alone, which recur in every call of a layer


class Taps:
    """For each place of the output the elements of the input that are summed, with weights or without."""

    def __init__(self, size: int, counts: Any, index: Any, weight: Any = None) -> None:
        import numpy as np

        self.size, self.places = size, len(counts)
        self._arrays = counts, index, weight
        offsets = np.concatenate(([0], np.cumsum(counts))).astype("int64")
        no_weights = np.zeros(0) if weight is None else weight
        self.tensors = moved(offsets, _I64), moved(index, _I64), moved(no_weights, _F64)

    @functools.cached_property
    def transposed(self) -> Taps:
        """The taps of the gradient."""
        import numpy as np

        counts, index, weight = self._arrays
        order = np.argsort(index, kind="stable")
        places = np.repeat(np.arange(self.places), counts)[order]
        return Taps(
            self.places, np.bincount(index, minlength=self.size), places, None if weight is None else weight[order]
        )


def resampled(input: Tensor, taps: Sequence[Taps | None]) -> Tensor:
    """The sums over the last dimensions, one of ``taps`` for each: None leaves one as it is.

    Complex numbers are summed part by part, halves in float32, truth values as bytes.
    """
    if input.is_complex():
        parts = resampled(ops.aten.view_as_real(ops.aten.resolve_conj(input)), [*taps, None])
        complete: Tensor = ops.aten.view_as_complex(parts)
        return complete
    dtype = input.dtype
    wide = _F32 if input.is_floating_point() and dtype is not _F64 else _U8 if dtype is _BOOL else dtype
    found = input.to(wide).contiguous()
    kernel = native("mt_resample", *["desc"] * 5)
    for d in range(-1, -len(taps) - 1, -1):
        along = taps[d]
        if along is None:
            continue
        shape = list(found.shape)
        at = len(shape) + d
        outer, inner = math.prod(shape[:at]), math.prod(shape[at + 1 :])
        shape[at] = along.places
        result = _core.alloc(shape, wide, found.device)
        kernel(found.view((outer, along.size, inner)), result.view((outer, along.places, inner)), *along.tensors)
        found = result
    summed: Tensor = found.to(dtype)
    return summed


# ---------------------------------------------------------------- windows
def _ends(size: int, places: int, kernel: int, stride: int, padding: int, dilation: int) -> tuple[Any, Any]:
    import numpy as np

    first = np.arange(places) * stride - padding
    last = np.minimum(first + (kernel - 1) * dilation + 1, size)
    return np.where(first < 0, first + -(first // dilation) * dilation, first), last


@_kept
def window_ends(size: int, places: int, kernel: int, stride: int, padding: int, dilation: int) -> Tensor:
    """Where windows begin and end within the input, (places, 2)."""
    import numpy as np

    return moved(np.stack(_ends(size, places, kernel, stride, padding, dilation), 1), _I64)


def _adaptive(size: int, places: int) -> tuple[Any, Any]:
    import numpy as np

    at = np.arange(places)
    return at * size // max(places, 1), -(-(at + 1) * size // max(places, 1))


@_kept
def adaptive_ends(size: int, places: int) -> Tensor:
    """Where windows begin and end that share the input out evenly, (places, 2)."""
    import numpy as np

    return moved(np.stack(_adaptive(size, places), 1), _I64)


def _sums(size: int, first: Any, last: Any) -> Taps:
    import numpy as np

    counts = np.maximum(last - first, 0)
    offsets = np.cumsum(counts) - counts
    return Taps(size, counts, np.arange(counts.sum()) + np.repeat(first - offsets, counts))


@_kept
def windows(
    size: int, places: int, kernel: int, stride: int, padding: int
) -> tuple[Taps, tuple[int, ...], tuple[int, ...]]:
    """Sums of windows; and how many elements each has with padding, and without."""
    import numpy as np

    first, last = _ends(size, places, kernel, stride, padding, 1)
    start = np.arange(places) * stride - padding
    padded = np.minimum(start + kernel, size + padding) - start
    return _sums(size, first, last), tuple(padded.tolist()), tuple((last - first).tolist())


@_kept
def adaptive_windows(size: int, places: int) -> tuple[Taps, tuple[int, ...]]:
    """Sums of windows that share the input out evenly; and how many elements each has."""
    first, last = _adaptive(size, places)
    return _sums(size, first, last), tuple((last - first).tolist())


# ---------------------------------------------------------------- interpolation
def _float(wide: bool) -> Any:
    import numpy as np

    return np.float64 if wide else np.float32  # PyTorch's places and weights are in the dtype that it computes in


def _scale(real: Any, size: int, places: int, align: bool, scale: float | None) -> Any:
    """How far apart, in the input, the output's elements are."""
    if align:
        return real(size - 1) / real(places - 1) if places > 1 else real(0)
    return real(1.0 / scale) if scale is not None and scale > 0 else real(size) / real(places)


def _sources(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Any:
    import numpy as np

    real = _float(wide)
    step = _scale(real, size, places, align, scale)
    at = np.arange(places, dtype=real)
    return at * step if align else (at + real(0.5)) * step - real(0.5)


@_kept
def linear(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Taps:
    """The two elements around each place."""
    import numpy as np

    if places == size:
        return Taps(size, np.ones(size, "int64"), np.arange(size))
    source = np.maximum(_sources(size, places, align, scale, wide), 0)
    low = np.minimum(source.astype("int64"), size - 1)
    share = np.clip(source - low, 0, 1)
    index = np.stack((low, np.minimum(low + 1, size - 1)), 1).reshape(-1)
    weight = np.stack((1 - share, share), 1).reshape(-1).astype("float64")
    return Taps(size, np.full(places, 2), index, weight)


def _cubic_weights(distance: Any, a: float) -> Any:
    import numpy as np

    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


@_kept
def cubic(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Taps:
    """The four elements around each place, the last one for what is beyond an end."""
    import numpy as np

    source = _sources(size, places, align, scale, wide)
    low = np.minimum(np.floor(source).astype("int64"), size - 1)
    share = np.clip(source - low, 0, 1)[:, None]
    steps = np.arange(-1, 3)
    index = np.clip(low[:, None] + steps, 0, size - 1).reshape(-1)
    return Taps(size, np.full(places, 4), index, _cubic_weights(share - steps, -0.75).reshape(-1).astype("float64"))


def _triangle(x: Any) -> Any:
    import numpy as np

    return np.maximum(1 - np.abs(x), 0)


def _lanczos(x: Any) -> Any:
    import numpy as np

    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[int, Callable[[Any], Any]]] = {  # how many elements wide, and the weight at a distance
    "linear": (2, _triangle),
    "cubic": (4, lambda x: _cubic_weights(x, -0.5)),
    "lanczos": (6, _lanczos),
}


@_kept
def antialiased(filter: str, size: int, places: int, align: bool, scale: float | None, wide: bool) -> Taps:
    """All elements that a filter, widened by as much as the output is smaller, reaches."""
    import numpy as np

    width, weigh = _FILTERS[filter]
    real = _float(wide)
    step = _scale(real, size, places, align, scale)
    shrink = max(step, real(1))
    support = real(width / 2) * shrink
    center = step * (np.arange(places, dtype=real) + real(0.5))
    first = np.maximum((center - support + real(0.5)).astype("int64"), 0)
    counts = np.minimum((center + support + real(0.5)).astype("int64"), size) - first
    each = np.repeat(np.arange(places), counts)
    index = np.arange(counts.sum()) - (np.cumsum(counts) - counts)[each] + first[each]
    weight = weigh((index - center[each] + real(0.5)) / shrink).astype("float64")
    return Taps(size, counts, index, weight / np.bincount(each, weight, places)[each])
