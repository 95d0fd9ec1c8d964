"""``Module``: parameters, buffers and submodules by name; modes, devices, state."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._core import CallsForward, RemovableHandle, Tensor, registered_attribute
from ..overrides import is_tensor_like
from ._moves import ModuleMoves
from ._state import IncompatibleKeys, ModuleState
from .hooks import ModuleHooks, add_hook, registered
from .parameter import Buffer, Parameter

__all__ = ["IncompatibleKeys", "Module"]


class _CallSignature:
    """What `inspect.signature` shows of a module. Of a class that shows how it is made."""

    def __get__(self, module: Module | None, cls: type) -> inspect.Signature | None:
        return None if module is None else inspect.signature(_taking_all)


def _taking_all(*args: Any, **kwargs: Any) -> Any:
    """The signature of a module's call."""


class Module(ModuleState, ModuleMoves, CallsForward):
    """The base class of neural network modules, as ``torch.nn.Module``. A call runs `forward`, with hooks around it."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _hooks: ModuleHooks | None = None

    call_super_init: bool = False
    dump_patches: bool = False
    __signature__ = _CallSignature()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            given = f"an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else f"{len(args)} too many"
            raise TypeError(f"{type(self).__name__}.__init__() takes no arguments, got {given}")
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistent_buffers_set", set())
        object.__setattr__(self, "training", True)
        if self.call_super_init:  # of the class behind, where there are several bases
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; every subclass has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---- hooks
    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args)`` before every forward; what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, and returns both or None. ``prepend`` puts it before
        the hooks that there are.
        """
        return self._own_hooks().add_forward("forward_pre", hook, prepend, with_kwargs)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls ``hook(module, args, output)`` after every forward; what it returns, if not None, is the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``; with ``always_call`` it is called where
        forward or another hook raised, too. ``prepend`` puts it before the hooks that there are.
        """
        return self._own_hooks().add_forward("forward", hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_output)`` when backward reaches the module's outputs.

        ``grad_output`` is a tuple with a gradient or None for each; what the hook returns, if not None, replaces it.
        """
        return add_hook(self._own_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` when backward has the gradients of the module's inputs.

        Both are tuples with a gradient or None for each positional argument and output; a tuple that the hook returns
        replaces ``grad_input``. Outputs cannot be changed in place while the module has such hooks.
        """
        return self._own_hooks().add_backward(hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` when the last node that forward recorded has run.

        The gradients are that node's. Obsolete: `register_full_backward_hook` sees those of the module.
        """
        return self._own_hooks().add_node(hook)

    @property
    def _forward_hooks(self) -> dict[Any, Callable[..., Any]]:
        return self._own_hooks().forward

    @_forward_hooks.deleter
    def _forward_hooks(self) -> None:
        self._own_hooks().forward.clear()

    @property
    def _forward_pre_hooks(self) -> dict[Any, Callable[..., Any]]:
        return self._own_hooks().forward_pre

    @_forward_pre_hooks.deleter
    def _forward_pre_hooks(self) -> None:
        self._own_hooks().forward_pre.clear()

    @property
    def _backward_pre_hooks(self) -> dict[Any, Callable[..., Any]]:
        return self._own_hooks().backward_pre

    @_backward_pre_hooks.deleter
    def _backward_pre_hooks(self) -> None:
        self._own_hooks().backward_pre.clear()

    @property
    def _backward_hooks(self) -> dict[Any, Callable[..., Any]]:
        hooks = self._own_hooks()
        return hooks.node or hooks.backward

    @property
    def _forward_hooks_with_kwargs(self) -> dict[Any, bool]:
        hooks = self._own_hooks()
        return dict.fromkeys((key for key in hooks.forward if key in hooks.with_kwargs), True)

    @property
    def _forward_pre_hooks_with_kwargs(self) -> dict[Any, bool]:
        hooks = self._own_hooks()
        return dict.fromkeys((key for key in hooks.forward_pre if key in hooks.with_kwargs), True)

    @property
    def _forward_hooks_always_called(self) -> dict[Any, bool]:
        hooks = self._own_hooks()
        return dict.fromkeys((key for key in hooks.forward if key in hooks.always_called), True)

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None:
            object.__setattr__(self, "_hooks", ModuleHooks())
        hooks = self._hooks
        assert hooks is not None
        return hooks

    # ---- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        registries = self.__dict__.get("_parameters"), self.__dict__.get("_buffers"), self.__dict__.get("_modules")
        if isinstance(value, (Parameter, Module)) and registries[0] is None:
            kind = "parameters" if isinstance(value, Parameter) else "module"
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        parameters, buffers, modules = registries
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            parameters[name] = None
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            assert modules is not None
            modules[name] = registered("module", self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = None
        elif buffers is not None and isinstance(value, Buffer):
            self._set_buffer(name, value)
        elif buffers is not None and name in buffers:
            if value is not None and not is_tensor_like(value):
                raise TypeError(
                    f"cannot assign '{_type(value)}' object to buffer '{name}' (torch.Tensor or None required)"
                )
            buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
    else:
        __getattr__ = registered_attribute

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())  # which are no attributes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())  # older ones have none

    def _replicate_for_data_parallel(self) -> Module:
        """A module of the same class and settings without parameters, which a replica has as plain attributes."""
        replica = type(self).__new__(type(self))
        replica.__dict__.update(self.__dict__, _parameters={}, _is_replica=True)
        replica.__dict__.update(_buffers=self._buffers.copy(), _modules=self._modules.copy())
        return replica

    def _forget(self, name: str, but_in: str) -> None:
        """Takes a name out of everything but one registry, where it keeps its place."""
        self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        for registry in {"_parameters", "_buffers", "_modules"} - {but_in}:
            self.__dict__[registry].pop(name, None)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name; None keeps the name for one that does not exist."""
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly."
            )
        self._parameters[name] = None if param is None else registered("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is state, but not trained; one that is not persistent is left out of the state dict."""
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{_type(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = None if tensor is None else registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def _set_buffer(self, name: str, value: Buffer) -> None:
        """Registers a buffer that is assigned: a class may have a `register_buffer` that takes no `persistent`."""
        takes = inspect.signature(self.register_buffer).parameters
        if "persistent" in takes:
            self.register_buffer(name, value, value.persistent)
            return
        if not value.persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not allowed!"
            )
        self.register_buffer(name, value)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = None if module is None else registered("module", self, name, module)

    register_module = add_module

    def _check_name(self, name: str, kind: str, registry: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in registry:
            raise KeyError(f"attribute '{name}' already exists")

    # ---- what there is
    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their names; each once, unless ``remove_duplicate`` is False."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(seen, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it; each once, unless ``remove_duplicate`` is False."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The submodules, each once, with their names."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The submodules."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        below = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for name, module in below if recurse else [(prefix, self)]:
            for key, value in getattr(module, registry).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{name}.{key}" if name else key), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names; each once, unless ``remove_duplicate`` is False."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names; each once, unless ``remove_duplicate`` is False."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The submodule ``target``, a path with points."""
        if not isinstance(target, str):
            raise TypeError(f"get_submodule(): argument 'target' must be str, not {type(target).__name__}")
        module = self
        for name in target.split(".") if target else []:
            found = getattr(module, name, None)
            if not isinstance(found, Module):
                if not hasattr(module, name):
                    raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = found
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at ``target``, a path with points; with ``strict`` only where there is one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        there = hasattr(parent, name)
        if strict and not there:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if there and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter ``target``, a path with points."""
        _, name, value = self._member(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer ``target``, a path with points."""
        owner, name, value = self._member(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        found: Tensor = value
        return found

    def _member(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    # ---- printing
    def extra_repr(self) -> str:
        """What the module's line says besides its class."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        if not lines and len(extra) <= 1:
            return f"{self._get_name()}({''.join(extra)})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*extra, *lines]) + "\n)"


def _type(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
