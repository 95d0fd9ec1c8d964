"""PyTorch's ``torch.func``: functions of functions."""

from __future__ import annotations

from ._functionalize import functionalize
from ._transforms import grad, grad_and_value, jvp, vjp
from ._vmap import vmap

__all__ = ["functionalize", "grad", "grad_and_value", "jvp", "vjp", "vmap"]
