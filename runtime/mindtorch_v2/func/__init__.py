"""PyTorch's ``torch.func``: functions of functions."""

from __future__ import annotations

from . import _functions, _interpreters  # noqa: F401  (these fill the table of what is called upward)
from ._batch_norms import replace_all_batch_norm_modules_
from ._forward import jvp, linearize
from ._functionalize import functionalize
from ._jacobians import hessian, jacfwd, jacrev
from ._modules import functional_call, stack_module_state
from ._reverse import grad, grad_and_value, vjp
from ._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
