"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._core import Tensor
from ..._ops import ops

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters one after the other, in one vector. Raises TypeError for parameters on several devices."""
    found: Tensor = ops.aten.cat([each.view(-1) for each in _on_one_device(parameters)])
    return found


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes each parameter show its part of a vector, in the order of `parameters_to_vector`.

    Raises TypeError for what is no tensor, and for parameters on several devices.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__}.{type(vec).__qualname__}")
    at = 0
    for each in _on_one_device(parameters):
        count = each.numel()
        each.data = vec[at : at + count].view_as(each).data
        at += count


def _on_one_device(parameters: Iterable[Any]) -> Iterable[Any]:
    first = None
    for each in parameters:
        if first is None:
            first = each.device
        if each.device != first:
            raise TypeError(
                f"Found two parameters on different devices ({first} and {each.device}), this is currently not "
                "supported."
            )
        yield each
