"""What optimisers share: groups of parameters, state, saving and loading."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._core import Tensor
from ..autograd import enable_grad, no_grad

__all__ = ["Group", "Optimizer", "refuse_ways"]

Group = dict[str, Any]


def refuse_ways(foreach: Any, differentiable: Any, fused: Any, capturable: Any = False) -> None:
    """Judges the options of how a step is computed, not of what it gives: there is one way, and it stands for them all.

    Raises RuntimeError for options that exclude each other, NotImplementedError for a step that is differentiated
    through or captured.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if differentiable:
        raise NotImplementedError("differentiable=True: a step's results have no gradient; leave it at False")
    if capturable:
        raise NotImplementedError("capturable=True: steps are not captured into graphs; leave it at False")


class Optimizer:
    """The base class of optimisers; a subclass says in `_update` what one step does to one group.

    ``params`` are tensors, or dicts with ``params`` and options of their own; ``defaults`` the options of the others.
    """

    def __init__(self, params: Iterable[Any], defaults: Group) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}"
            )
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters; options that it lacks are the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        listed = [given] if isinstance(given, Tensor) else list(given)
        named = [item for item in listed if isinstance(item, tuple)]  # as `named_parameters` gives them
        if named and len(named) != len(listed):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        params = [item[1] for item in named] if named else listed
        self._check_params(params)
        names = {"param_names": [item[0] for item in named]} if named else {}
        if any(("param_names" in group) != bool(named) for group in self.param_groups):
            raise ValueError("all optimizer param groups should be with/without names")
        self.param_groups.append({**self.defaults, **param_group, "params": params, **names})

    def _check_params(self, params: list[Any]) -> None:
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(param) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        if len({id(param) for param in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=4,
            )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the parameters' gradients."""
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.grad = None if set_to_none else param.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient; ``closure`` computes the loss anew, which is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._update(group, param, param.grad, self.state[param])
        return loss

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        """Changes one parameter in place, by its gradient and what `state` remembers of it."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Options and state, with parameters as numbers in the order of the groups."""
        numbers = self._numbers()
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[id(p)]: dict(state) for p, state in self.state.items()}, "param_groups": groups}

    def _numbers(self) -> dict[int, int]:
        params = [param for group in self.param_groups for param in group["params"]]
        return {id(param): i for i, param in enumerate(params)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over what `state_dict` gave; the groups must be of the same sizes."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict() expects what state_dict() gave, got {type(state_dict).__name__}")
        groups = copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = [param for group in self.param_groups for param in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        by_number = dict(zip(numbers, params, strict=True))
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            param = by_number[number]
            self.state[param] = {name: _like_parameter(name, value, param) for name, value in state.items()}
        for group, loaded in zip(self.param_groups, groups, strict=True):
            group.update({**loaded, "params": group["params"]})

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _like_parameter(name: str, value: Any, param: Tensor) -> Any:
    """State on the parameter's device and of its dtype; the step count stays as it is."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if name == "step":
        return value.clone()
    result: Tensor = value.to(device=param.device, dtype=param.dtype if param.is_floating_point() else None, copy=True)
    return result
