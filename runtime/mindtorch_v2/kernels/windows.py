"""Windows: weights of the samples of a part of a signal, of a length, and periodic or symmetric."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops

__all__ = ["bartlett", "blackman", "hamming", "hann", "kaiser"]


def _window(
    name: str, length: int, periodic: bool, options: dict[str, Any], weights: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """``weights(n, last)`` of the samples' numbers, as numbers of a dtype, and the last of them."""
    dtype = options.get("dtype") or _core.get_default_dtype()
    if not dtype.is_floating_point:
        raise NotImplementedError(f"{name}_window expects floating point dtypes, got: {dtype}")
    if length < 0:
        raise RuntimeError(f"{name}_window requires non-negative window_length, got window_length={length}")
    options = {**options, "dtype": dtype}
    if length < 2:
        few: Tensor = ops.aten.ones([length], **options)
        return few
    # In half precision the numbers themselves would be rounded.
    wide = _core.dtypes["float32"] if dtype.itemsize < 4 else dtype
    numbers = ops.aten.arange(length, dtype=wide, device=options.get("device"))
    result: Tensor = weights(numbers, length if periodic else length - 1).to(dtype)
    return result


def hann(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.5 - 0.5 cos(2 pi n / last)"""
    return _cosine("hann", window_length, periodic, 0.5, 0.5, options)


def hamming(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """alpha - beta cos(2 pi n / last)"""
    return _cosine("hamming", window_length, periodic, alpha, beta, options)


def _cosine(name: str, length: int, periodic: bool, alpha: float, beta: float, options: dict[str, Any]) -> Tensor:
    return _window(name, length, periodic, options, lambda n, last: alpha - beta * (n * (2 * math.pi / last)).cos())


def bartlett(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """1 - |2 n / last - 1|"""
    return _window("bartlett", window_length, periodic, options, lambda n, last: 1 - (n * (2 / last) - 1).abs())


def blackman(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / last) + 0.08 cos(4 pi n / last)"""

    def weights(n: Tensor, last: int) -> Tensor:
        angle = n * (2 * math.pi / last)
        result: Tensor = 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos()
        return result

    return _window("blackman", window_length, periodic, options, weights)


def kaiser(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """i0(beta sqrt(1 - (2 n / last - 1)^2)) / i0(beta)"""

    def weights(n: Tensor, last: int) -> Tensor:
        distance = n * (2 / last) - 1
        top = ops.aten.i0(ops.aten.full([], beta, dtype=n.dtype))
        result: Tensor = ops.aten.i0(beta * (1 - distance * distance).clamp_min(0).sqrt()) / top
        return result

    return _window("kaiser", window_length, periodic, options, weights)
