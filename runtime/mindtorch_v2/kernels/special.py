"""Special functions, by SciPy, which is imported when the first of them is called."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_array, as_tensor, bits, moved
from .cumulative import log_add_exp

_DTYPES = _core.dtypes
_BF16, _F64 = _DTYPES["bfloat16"], _DTYPES["float64"]


@functools.cache
def _scipy() -> Any:
    try:
        from scipy import special  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError("this special function is SciPy's, which is not installed: pip install scipy") from None
    return special


def _floats(tensor: Tensor) -> Any:
    """The elements in a dtype that SciPy computes in: half precision as float32."""
    array = as_array(tensor)
    if tensor.dtype is _F64:
        return array
    return array if array.dtype == "float32" else array.astype("float32")


def _dtype(*tensors: Tensor) -> Any:
    """Of a result: floating-point, of integers too. Raises NotImplementedError of complex numbers."""
    found = _core.common_dtype(*tensors)
    if found.is_complex:
        raise NotImplementedError(f"not implemented for {found}: expected real numbers")
    return found if found.is_floating_point else _core.common_dtype(*tensors, 1.0)


def _of_one(name: str, function: Callable[[Any, Any], Any] | None = None) -> Callable[[Tensor], Tensor]:
    """SciPy's function of that name as a kernel; in its place ``function`` is called, with the module and an array."""

    def kernel(self: Tensor) -> Tensor:
        target = _dtype(self)
        array = _floats(self.to(target))
        with _quiet():
            found = getattr(_scipy(), name)(array) if function is None else function(_scipy(), array)
            return as_tensor(found, target)

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = f"SciPy's ``{name}`` of each element."
    return kernel


def _of_two(name: str, function: Callable[[Any, Any, Any], Any] | None = None) -> Callable[[Tensor, Tensor], Tensor]:
    """As `_of_one`, of two tensors."""

    def kernel(self: Tensor, other: Tensor) -> Tensor:
        _core.broadcast_shapes(self.shape, other.shape)  # which says what does not fit
        target = _dtype(self, other)
        first, second = _floats(self.to(target)), _floats(other.to(target))
        with _quiet():
            found = getattr(_scipy(), name)(first, second) if function is None else function(_scipy(), first, second)
            return as_tensor(found, target)

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = f"SciPy's ``{name}`` of elements."
    return kernel


def _quiet() -> Any:
    import numpy as np

    return np.errstate(all="ignore")


digamma, erfcx = _of_one("psi"), _of_one("erfcx")
airy_ai = _of_one("airy", lambda scipy, x: scipy.airy(x)[0])
spherical_bessel_j0 = _of_one("spherical_jn", lambda scipy, x: _sinc(x))
ndtri, log_ndtr, entr = _of_one("ndtri"), _of_one("log_ndtr"), _of_one("entr")
zeta = _of_two("zeta", lambda scipy, x, q: _zeta(scipy, x, q))
xlog1py = _of_two("xlog1py")


def _sinc(x: Any) -> Any:
    import numpy as np

    return np.where(x == 0, 1, np.where(np.isinf(x), 0, np.sin(x) / np.where(x == 0, 1, x)))


def _zeta(scipy: Any, x: Any, q: Any) -> Any:
    """Of a negative ``q`` SciPy has nothing: whole steps up to a positive one are added."""
    import numpy as np

    found = scipy.zeta(x, q)
    low = (q < 0) & (q != np.floor(q)) & (x == np.floor(x)) & (x > 1)
    if not np.any(low):
        return found
    x, q, low = np.broadcast_arrays(x, q, low)
    found = np.array(np.broadcast_to(found, low.shape))
    for at in zip(*np.nonzero(low), strict=True):
        steps = math.ceil(-q[at])
        terms = (q[at] + np.arange(steps)) ** -x[at]
        found[at] = terms.sum() + scipy.zeta(x[at], q[at] + steps)
    return found


def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of digamma, of which the first is a kernel of its own."""
    if n == 0:
        return digamma(self)
    return _of_one("polygamma", lambda scipy, x: (-1.0) ** (n + 1) * scipy.gamma(n + 1.0) * scipy.zeta(n + 1, x))(self)


def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The sum of lgamma(x - j / 2) for j below p, and the logarithm of a power of pi."""
    aten = ops.aten
    steps = aten.arange(-p / 2.0 + 0.5, 0.5, 0.5, dtype=_core.common_dtype(self, 1.0), device=self.device)
    shifted = aten.lgamma(self.unsqueeze(-1) + steps)
    result: Tensor = shifted.sum(-1) + p * (p - 1) * math.log(math.pi) / 4
    return result


def frexp(self: Tensor) -> tuple[Tensor, Tensor]:
    """Mantissas and exponents."""
    import numpy as np

    mantissa, exponent = np.frexp(as_array(self))
    parts = as_tensor(mantissa, self.dtype), as_tensor(exponent, _DTYPES["int32"])
    if self.is_contiguous():
        return parts
    # As self lies, where it has no gaps.
    return tuple(ops.aten.empty_like(self, dtype=part.dtype).copy_(part) for part in parts)


def logaddexp_complex(self: Tensor, other: Tensor) -> Tensor:
    """`logaddexp` of complex numbers."""
    import numpy as np

    _core.broadcast_shapes(self.shape, other.shape)
    target = _core.common_dtype(self, other)
    if target is _DTYPES["complex32"]:
        raise NotImplementedError("\"logaddexp_cpu\" not implemented for 'ComplexHalf'")
    wide = [as_array(tensor.to(_DTYPES["complex128"])) for tensor in (other, self)]
    with np.errstate(all="ignore"):
        return as_tensor(log_add_exp(*wide), target)


def nextafter_of_two(self: Tensor, other: Tensor) -> Tensor:
    """`nextafter` of two dtypes: the next number of the one that both are promoted to."""
    target = _core.common_dtype(self, other)
    result: Tensor = ops.aten.nextafter(self.to(target), other.to(target))
    return result


def nextafter_half(self: Tensor, other: Tensor) -> Tensor:
    """The next number in half precision: as NumPy has it, or by one more or less of the bits."""
    import numpy as np

    _core.broadcast_shapes(self.shape, other.shape)
    if self.dtype is not _BF16:
        return as_tensor(np.nextafter(as_array(self), as_array(other)), self.dtype)
    first, second = np.broadcast_arrays(as_array(self), as_array(other))
    raw = np.broadcast_to(bits(self), first.shape).astype("int16")
    away = np.where(first > 0, second > first, second < first)
    step = np.where(first == second, 0, np.where(away, 1, -1)).astype("int16")
    found = np.where(first == 0, np.where(second < 0, -0x7FFF, 1), raw + step).astype("int16")
    found = np.where(first == second, np.broadcast_to(bits(other), first.shape), found)
    return moved(np.where(np.isnan(first) | np.isnan(second), 0x7FC0, found).astype("int16"), self.dtype)


# ---------------------------------------------------------------- orthogonal polynomials
def _polynomial(name: str, start: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any]) -> Any:
    """A kernel of p(x, n) by a recurrence: ``start(x)`` is p1, ``step(k, x, p[k], p[k-1])`` is p[k+1]; p0 is 1."""

    def values(scipy: Any, x: Any, n: Any) -> Any:
        import numpy as np

        x, degree = np.broadcast_arrays(x, n)
        degree = np.trunc(degree).astype("int64")
        before, now = np.ones_like(x), start(x)
        found = np.where(degree < 0, np.zeros_like(x), np.where(degree == 0, before, now))
        for k in range(1, int(min(degree.max(initial=0), _HIGHEST))):
            before, now = now, step(k, x, now, before)
            found = np.where(degree == k + 1, now, found)
        return found

    return _of_two(name, values)


_HIGHEST = 1024  # degree: above it the recurrences have lost all digits


def _chebyshev(k: int, x: Any, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _shifted(start: Callable[[Any], Any]) -> tuple[Callable[[Any], Any], Callable[[int, Any, Any, Any], Any]]:
    return lambda x: start(2 * x - 1), lambda k, x, now, before: 2 * (2 * x - 1) * now - before


chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t", lambda x: x, _chebyshev)
chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u", lambda x: 2 * x, _chebyshev)
chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v", lambda x: 2 * x - 1, _chebyshev)
chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w", lambda x: 2 * x + 1, _chebyshev)
shifted_chebyshev_polynomial_t = _polynomial("shifted_chebyshev_polynomial_t", *_shifted(lambda x: x))
shifted_chebyshev_polynomial_u = _polynomial("shifted_chebyshev_polynomial_u", *_shifted(lambda x: 2 * x))
shifted_chebyshev_polynomial_v = _polynomial("shifted_chebyshev_polynomial_v", *_shifted(lambda x: 2 * x - 1))
shifted_chebyshev_polynomial_w = _polynomial("shifted_chebyshev_polynomial_w", *_shifted(lambda x: 2 * x + 1))
hermite_polynomial_h = _polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * (x * p - k * q))
hermite_polynomial_he = _polynomial("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
)
