"""``torch.signal.windows``: weights of the ``M`` samples of a part of a signal.

Each takes, by name, ``sym=True`` (else the window of ``M + 1`` samples without the last), ``dtype`` (float32 or
float64), ``layout``, ``device`` and ``requires_grad``. A negative ``M``, and another dtype, raise ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._core import Tensor, device, dtype
from .._ops import ops
from .._type_info import strided

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

_DTYPES = tuple(_core.dtypes[name] for name in ("float32", "float64"))


def _window(
    name: str,
    count: int,
    sym: bool,
    options: tuple[dtype | None, Any, device | None, bool],
    weights: Callable[[Tensor, float], Tensor],
) -> Tensor:
    """``weights(n, last)`` of the samples' numbers n, of which ``last`` is the last in a symmetric window."""
    target, layout, where, requires_grad = options
    target = _core.get_default_dtype() if target is None else target
    if count < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={count}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if target not in _DTYPES:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {target}")
    numbers = ops.aten.arange(count, dtype=target, device=where)
    result: Tensor = weights(numbers, (count - 1 if sym else count) or 1) if count else numbers
    if requires_grad:
        result.requires_grad = True
    return result


def general_cosine(
    M: int,  # noqa: N803 - PyTorch's name
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of ``(-1)^i a[i] cos(2 pi i n / last)``."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    shares = list(a)
    if not shares:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", M, shares, sym, (dtype, layout, device, requires_grad))


def _cosines(name: str, count: int, shares: list[float], sym: bool, options: Any) -> Tensor:
    def weights(n: Tensor, last: float) -> Tensor:
        if n.shape[0] == 1:
            return n + 1
        angle = n * (2 * math.pi / last)
        return sum(((-share if i % 2 else share) * (angle * i).cos() for i, share in enumerate(shares)), start=n * 0)

    return _window(name, count, sym, options, weights)


def general_hamming(
    M: int,  # noqa: N803
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / last)``"""
    return _cosines("general_hamming", M, [alpha, 1 - alpha], sym, (dtype, layout, device, requires_grad))


def hamming(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.54 - 0.46 cos(2 pi n / last)``"""
    return _cosines("hamming", M, [0.54, 0.46], sym, (dtype, layout, device, requires_grad))


def hann(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.5 - 0.5 cos(2 pi n / last)``"""
    return _cosines("hann", M, [0.5, 0.5], sym, (dtype, layout, device, requires_grad))


def blackman(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / last) + 0.08 cos(4 pi n / last)``"""
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, (dtype, layout, device, requires_grad))


def nuttall(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's sum of four cosines."""
    shares = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return _cosines("nuttall", M, shares, sym, (dtype, layout, device, requires_grad))


def bartlett(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``1 - |2 n / last - 1|``, a triangle."""

    def weights(n: Tensor, last: float) -> Tensor:
        result: Tensor = 1 - (n * (2 / last) - 1).abs() if n.shape[0] > 1 else n + 1
        return result

    return _window("bartlett", M, sym, (dtype, layout, device, requires_grad), weights)


def cosine(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``sin(pi (n + 1/2) / (last + 1))``, half a wave."""

    def weights(n: Tensor, last: float) -> Tensor:
        samples = M if sym or M == 1 else M + 1
        result: Tensor = ((n + 0.5) * (math.pi / samples)).sin()
        return result

    return _window("cosine", M, sym, (dtype, layout, device, requires_grad), weights)


def exponential(
    M: int,  # noqa: N803
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|n - center| / tau)``; a ``center`` other than the middle goes with ``sym=False`` alone."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def weights(n: Tensor, last: float) -> Tensor:
        middle = (M if not sym and M > 1 else M - 1) / 2 if center is None else center
        result: Tensor = (-(n - middle).abs() / tau).exp()
        return result

    return _window("exponential", M, sym, (dtype, layout, device, requires_grad), weights)


def gaussian(
    M: int,  # noqa: N803
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-((n - middle) / std)^2 / 2)``"""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def weights(n: Tensor, last: float) -> Tensor:
        middle = (M if not sym and M > 1 else M - 1) / 2
        distance = (n - middle) / (std * math.sqrt(2))
        result: Tensor = (-(distance * distance)).exp()
        return result

    return _window("gaussian", M, sym, (dtype, layout, device, requires_grad), weights)


def kaiser(
    M: int,  # noqa: N803
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: dtype | None = None,
    layout: Any = strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``i0(beta sqrt(1 - (2 n / last - 1)^2)) / i0(beta)``"""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def weights(n: Tensor, last: float) -> Tensor:
        if M == 1:
            return n + 1
        distance = n * (2 / last) - 1
        top = ops.aten.i0(ops.aten.full([], beta, dtype=n.dtype, device=n.device))
        result: Tensor = ops.aten.i0(beta * (1 - distance * distance).clamp_min(0).sqrt()) / top
        return result

    return _window("kaiser", M, sym, (dtype, layout, device, requires_grad), weights)
