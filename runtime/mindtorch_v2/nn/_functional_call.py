"""A module as a function of its parameters and buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from ._named_members import NamedMemberAccessor
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
    """Calls ``module`` with the given tensors in place of the parameters and buffers, or attributes, of these names.

    A parameter that has several names is replaced under all of them, with ``tie_weights``: several values for it are a
    ValueError. With ``strict`` a name without a tensor, or a tensor without a name, is a RuntimeError. The module is
    left as it was; what it made of a name itself, as ``self.mean = ...`` in its forward, is afterwards in the dict.
    """
    parameters = _one_dict(parameter_and_buffer_dicts)
    given = _tied(module, parameters) if tie_weights else parameters
    accessor = NamedMemberAccessor(module)
    if strict:
        _require_names(module, accessor, given)
    before: dict[str, Any] = {}
    try:
        before, _ = accessor.swap_tensors_dict(given, allow_missing=True)
        positional = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*positional, **(kwargs or {}))
    finally:
        # The last first: a module that stands in two places was given its tensors twice.
        after, _ = accessor.swap_tensors_dict(dict(reversed(before.items())), allow_missing=True)
        parameters.update({name: after[name] for name in parameters if name in after})


def _one_dict(given: Any) -> dict[str, Any]:
    """The tensors by their names: the dict that is given, or a new one of what is in several."""
    if isinstance(given, dict):
        return given
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    if not all(isinstance(part, Mapping) for part in given):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    found: dict[str, Any] = {}
    for part in given:
        repeated = sorted(found.keys() & part.keys())
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        found.update(part)
    return found


def _require_names(module: Module, accessor: NamedMemberAccessor, given: Mapping[str, Any]) -> None:
    missing, unexpected = accessor.check_keys(given)
    faults = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] if unexpected else []
    faults += [f"Missing key(s): {', '.join(map(repr, missing))}."] if missing else []
    if faults:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(faults))


def _tied(module: Module, given: dict[str, Any]) -> dict[str, Any]:
    """The tensors given, under every name of the parameter or buffer that they replace."""
    names: dict[int, list[str]] = {}
    for name, value in (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ):
        names.setdefault(id(value), []).append(name)
    found = dict(given)
    for tied in names.values():
        values = [given[name] for name in tied if name in given]
        if len(tied) > 1 and values:
            if any(value is not values[0] for value in values):
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                    "tie_weights=False"
                )
            found.update(dict.fromkeys(tied, values[0]))
    return found
