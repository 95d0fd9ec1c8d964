"""What new memory holds where results must be the same in every run (``torch.utils.deterministic``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._settings import fills_uninitialized_memory

__all__ = ["resize_", "settled"]

_BOOL = _core.dtypes["bool"]


def settled(new: Tensor) -> Tensor:
    """A tensor that has no values yet; where programs ask for it they become NaN, the largest integer or True."""
    if not fills_uninitialized_memory():
        return new
    if new.is_floating_point() or new.is_complex():
        return new.fill_(math.nan)  # type: ignore[no-any-return]
    largest = 1 if new.dtype is _BOOL else (1 << 8 * new.element_size() - new.dtype.is_signed) - 1
    return new.fill_(largest)  # type: ignore[no-any-return]


def resize_(self: Tensor, size: Sequence[int], memory_format: Any = None) -> Tensor:
    """A new shape in place, in rows unless a format is given; the storage grows where it must, by `settled` memory."""
    if not fills_uninitialized_memory() or self.is_meta:
        return _core.resize_(self, size, memory_format)
    before = self.untyped_storage().nbytes() // self.element_size()
    result = _core.resize_(self, size, memory_format)
    grown = result.untyped_storage().nbytes() // self.element_size() - before
    if grown > 0:
        settled(_core.as_strided(result.detach(), (grown,), (1,), before))
    return result
