"""PyTorch's older place of `torch.func.vmap`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ._frames import user_stacklevel
from .func._vmap import unrestricted_vmap

__all__ = ["_vmap", "vmap"]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """As `torch.func.vmap`, under the name that this had before; random operators are refused."""
    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    return unrestricted_vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """As `torch.func.vmap`, but Functions of the old style are run; random operators are refused."""
    return unrestricted_vmap(func, in_dims, out_dims)
