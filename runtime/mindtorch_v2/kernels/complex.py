"""Complex numbers and their parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops

__all__ = [
    "angle",
    "complex_of",
    "conj",
    "imag",
    "is_conj",
    "is_neg",
    "is_zero_tensor",
    "kept_conjugated",
    "kept_negated",
    "matmul",
    "real",
    "resolve_conj",
    "resolve_neg",
    "zero_tensor",
]


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
    """The conjugates, as a view; a real tensor itself."""
    result: Tensor = ops.aten._conj(self) if self.is_complex() else self
    return result


def kept_conjugated(self: Tensor) -> Tensor:
    """A view that stands for the conjugate of what ``self`` does."""
    return _core.kept_otherwise(self, "Conjugate")


def kept_negated(self: Tensor) -> Tensor:
    """A view that stands for the negative of what ``self`` does."""
    return _core.kept_otherwise(self, "Negative")


def is_conj(self: Tensor) -> bool:
    """Whether the tensor is kept as the conjugate of its memory."""
    return _core.is_kept(self, "Conjugate")


def is_neg(self: Tensor) -> bool:
    """Whether the tensor is kept as the negative of its memory."""
    return _core.is_kept(self, "Negative")


def is_zero_tensor(self: Tensor) -> bool:
    """Whether the tensor is kept as zeros."""
    return _core.is_kept(self, "ZeroTensor")


def resolve_conj(self: Tensor) -> Tensor:
    """The tensor itself, or the conjugates in memory of their own."""
    return self.clone() if is_conj(self) else self


def resolve_neg(self: Tensor) -> Tensor:
    """The tensor itself, or the negatives in memory of their own."""
    return self.clone() if is_neg(self) else self


def zero_tensor(size: Sequence[int], *, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """Zeros over the memory of a single one."""
    one = ops.aten.zeros([], dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return _core.kept_otherwise(one.expand(size), "ZeroTensor")


def real(self: Tensor) -> Tensor:
    """The real parts, which are those of the conjugates too; a real tensor itself."""
    if not self.is_complex():
        return self
    result: Tensor = ops.aten.view_as_real(_not_conjugated(self)).select(self.dim(), 0)
    return result


def imag(self: Tensor) -> Tensor:
    """The imaginary parts: of conjugates the negatives of what is in memory."""
    parts: Tensor = ops.aten.view_as_real(_not_conjugated(self))
    result: Tensor = (ops.aten._neg_view(parts) if is_conj(self) else parts).select(self.dim(), 1)
    return result


def _not_conjugated(self: Tensor) -> Tensor:
    result: Tensor = ops.aten._conj(self) if is_conj(self) else self
    return result


def matmul(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two complex matrices, or batches of them, by three real ones."""
    aten = ops.aten
    product = aten.mm if self.dim() == 2 else aten.bmm
    (a, b), (c, d) = ((aten.real(m), aten.imag(m)) for m in (self, mat2))
    real, imag = product(a, c), product(b, d)
    both: Tensor = product(a + b, c + d)
    result: Tensor = aten.complex(real - imag, both - real - imag)
    return result
