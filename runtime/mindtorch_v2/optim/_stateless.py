"""An optimizer that for a while steps other parameters, from another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core import Tensor
from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state requires"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Within the block the optimizer has these parameters, in the order of its groups, and this state and options.

    The state is as `Optimizer.state_dict` gives it. Raises RuntimeError for what does not fit, or where the optimizer
    has no state yet.
    """
    state = _checked_state(optimizer, swapin_optim_state)
    groups = swapin_optim_state["param_groups"]
    numbers = [number for group in groups for number in group["params"]]
    given = list(swapin_parameters.values())
    if len(numbers) > len(given):
        raise RuntimeError(f"{_NAME} the explicit parameter state to match optimizer.param_groups ordering.")
    extra = [key for key in state if key not in set(numbers)]
    if extra:
        raise RuntimeError(
            f"{_NAME} swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    before, options = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        swapped: defaultdict[Any, Any] = defaultdict(dict)
        rest = iter(given)
        for live, group in zip(optimizer.param_groups, groups, strict=True):
            params = [next(rest) for _ in group["params"]]
            live.update({**group, "params": params})
            swapped.update(
                {param: dict(state.get(number, {})) for param, number in zip(params, group["params"], strict=True)}
            )
        optimizer.state = swapped
        yield
    finally:
        for live, group in zip(optimizer.param_groups, options, strict=True):
            live.clear()
            live.update(group)
        optimizer.state = before


def _checked_state(optimizer: Optimizer, given: Any) -> dict[Any, Any]:
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} initialized optimizer state.")
    if not isinstance(given, dict):
        raise RuntimeError(f"{_NAME} a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts, "
            f"got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME} optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{_NAME} per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for index, (live, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(index, live, group)
    return state


def _check_group(index: int, live: dict[str, Any], group: Any) -> None:
    if not isinstance(group, dict):
        raise RuntimeError(f"{_NAME} each optimizer param group to be a dictionary.")
    numbers = group.get("params")
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        raise RuntimeError(
            f"{_NAME} optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids."
        )
    if len(numbers) != len(live["params"]):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the live optimizer param "
            "group."
        )
    more, fewer = [key for key in group if key not in live], [key for key in live if key not in group]
    if more or fewer:
        raise RuntimeError(
            f"{_NAME} optimizer.state_dict()-style param group keys to exactly match the live optimizer group keys for "
            f"group {index}. Keys only in swap-in: {more}. Keys only in live: {fewer}."
        )
