"""What an operator does under autocast, in `vmap` and for ``__torch_dispatch__`` classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import OpOverload
from ..backends import backend_of
from ._library import Library, caller

__all__ = ["autocast_key_for", "register_autocast_rule", "register_batching_rule", "register_dispatch_rule"]


def register_autocast_rule(lib: Library, op: OpOverload, device_type: str, cast_inputs: Any) -> Any:
    """Under autocast of a device type, the operator's floating inputs on it are cast to the dtype ``cast_inputs``.

    Returns the kernel that does it.
    """
    from ..amp import cast  # imported here: amp registers its fallbacks through this package

    key = autocast_key_for(device_type)
    mask = _core.key_mask(key)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded | mask)
        try:
            return op(*cast(args, device_type, cast_inputs), **cast(kwargs, device_type, cast_inputs))
        finally:
            _core.set_thread_keys_(included, excluded)

    lib.impl(op, kernel, key, source=caller())
    return kernel


def autocast_key_for(device_type: str) -> str:
    """The key of a rule for autocast.

    Raises ValueError for what is no device type with autocast, RuntimeError for one with an index.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    found = _core.device(device_type)
    if found.index is not None:
        raise RuntimeError(f"Expected device_type string to not have a device index; got {device_type}")
    key = backend_of(found).autocast_key
    if key is None:
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    return key


def register_batching_rule(lib: Library, op: OpOverload, rule: Callable[..., Any]) -> None:
    """In `vmap` the operator runs ``rule(info, in_dims, *args) -> (output, out_dims)``."""
    from ..func._batching import call_rule

    lib.impl(op, lambda *args, **kwargs: call_rule(rule, args, kwargs), "Batched", source=caller())


def register_dispatch_rule(lib: Library, op: OpOverload, cls: type, rule: Callable[..., Any]) -> None:
    """For tensors or modes of the class ``cls`` the operator runs ``rule`` in place of its ``__torch_dispatch__``."""
    lib._register_torch_dispatch_rule(op, cls, rule)
