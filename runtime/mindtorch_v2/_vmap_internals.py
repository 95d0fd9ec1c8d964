"""PyTorch's older place of `torch.func.vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func._vmap import unrestricted_vmap

__all__ = ["_vmap"]


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """As `torch.func.vmap`, but Functions of the old style are run; random operators are refused."""
    return unrestricted_vmap(func, in_dims, out_dims)
