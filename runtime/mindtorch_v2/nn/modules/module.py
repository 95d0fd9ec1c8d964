"""``Module``, and hooks of all modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .._state import EXTRA_STATE, IncompatibleKeys
from ..hooks import (
    ModuleHooks,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..module import Module

_EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys = EXTRA_STATE, IncompatibleKeys  # PyTorch's names, which libraries import
_GLOBAL: dict[str, Callable[[ModuleHooks], Any]] = {
    "_global_forward_hooks": lambda hooks: hooks.forward,
    "_global_forward_pre_hooks": lambda hooks: hooks.forward_pre,
    "_global_backward_hooks": lambda hooks: hooks.node or hooks.backward,
    "_global_backward_pre_hooks": lambda hooks: hooks.backward_pre,
    "_global_forward_hooks_always_called": lambda hooks: {k: True for k in hooks.forward if k in hooks.always_called},
    "_global_forward_hooks_with_kwargs": lambda hooks: {k: True for k in hooks.forward if k in hooks.with_kwargs},
}


_SET: dict[str, tuple[str, ...]] = {  # what is replaced where a program assigns to one of them, mostly nothing
    "_global_forward_hooks": ("forward",),
    "_global_forward_pre_hooks": ("forward_pre",),
    "_global_backward_hooks": ("node", "backward"),
    "_global_backward_pre_hooks": ("backward_pre",),
}


class _WithHooks(ModuleType):
    """This module: hooks of all modules are its attributes, read and assigned as in PyTorch."""

    def __getattr__(self, name: str) -> Any:
        if name in _GLOBAL:
            return _GLOBAL[name](everywhere[0] if everywhere else ModuleHooks())
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _SET:
            super().__setattr__(name, value)
        elif everywhere:
            replaced = dict(value)
            for which in _SET[name]:
                hooks = getattr(everywhere[0], which)
                kept = {key: hook for key, hook in hooks.items() if key in replaced}
                hooks.clear()
                hooks.update(kept)


sys.modules[__name__].__class__ = _WithHooks


__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
