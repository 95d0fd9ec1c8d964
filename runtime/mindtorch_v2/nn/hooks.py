"""Hooks of modules: registered on one or on all, and called around forward and in the backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._core import RemovableHandle
from .backward_hooks import BackwardHook, watch_last_node

__all__ = [
    "ModuleHooks",
    "add_hook",
    "call_with_hooks",
    "everywhere",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "registered",
]


@dataclass
class ModuleHooks:
    """The hooks of a module by kind, in the order they are called; their keys are those of the handles."""

    forward_pre: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    forward: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    with_kwargs: set[Any] = field(default_factory=set)  # the keys of those that are called with keyword arguments
    always_called: set[Any] = field(default_factory=set)  # ... and of those that are called where forward raised
    backward_pre: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    backward: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    node: dict[Any, Callable[..., Any]] = field(default_factory=dict)  # of the last node that forward recorded
    place: str = "on a single Module"

    def add_forward(
        self,
        kind: str,
        hook: Callable[..., Any],
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Adds a hook of ``forward`` or ``forward_pre``."""
        handle = add_hook(getattr(self, kind), hook, prepend)
        for keys, wanted in ((self.with_kwargs, with_kwargs), (self.always_called, always_call)):
            if wanted:
                keys.intersection_update((*self.forward, *self.forward_pre))  # of those that are still there
                keys.add(handle.id)  # type: ignore[attr-defined]
        return handle

    def add_backward(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Adds a hook of the backward pass. Raises RuntimeError where there are hooks of the last node."""
        if self.node:
            raise RuntimeError(f"{_BOTH_KINDS} {self.place}. Please use only one of them.")
        return add_hook(self.backward, hook, prepend)

    def add_node(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Adds a hook of the last node. Raises RuntimeError where there are hooks of the backward pass."""
        if self.backward:
            raise RuntimeError(f"{_BOTH_KINDS} {self.place}. Please use only one of them.")
        return add_hook(self.node, hook)


_BOTH_KINDS = "Cannot use both regular backward hooks and full backward hooks"

# What is called with ``(module, name, value)`` whenever any module gets a parameter, a buffer or a submodule, by kind.
on_registration: dict[str, dict[Any, Callable[..., Any]]] = {"parameter": {}, "buffer": {}, "module": {}}


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What a module is to have under a name: ``value``, or what a hook gives for it."""
    for hook in on_registration[kind].values():
        given = hook(module, name, value)
        value = value if given is None else given
    return value


everywhere: list[ModuleHooks] = []  # hooks of all modules, called before a module's own: one object, or none yet


def add_hook(registry: dict[Any, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Adds a hook, with ``prepend`` before those that are there. Raises TypeError for what cannot be called."""
    if not callable(hook):
        raise TypeError(f"a hook must be callable, not {type(hook).__name__}")
    others = dict(registry)
    handle = RemovableHandle(registry, hook)  # type: ignore[call-arg]
    if prepend:
        for key in others:
            registry[key] = registry.pop(key)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before the forward of every module; see `Module.register_forward_pre_hook`."""
    return _everywhere().add_forward("forward_pre", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args, output)`` after the forward of every module; see `Module.register_forward_hook`."""
    return _everywhere().add_forward("forward", hook, False, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_output)`` for every module; see `Module.register_full_backward_pre_hook`."""
    return add_hook(_everywhere().backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` for every module; see `Module.register_full_backward_hook`."""
    return _everywhere().add_backward(hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` for every module; see `Module.register_backward_hook`."""
    return _everywhere().add_node(hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, parameter)`` when any module gets one; what it returns, if not None, replaces it."""
    return add_hook(on_registration["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_parameter_registration_hook`, for buffers."""
    return add_hook(on_registration["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_parameter_registration_hook`, for submodules."""
    return add_hook(on_registration["module"], hook)


def _everywhere() -> ModuleHooks:
    if not everywhere:
        everywhere.append(ModuleHooks(place="as a global Module hook"))
    return everywhere[0]


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A module's forward with the hooks around it."""
    call = _Call(module, args, kwargs)
    ended = False
    try:
        result = call.run()
        ended = True
        return result
    finally:
        if not ended:
            call.run_the_rest()


class _Call:
    """One call of a module, and how far it got."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        hooks = everywhere if module._hooks is None else [*everywhere, module._hooks]
        self.module, self.args, self.kwargs, self.result = module, args, kwargs, None
        self.forward_pre = [(hook, key in h.with_kwargs) for h in hooks for key, hook in h.forward_pre.items()]
        self.forward = [
            (hook, key in h.with_kwargs, key in h.always_called) for h in hooks for key, hook in h.forward.items()
        ]
        self.backward_pre = [hook for h in hooks for hook in h.backward_pre.values()]
        self.backward = [hook for h in hooks for hook in h.backward.values()]
        self.node = [hook for h in hooks for hook in h.node.values()]

    def run(self) -> Any:
        for hook, with_kwargs in self.forward_pre:
            self._before_forward(hook, with_kwargs)
        watch = None
        if self.backward or self.backward_pre:
            watch = BackwardHook(self.module, self.backward, self.backward_pre)
            self.args = watch.watch_inputs(self.args)
        args = self.args
        self.result = self.module.forward(*args, **self.kwargs)
        while self.forward:
            hook, with_kwargs, _ = self.forward.pop(0)
            changed = self._after_forward(hook, with_kwargs)
            self.result = self.result if changed is None else changed
        result = self.result if watch is None else watch.watch_outputs(self.result)
        if self.node:
            watch_last_node(self.module, self.node, args, result)
        return result

    def run_the_rest(self) -> None:
        """After an exception: the hooks that are always called; their own exceptions are warnings."""
        for hook, with_kwargs, always_called in self.forward:
            if always_called:
                try:
                    self._after_forward(hook, with_kwargs)
                except Exception as error:  # whatever a hook raises: the first exception is on its way already
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=2,
                    )

    def _before_forward(self, hook: Callable[..., Any], with_kwargs: bool) -> None:
        if not with_kwargs:
            changed = hook(self.module, self.args)
            if changed is not None:
                self.args = changed if isinstance(changed, tuple) else (changed,)
            return
        changed = hook(self.module, self.args, self.kwargs)
        if changed is None:
            return
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        self.args, self.kwargs = changed

    def _after_forward(self, hook: Callable[..., Any], with_kwargs: bool) -> Any:
        if with_kwargs:
            return hook(self.module, self.args, self.kwargs, self.result)
        return hook(self.module, self.args, self.result)


_core.hooks.fill(call_with_hooks=call_with_hooks, hooks_of_all_modules=everywhere)
