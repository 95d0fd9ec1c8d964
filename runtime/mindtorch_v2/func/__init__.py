"""PyTorch's ``torch.func``: functions of functions."""

from __future__ import annotations

from . import _functions  # noqa: F401  (sets what `Function.apply` does inside `vmap`)
from ._transforms import grad, grad_and_value, jvp, vjp
from ._vmap import vmap

__all__ = ["grad", "grad_and_value", "jvp", "vjp", "vmap"]
