"""Views in place: a tensor becomes what a view operator makes of it, and the memory stays as it is.

They are composed of the view operators, whose history, tangents and batches the tensor takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..autograd._forward import open_levels

__all__ = ["as_strided_", "squeeze_", "t_", "transpose_", "unsqueeze_"]


def _become(name: str, self: Tensor, operator: Callable[..., Tensor], *args: Any) -> Tensor:
    view = _core.view_in_place(f"aten::{name}", self, operator, *args)
    for number in _core.tangent_levels(view):
        level = open_levels[number]
        level.set(self, level.get(view))
    return self


def as_strided_(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """The storage with any size, stride and offset."""
    return _become("as_strided_", self, ops.aten.as_strided, size, stride, storage_offset)


def squeeze_(self: Tensor, *dim: Any) -> Tensor:
    """Dimensions of size 1 left out: all, or those given."""
    return _become("squeeze_", self, ops.aten.squeeze, *dim)


def t_(self: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    return _become("t_", self, ops.aten.t)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return _become("transpose_", self, ops.aten.transpose.int, dim0, dim1)


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 put in."""
    return _become("unsqueeze_", self, ops.aten.unsqueeze, dim)
