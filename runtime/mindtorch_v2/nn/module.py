"""``Module``: parameters, buffers and submodules by name; modes, devices, state."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .. import _core
from .._core import RemovableHandle, Tensor
from ..autograd import no_grad
from ..overrides import is_tensor_like
from ._conversion import conversion
from .hooks import ForwardHook, ModuleHooks, add_hook, call_with_hooks, everywhere
from .parameter import Parameter

__all__ = ["IncompatibleKeys", "Module"]


_EXTRA_STATE = "_extra_state"  # the name of a module's extra state


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` did not find, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Module:
    """The base class of neural network modules, as ``torch.nn.Module``."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent: set[str]
    _hooks: ModuleHooks | None = None

    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_non_persistent", set())
        object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; every subclass has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs `forward`, with the hooks around it."""
        if self._hooks is None and not everywhere:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    # ---- hooks
    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args)`` before every forward; what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, and returns both or None. ``prepend`` puts it before
        the hooks that there are.
        """
        return add_hook(self._own_hooks().forward_pre, ForwardHook(hook, bool(with_kwargs)), prepend)

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
        return add_hook(self._own_hooks().forward, ForwardHook(hook, bool(with_kwargs), bool(always_call)), prepend)

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
        return add_hook(self._own_hooks().backward, hook, prepend)

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
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name)
            assert modules is not None
            modules[name] = value
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            parameters[name] = None
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = None
        elif buffers is not None and name in buffers:
            if value is not None and not is_tensor_like(value):
                raise TypeError(
                    f"cannot assign '{_type(value)}' object to buffer '{name}' (torch.Tensor or None required)"
                )
            buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for registry in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(registry)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._non_persistent.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _forget(self, name: str) -> None:
        self.__dict__.pop(name, None)
        for registry in (self._parameters, self._buffers, self._modules):
            registry.pop(name, None)

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
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is state, but not trained; one that is not persistent is left out of the state dict."""
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{_type(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if not persistent:
            self._non_persistent.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = module

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

    # ---- modes, devices and gradients
    def train(self, mode: bool = True) -> Any:
        """Sets training mode here and below; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Any:
        """Sets evaluation mode; returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Sets whether the parameters are trained; returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the parameters' gradients."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad.detach().zero_()

    def apply(self, fn: Callable[[Module], None]) -> Any:
        """Calls ``fn`` on every module, submodules first; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Puts ``fn`` of every parameter, gradient and buffer in its place; parameters stay the objects they are.

        ``fn`` is given the tensors themselves: what it changes in place counts as changed.
        """
        for module in self.modules() if recurse else [self]:
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = _applied(fn, parameter)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves parameters and buffers to a device, and the floating-point ones to a dtype; returns the module."""
        wanted = conversion(args, kwargs)
        if wanted.dtype is not None and not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted.dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            options: dict[str, Any] = {"dtype": wanted.dtype if tensor.is_floating_point() else None}
            if wanted.memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = wanted.memory_format
            result: Tensor = tensor.to(
                device=wanted.device or tensor.device, non_blocking=wanted.non_blocking, **options
            )
            return result

        return self._apply(convert)

    def cpu(self) -> Any:
        """Moves everything to the CPU; returns the module."""
        return self.to("cpu")

    def npu(self, device: Any = None) -> Any:
        """Moves everything to an NPU; returns the module."""
        return self._apply(lambda tensor: tensor.npu(device))

    def float(self) -> Any:
        """Parameters and buffers as float32; returns the module."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Any:
        """Parameters and buffers as float64; returns the module."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Any:
        """Parameters and buffers as float16; returns the module."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    # ---- state
    def get_extra_state(self) -> Any:
        """What `state_dict` keeps besides tensors; a subclass that has it defines `set_extra_state`, too."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: define get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave, in `load_state_dict`."""
        raise RuntimeError(f"{type(self).__name__} takes no extra state: define set_extra_state(state)")

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by name, detached unless ``keep_vars``; and extra state."""
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination  # a keyword counts first, as in PyTorch
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if not isinstance(prefix, str):
            raise TypeError(f"state_dict(): argument 'prefix' must be str, not {type(prefix).__name__}")
        state = OrderedDict() if destination is None else destination
        for name, value in self._own_state():
            state[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            state[prefix + _EXTRA_STATE] = self.get_extra_state()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return state

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        for name, value in {**self._parameters, **self._buffers}.items():
            if value is not None and name not in self._non_persistent:
                yield name, value

    def _expected_state(self, prefix: str = "") -> Iterator[tuple[str, _Place]]:
        """What `load_state_dict` looks for, by name: tensors to copy into, and methods that take extra state."""
        for name, value in self._own_state():
            yield prefix + name, _Place(self, name, value)
        if type(self).set_extra_state is not Module.set_extra_state:
            yield prefix + _EXTRA_STATE, _Place(self, _EXTRA_STATE, self.set_extra_state)
        for name, module in self._modules.items():
            if module is not None:
                yield from module._expected_state(f"{prefix}{name}.")

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies values into parameters and buffers of the same names, and gives modules their extra state.

        With ``assign`` the given tensors take their places instead, and parameters keep only ``requires_grad``. Raises
        RuntimeError for a size that does not match, and with ``strict`` for missing and unexpected names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = dict(self._expected_state())
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        faults = []
        if strict and missing:
            faults.append("Missing key(s) in state_dict: {}. ".format(", ".join(f'"{name}"' for name in missing)))
        if strict and unexpected:
            faults.append("Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{name}"' for name in unexpected)))
        for name, place in own.items():
            if name in state_dict:
                fault = _load(name, place, state_dict[name], assign)
                faults += [fault] if fault else []
        if faults:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(faults))
            )
        return IncompatibleKeys(missing, unexpected)

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


def _applied(fn: Callable[[Tensor], Tensor], parameter: Parameter) -> Parameter:
    """The parameter with ``fn`` of its value and of its gradient; another one where the value has left for meta."""
    grad = parameter.grad
    with no_grad():
        value = fn(parameter)
        result = (
            _with_value(parameter, value) if _holds(parameter, value) else Parameter(value, parameter.requires_grad)
        )
        if grad is not None:
            value = fn(grad)
            result.grad = None
            result.grad = _with_value(grad, value) if _holds(grad, value) else value.requires_grad_(grad.requires_grad)
    return result


def _holds(tensor: Tensor, value: Tensor) -> bool:
    """Whether ``tensor.data = value`` is possible: on meta there is no memory.

    Raises TypeError for what is no tensor.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"Module._apply(): the function must return a Tensor, not {type(value).__name__}")
    return _core.has_compatible_type(tensor, value)


def _with_value(tensor: Any, value: Tensor) -> Any:
    if value is not tensor:
        tensor.data = value
    return tensor


class _Place(NamedTuple):
    """Where a value of a state dict goes: a module's tensor of that name, or its method that takes extra state."""

    module: Module
    name: str
    target: Any


def _load(name: str, place: _Place, given: Any, assign: bool) -> str | None:
    """Puts what a state dict has for a place there; or says why not."""
    target = place.target
    if not isinstance(target, Tensor):
        target(given)
        return None
    if not isinstance(given, Tensor):
        return (
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
    if given.shape != target.shape:
        return (
            f"size mismatch for {name}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {target.shape}."
        )
    if assign:
        if isinstance(target, Parameter):
            given = given if isinstance(given, Parameter) else Parameter(given, target.requires_grad)
            given.requires_grad_(target.requires_grad)
        setattr(place.module, place.name, given)
        return None
    with no_grad():
        target.copy_(given)
    return None


def _type(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
