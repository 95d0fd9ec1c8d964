"""What a module saves and takes back: its state dict, step by step, with the hooks around each step."""

from __future__ import annotations

import contextlib
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._core import RemovableHandle, Tensor
from .._swapping import swap_tensors
from ..autograd import no_grad
from ..overrides import is_tensor_like
from ._conversion import Conversions
from .hooks import add_hook
from .parameter import Parameter, is_lazy

__all__ = ["EXTRA_STATE", "IncompatibleKeys", "ModuleState"]

EXTRA_STATE = "_extra_state"  # the name of a module's extra state


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` did not find, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


@dataclass
class StateHooks:
    """The hooks of a module's state by kind, in the order they are called; their keys are those of the handles."""

    save_pre: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    saved: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    load_pre: dict[Any, Callable[..., Any]] = field(default_factory=dict)
    loaded: dict[Any, Callable[..., Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _WithModule:
    """A hook of `load_state_dict` that is given the module first, which it does not hold."""

    function: Callable[..., Any]

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.function(module, *args)


@dataclass(frozen=True)
class _WithoutModule(_WithModule):
    """One that is not."""

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.function(*args)


@dataclass(frozen=True)
class _Observer:
    """A hook after `state_dict` that may change the dict, but gives none of its own."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> None:
        if self.function(*args) is not None:
            raise RuntimeError("state_dict post-hook must return None")


def _registry(kind: str) -> property:
    """Hooks of a kind under PyTorch's inner name, by the ``id`` of their handles; deleted, there are none."""

    def find(module: ModuleState) -> dict[Any, Callable[..., Any]]:
        found: dict[Any, Callable[..., Any]] = getattr(module._own_state_hooks(), kind)
        return found

    return property(find, None, lambda module: find(module).clear())


class ModuleState:
    """The part of ``Module`` that saves parameters, buffers and extra state by name, and loads them."""

    _version: int = 1  # of what the class saves, which `local_metadata` says when it is loaded
    _state_hooks: StateHooks | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    # ---- hooks
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before the module's part of `state_dict` is made."""
        return add_hook(self._own_state_hooks().save_pre, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after it; the dict may be changed in place."""
        with contextlib.suppress(AttributeError):  # of what takes none, as a bound method
            hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._own_state_hooks().saved, _Observer(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls a hook before the module's part is loaded.

        ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        """
        return add_hook(self._own_state_hooks().load_pre, _WithModule(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, incompatible_keys)`` after the module's part is loaded; the lists may be changed."""
        return add_hook(self._own_state_hooks().loaded, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but what ``hook`` returns, if not None, is the dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add_hook(self._own_state_hooks().saved, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> Any:
        """As `register_load_state_dict_pre_hook`, without the module unless ``with_module``."""
        kind = _WithModule if with_module else _WithoutModule
        return add_hook(self._own_state_hooks().load_pre, kind(hook))

    def _own_state_hooks(self) -> StateHooks:
        if self._state_hooks is None:
            object.__setattr__(self, "_state_hooks", StateHooks())
        hooks = self._state_hooks
        assert hooks is not None
        return hooks

    _state_dict_pre_hooks, _state_dict_hooks = _registry("save_pre"), _registry("saved")
    _load_state_dict_pre_hooks, _load_state_dict_post_hooks = _registry("load_pre"), _registry("loaded")

    # ---- extra state
    def get_extra_state(self) -> Any:
        """What `state_dict` keeps besides tensors; a subclass that has it defines `set_extra_state`, too."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: define get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave, in `load_state_dict`."""
        raise RuntimeError(f"{type(self).__name__} takes no extra state: define set_extra_state(state)")

    # ---- saving
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by name, detached unless ``keep_vars``; and extra state.

        Its attribute ``_metadata`` has the version of every module by its name.
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            destination = args[0] if destination is None else destination  # a keyword counts first, as in PyTorch
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if not isinstance(prefix, str):
            raise TypeError(f"state_dict(): argument 'prefix' must be str, not {type(prefix).__name__}")
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        hooks = self._state_hooks or StateHooks()
        for hook in hooks.save_pre.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in hooks.saved.values():
            changed = hook(self, destination, prefix, local_metadata)
            destination = destination if changed is None else changed
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Puts what the module itself has, without those below it, into a dict. Subclasses may change it."""
        for name, value in self._own_state():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        for name, value in {**self._parameters, **self._buffers}.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                yield name, value

    # ---- loading
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies values into parameters and buffers of the same names, and gives modules their extra state.

        With ``assign`` the given tensors take their places instead, and parameters keep only ``requires_grad``. Raises
        RuntimeError for a size that does not match, and with ``strict`` for missing and unexpected names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        result = IncompatibleKeys([], [])
        faults: list[str] = []
        versions = getattr(state_dict, "_metadata", None) or {}
        _load_below(self, OrderedDict(state_dict), "", versions, assign, result, faults)
        named = (("Unexpected", result.unexpected_keys), ("Missing", result.missing_keys)) if strict else ()
        for kind, names in named:
            if names:
                listed = ", ".join(f'"{name}"' for name in names)
                faults.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if faults:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(faults))
            )
        return result

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads what the module itself has, without those below it. Subclasses may change it.

        Adds to the lists what is missing or unexpected, both with ``strict`` only, and what does not fit.
        """
        for hook in list((self._state_hooks or StateHooks()).load_pre.values()):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(self._own_state())
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                fault = _load(self, name, key, target, state_dict[key], assign)
                error_msgs += [fault] if fault else []
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        takes_extra = type(self).set_extra_state is not ModuleState.set_extra_state
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif strict and takes_extra != (extra in state_dict):
            (missing_keys if takes_extra else unexpected_keys).append(extra)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and key != extra:
                name, _, below = key[len(prefix) :].partition(".")
                if name not in (self._modules if below else own):
                    unexpected_keys.append(key)


def _load_below(
    module: ModuleState,
    state: Any,
    prefix: str,
    versions: Mapping[str, Any],
    assign: bool,
    result: IncompatibleKeys,
    faults: list[str],
) -> None:
    """Loads a module and those below it; each sees the names below its own alone."""
    metadata = dict(versions.get(prefix[:-1], {}))
    if assign:
        metadata["assign_to_params_buffers"] = True
    module._load_from_state_dict(state, prefix, metadata, True, result.missing_keys, result.unexpected_keys, faults)
    for name, child in module._modules.items():
        if child is not None:
            within = f"{prefix}{name}."
            part = {key: value for key, value in state.items() if key.startswith(within)}
            _load_below(child, part, within, versions, assign, result, faults)
    for hook in (module._state_hooks or StateHooks()).loaded.values():
        if hook(module, result) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if "
                "incompatible_keys need to be modified, it should be done inplace."
            )


def _take(target: Tensor, made: Tensor, given: Tensor) -> None:
    """Makes a tensor of a module what its ``module_load`` made, which is to be another one, else RuntimeError."""
    if made is target or made is given:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs"
        )
    if isinstance(target, Parameter):
        made = made if isinstance(made, Parameter) else Parameter(made, target.requires_grad)
        made.requires_grad_(target.requires_grad)
    swap_tensors(target, made)


def _load(module: Any, name: str, key: str, target: Tensor, given: Any, assign: bool) -> str | None:
    """Puts what a state dict has for a tensor there; or says why not."""
    if not is_tensor_like(given):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
    lazy = is_lazy(target)
    if not lazy and target.dim() == 0 and given.dim() == 1:  # what early versions saved for a number
        given = given[0]
    if not lazy and given.shape != target.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current "
            f"model is {target.shape}."
        )
    if not lazy and not assign and target.is_meta and not given.is_meta:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
            "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
            "corresponding key in the module instead of copying them in place?)",
            stacklevel=5,
        )
    if Conversions.swap and not lazy:
        try:
            with no_grad():
                _take(target, target.module_load(given, assign=assign), given)
        except RuntimeError as error:
            return f'While swapping the parameter named "{key}", of size {target.size()} in the model: {error}'
        return None
    if assign:
        if isinstance(target, Parameter):
            given = given if isinstance(given, Parameter) else Parameter(given, target.requires_grad)
            given.requires_grad_(target.requires_grad)
        setattr(module, name, given)
        return None
    if not is_lazy(given):
        with no_grad():
            target.copy_(given)
    return None
