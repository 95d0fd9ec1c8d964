"""A module as a function of its parameters and buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from .module import Module

__all__ = ["functional_call"]


@names_wrong_types
def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls ``module`` with the given tensors in place of the parameters and buffers of these names.

    A parameter that has several names is replaced under all of them, with ``tie_weights``. With ``strict`` a name
    without a tensor, or a tensor without a name, is a RuntimeError. The module is left as it was.
    """
    given: dict[str, Tensor] = {}
    for part in _dicts(parameter_and_buffer_dicts):
        repeated = sorted(given.keys() & part.keys())
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given.update(part)
    places = _places(module)
    _require_names(module, given, places, strict)
    if tie_weights:
        given = _tied(given, places)
    before = {name: places[name][0][places[name][1]] for name in given if name in places}
    try:
        for name in before:
            registry, key = places[name]
            registry[key] = given[name]
        positional = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*positional, **(kwargs or {}))
    finally:
        for name, value in before.items():
            registry, key = places[name]
            registry[key] = value


def _dicts(given: Any) -> Sequence[Mapping[str, Tensor]]:
    if isinstance(given, Mapping):
        return [given]
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    if not all(isinstance(part, Mapping) for part in given):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    return given


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """By name, every one that there is: the dict that holds a parameter or buffer, and its key there."""
    places: dict[str, tuple[dict[str, Any], str]] = {}

    def visit(at: Module, prefix: str) -> None:
        for registry in (at._parameters, at._buffers):
            for key, value in registry.items():
                if value is not None:
                    places[prefix + key] = registry, key
        for name, child in at._modules.items():
            if child is not None:
                visit(child, f"{prefix}{name}.")

    visit(module, "")
    return places


def _require_names(module: Module, given: Mapping[str, Tensor], places: Mapping[str, Any], strict: bool) -> None:
    if not strict:
        return
    unexpected = sorted(given.keys() - places.keys())
    missing = sorted(places.keys() - given.keys())
    faults = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] if unexpected else []
    faults += [f"Missing key(s): {', '.join(map(repr, missing))}."] if missing else []
    if faults:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(faults))


def _tied(given: dict[str, Tensor], places: Mapping[str, tuple[dict[str, Any], str]]) -> dict[str, Tensor]:
    """The tensors given, under every name of the parameter that they replace."""
    by_value = {id(places[name][0][places[name][1]]): tensor for name, tensor in given.items() if name in places}
    others = {
        name: by_value[id(registry[key])]
        for name, (registry, key) in places.items()
        if name not in given and id(registry[key]) in by_value
    }
    return {**given, **others}
