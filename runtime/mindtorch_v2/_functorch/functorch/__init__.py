"""The package ``functorch``: `torch.func` under the names that it had before, each of which says what to use now."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ... import func
from ..._frames import user_stacklevel
from ...fx.experimental.proxy_tensor import make_fx
from .. import make_functional as modules

__all__ = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap",
]  # fmt: skip


def _older(name: str, function: Callable[..., Any], now: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        text = f"`functorch.{name}` is deprecated as of PyTorch 2.0, where it is part of it. Please use `{now}` instead"
        warnings.warn(text, FutureWarning, stacklevel=user_stacklevel())
        return function(*args, **kwargs)

    return called


def _of_func(name: str) -> Callable[..., Any]:
    return _older(name, getattr(func, name), f"torch.func.{name}")


grad, grad_and_value, vjp, jvp = (_of_func(name) for name in ("grad", "grad_and_value", "vjp", "jvp"))
jacrev, jacfwd, hessian, functionalize = (_of_func(name) for name in ("jacrev", "jacfwd", "hessian", "functionalize"))
vmap = _older("vmap", func.vmap, "torch.vmap")
_CALL, _STACK = "torch.func.functional_call", "torch.func.stack_module_state"
make_functional = _older("make_functional", modules.make_functional, _CALL)
make_functional_with_buffers = _older("make_functional_with_buffers", modules.make_functional_with_buffers, _CALL)
combine_state_for_ensemble = _older("combine_state_for_ensemble", modules.combine_state_for_ensemble, _STACK)
