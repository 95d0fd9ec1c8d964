"""What optimizers share: groups of parameters, state, hooks, saving and loading."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from .._core import RemovableHandle, Tensor, dtypes
from ..autograd.profiler import record_function
from ..nn.hooks import add_hook

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

F = TypeVar("F", bound=Callable[..., Any])
Group = dict[str, Any]
Hook = Callable[..., Any]
ParamsT = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: dict[Any, Hook] = {}
_global_optimizer_post_hooks: dict[Any, Hook] = {}
_REGISTRIES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """The default of an option that every group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Has ``hook(optimizer, args, kwargs)`` called before each step of any optimizer; it may return both anew."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Has ``hook(optimizer, args, kwargs)`` called after each step of any optimizer."""
    return add_hook(_global_optimizer_post_hooks, hook)


class Optimizer:
    """The base class of optimizers; a subclass says in `step` how parameters change.

    ``params`` are tensors, pairs of a name and a tensor, or dicts with ``params`` and options of their own;
    ``defaults`` the options of the others. Raises TypeError for what holds no tensors, ValueError for none at all,
    for tensors that are no leaves, in two groups, or named in part.
    """

    OptimizerPreHook = Hook
    OptimizerPostHook = Hook

    def __init__(self, params: ParamsT, defaults: Group) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        given: list[Any] = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def _prepare(self) -> None:
        """What is no part of what is saved: registries of hooks, and `step` of a class that is new here."""
        for name in _REGISTRIES:
            self.__dict__.setdefault(name, {})
        kind: Any = type(self)
        if not getattr(kind.step, "hooked", False):
            kind.step = self.profile_hook_step(kind.step)
            kind.step.hooked = True

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            options = (f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {i}\n" + "".join(options)
        return text + ")"

    @staticmethod
    def profile_hook_step(func: F) -> F:
        """A step that is labelled in profiles and calls the hooks; each class's own becomes one."""

        @functools.wraps(func)
        def step(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                    changed = hook(self, args, kwargs)
                    if changed is None:
                        continue
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
                result = func(*args, **kwargs)
                for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                    hook(self, args, kwargs)
                return result

        return step  # type: ignore[return-value]

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Has ``hook(optimizer, args, kwargs)`` called before each step; it may return both anew."""
        return add_hook(self._hooks("step_pre"), hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Has ``hook(optimizer, args, kwargs)`` called after each step."""
        return add_hook(self._hooks("step_post"), hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer)`` called before `state_dict` looks at it."""
        return add_hook(self._hooks("state_dict_pre"), hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer, state_dict)`` change what `state_dict` returns, or return another."""
        return add_hook(self._hooks("state_dict_post"), hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer, state_dict)`` change a shallow copy of what is loaded, or return another."""
        return add_hook(self._hooks("load_state_dict_pre"), hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has ``hook(optimizer)`` called once a state is loaded."""
        return add_hook(self._hooks("load_state_dict_post"), hook, prepend)

    def _hooks(self, when: str) -> dict[Any, Hook]:
        found: dict[Any, Hook] = getattr(self, f"_optimizer_{when}_hooks")
        return found

    def _parameters(self) -> Iterator[Tensor]:
        return (param for group in self.param_groups for param in group["params"])

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, which is kept as it is; options that it lacks are the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        listed = [given] if isinstance(given, Tensor) else list(given)
        names = [item[0] for item in listed if isinstance(item, tuple)]  # as `named_parameters` gives them
        if names and len(names) != len(listed):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["params"] = params = [item[1] for item in listed] if names else listed
        if names:
            param_group["param_names"] = names
        self._check_kind(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_place(params, "param_names" in param_group)
        self.param_groups.append(param_group)

    def _check_kind(self, params: list[Any]) -> None:
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    def _check_place(self, params: list[Tensor], named: bool) -> None:
        own = {id(param) for param in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        if any(("param_names" in group) != named for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if named else 'without'} names to the optimizer"
            )
        if not own.isdisjoint(map(id, self._parameters())):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the parameters' gradients."""
        with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            for param in self._parameters():
                if param.grad is not None:
                    param.grad = None if set_to_none else param.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient; ``closure`` computes the loss anew, which is returned."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Options and state, with parameters as numbers in the order of the groups."""
        for hook in self._hooks("state_dict_pre").values():
            hook(self)
        numbers: dict[int, int] = {}
        for i, param in enumerate(self._parameters()):
            numbers.setdefault(id(param), i)
        groups = []
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            groups.append({**options, "params": [numbers[id(param)] for param in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._hooks("state_dict_post").values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave; the groups must be of the same sizes, or ValueError is raised."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict() expects what state_dict() gave, got {type(state_dict).__name__}")
        given: Any = copy.copy(state_dict)
        for hook in self._hooks("load_state_dict_pre").values():
            changed = hook(self, given)
            given = given if changed is None else changed
        groups = copy.deepcopy(given["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = dict(zip((number for group in groups for number in group["params"]), self._parameters(), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in given["state"].items():
            if number in params:
                state[params[number]] = self._placed(params[number], value, number, given["param_groups"])
            else:
                state[number] = value  # not of a parameter: kept as it is
        for group, loaded in zip(self.param_groups, groups, strict=True):
            loaded["params"] = group["params"]
            if "param_names" in group:
                loaded.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._hooks("load_state_dict_post").values():
            hook(self)

    def _placed(self, param: Tensor, value: Any, number: Any, groups: list[Group], key: Any = None) -> Any:
        """Loaded state with its tensors where a parameter is; what holds tensors is made anew."""
        if isinstance(value, Tensor):
            return self._process_value_according_to_param_policy(param, value, number, groups, key)
        if isinstance(value, dict):
            return {name: self._placed(param, item, number, groups, name) for name, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return type(value)(self._placed(param, item, number, groups) for item in value)
        return value

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: Any, param_groups: list[Group], key: Hashable = None
    ) -> Tensor:
        """A tensor on the parameter's device and of its dtype; a count of steps stays, unless it is kept there, too."""
        moved: Tensor
        group: Group = next((group for group in param_groups if param_id in group["params"]), {})
        if key == "step":
            if not (group.get("capturable") or group.get("fused")):
                return value
            moved = value.to(device=param.device, dtype=dtypes["float32"])
        else:
            moved = value.to(device=param.device, dtype=param.dtype if param.is_floating_point() else None)
        return moved
