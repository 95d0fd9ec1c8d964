"""Complex numbers and their parts."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor
from .._ops import ops

__all__ = ["angle", "complex_of", "conj", "matmul", "never", "view_as_complex", "view_as_real"]

_DTYPES = _core.dtypes
_PARTS = {_DTYPES["complex64"]: _DTYPES["float32"], _DTYPES["complex128"]: _DTYPES["float64"]}
_WHOLE = {part: whole for whole, part in _PARTS.items()}


def view_as_real(self: Tensor) -> Tensor:
    """The parts as a last dimension, over the same memory."""
    strides = (*(2 * step for step in self.stride()), 1)
    return _core.retyped(self, _PARTS[self.dtype], (*self.shape, 2), strides, 2 * self.storage_offset())


def view_as_complex(self: Tensor) -> Tensor:
    """The pairs of a last dimension, over the same memory. Raises RuntimeError for strides that do not allow it."""
    *strides, last = self.stride()
    if last != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step, size in zip(strides, self.shape, strict=False) if size != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    halved = tuple(step // 2 for step in strides)
    return _core.retyped(self, _WHOLE[self.dtype], tuple(self.shape[:-1]), halved, self.storage_offset() // 2)


def complex_of(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of two tensors, broadcast against one another."""
    shape = _core.broadcast_shapes(real.shape, imag.shape)
    pairs = ops.aten.stack([real.expand(shape), imag.expand(shape)], -1)
    result: Tensor = ops.aten.view_as_complex(pairs.contiguous())
    return result


def angle(self: Tensor) -> Tensor:
    """The angles: of real numbers 0, pi below 0, and NaN."""
    aten = ops.aten
    if self.is_complex():
        found: Tensor = aten._phase(self)
        return found
    given = self if self.is_floating_point() else self.to(_core.get_default_dtype())
    result: Tensor = aten.where(given.isnan(), given, aten.where(given < 0, math.pi, aten.zeros_like(given)))
    return result


def conj(self: Tensor) -> Tensor:
    """The conjugates; a real tensor itself."""
    result: Tensor = ops.aten.conj_physical(self) if self.is_complex() else self
    return result


def never(self: Tensor) -> bool:
    """False: no tensor is kept as the conjugate or negative of its memory."""
    return False


def matmul(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two complex matrices, or batches of them, by three real ones."""
    aten = ops.aten
    product = aten.mm if self.dim() == 2 else aten.bmm
    (a, b), (c, d) = ((aten.real(m), aten.imag(m)) for m in (self, mat2))
    real, imag = product(a, c), product(b, d)
    both: Tensor = product(a + b, c + d)
    result: Tensor = aten.complex(real - imag, both - real - imag)
    return result
