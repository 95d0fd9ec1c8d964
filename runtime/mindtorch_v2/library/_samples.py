"""Sample arguments of an operator: the tensors in them, and the same arguments with other tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["map_tensors", "tensors_in", "without_data"]


def tensors_in(value: Any) -> list[Tensor]:
    return list(_walk(value))


def _walk(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        yield from _walk(list(value.values()))


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {name: map_tensors(item, change) for name, item in value.items()}
    return value


def without_data(tensor: Tensor) -> Tensor:
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True)) if tensor.numel() else -1
    memory = _core.alloc((tensor.storage_offset() + last + 1,), tensor.dtype, "meta")
    return _core.as_strided(memory, tensor.shape, tensor.stride(), tensor.storage_offset())
