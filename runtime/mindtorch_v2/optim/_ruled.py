"""Optimizers that are a rule: the state of each parameter begins as its table says, and a step runs its formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core, _creation
from .._core import Tensor, dtypes
from ..autograd import enable_grad, set_grad_enabled
from ._rules import Rule, check_fused, run
from .optimizer import Group, Optimizer

__all__ = ["Ruled", "number_dtype"]

# Options of how a step is computed, by their names in groups and in functions alike.
_WAYS = frozenset(("foreach", "fused", "capturable", "differentiable", "maximize"))


def number_dtype(fused: bool | None = None) -> Any:
    """The dtype of numbers that are remembered, such as the count of steps."""
    double = dtypes["float64"]
    return double if _core.get_default_dtype() is double and not fused else dtypes["float32"]


class Ruled(Optimizer):
    """The base of optimizers with a `Rule`, ``_rule``."""

    _rule: Rule

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._rule.later.items():
                group.setdefault(name, value)
            for param in group["params"]:
                known: dict[str, Any] = self.state.get(param) or {}
                for name in self._rule.numbers() if known else ():
                    if not isinstance(known[name], Tensor):  # older states hold the numbers themselves
                        known[name] = self._number(float(known[name]), param, group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient; ``closure`` computes the loss anew, which is returned."""
        loss = None
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: Group) -> None:
        params = [param for param in group["params"] if param.grad is not None]
        for param in params:
            self._check(group, param)
            self._begin(group, param)
        names = [state.name for state in self._rule.states]
        known = [self.state.get(param, {}) for param in params]
        states = {name: [of.get(name) for of in known] for name in names}
        ways = {name: value for name, value in group.items() if name in _WAYS}
        if group.get("fused"):
            ways |= {name: getattr(self, name, None) for name in ("grad_scale", "found_inf")}
        run(self._rule, params, [param.grad for param in params], states, self._options(group), **ways)
        for name, column in states.items():
            for param, value in zip(params, column, strict=True):
                if value is not None and self.state[param].get(name) is not value:
                    self.state[param][name] = value

    def _check(self, group: Group, param: Tensor) -> None:
        """Raises RuntimeError for a parameter, or options of it, that this optimizer cannot step."""
        if group.get("fused"):
            check_fused(param)

    def _options(self, group: Group) -> dict[str, Any]:
        """The options that a formula takes: those of the group, members of tuples by names of their own."""
        options: dict[str, Any] = {}
        for name, value in group.items():
            if name in self._rule.parts:
                options |= dict(zip(self._rule.parts[name], value, strict=True))
            elif name != "params" and name not in _WAYS:
                options[name] = value
        return options

    def _begin(self, group: Group, param: Tensor) -> None:
        """Fills what is remembered of a parameter that was not stepped yet."""
        states = [state for state in self._rule.states if state.when(param, group)]
        if not states or self.state[param]:
            return
        for state in states:
            value = state.start(param, group)
            self.state[param][state.name] = self._number(value, param, group) if state.number else value

    def _number(self, value: Any, param: Tensor, group: Group) -> Tensor:
        near = self._rule.numbers_on_device or group.get("capturable") or group.get("fused")
        number = value.item() if isinstance(value, Tensor) else value
        device = param.device if near else "cpu"
        return _creation.tensor(number, dtype=number_dtype(group.get("fused")), device=device)
