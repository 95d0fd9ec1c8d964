"""Samples as a batch: tensors are stacked, numbers become tensors, containers keep their form."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ..._core import Tensor, dtypes
from ..._creation import as_tensor, tensor
from ..._ops import ops
from ..._shared_memory import empty_shared
from ._worker import get_worker_info

__all__ = ["converted", "default_collate", "default_convert", "pinned"]

_REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
_NO_NUMBERS = frozenset("SaUO")  # NumPy's kinds of strings and objects


def converted(data: Any, leaf: Callable[[Any], Any], tuples_as_lists: bool) -> Any:
    """A container of the same form with ``leaf`` of everything in it that is no container."""
    if isinstance(data, (str, bytes, Tensor)):
        return leaf(data)
    if isinstance(data, Mapping):
        return _mapping(data, {key: converted(value, leaf, tuples_as_lists) for key, value in data.items()})
    if not isinstance(data, Sequence):
        return leaf(data)
    values = [converted(value, leaf, tuples_as_lists) for value in data]
    if isinstance(data, tuple):
        if hasattr(data, "_fields"):
            return type(data)(*values)
        return values if tuples_as_lists else type(data)(values)
    return _sequence(data, values)


def _mapping(like: Any, values: dict[Any, Any]) -> Any:
    """A mapping of a class, a copy with other values where it can be changed; a dict where neither works."""
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(values)
        made = copy.copy(like)
        made.update(values)
        return made
    except TypeError:
        return values


def _sequence(like: Any, values: list[Any]) -> Any:
    """As `_mapping`, for sequences."""
    try:
        if not isinstance(like, MutableSequence):
            return type(like)(values)
        made = copy.copy(like)
        for at, value in enumerate(values):
            made[at] = value
        return made
    except TypeError:
        return values


def _of_numpy(value: Any) -> bool:
    """Whether a value is NumPy's, without an import of it."""
    return type(value).__module__ == "numpy" and not isinstance(value, (str, bytes))


def _numbers(array: Any) -> bool:
    return not _NO_NUMBERS & set(array.dtype.str)


def default_convert(data: Any) -> Any:
    """Arrays and NumPy's numbers as tensors, in containers of the same form; tuples become lists."""

    def leaf(value: Any) -> Any:
        if not _of_numpy(value) or (hasattr(value, "dtype") and not _numbers(value)):
            return value
        return as_tensor(value)

    return converted(data, leaf, tuples_as_lists=True)


def pinned(data: Any) -> Any:
    """The same with tensors, and what has ``pin_memory()``, in pinned memory."""

    def leaf(value: Any) -> Any:
        return value.pin_memory() if hasattr(value, "pin_memory") else value

    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    return converted(data, leaf, tuples_as_lists=False)


def _stacked(batch: Any) -> Tensor:
    """Tensors in a new first dimension: in a worker in shared memory, where it is sent from without a copy."""
    first = batch[0]
    out = None
    alike = all(each.shape == first.shape and each.dtype == first.dtype for each in batch)
    grows = any(each.requires_grad for each in batch)
    if get_worker_info() is not None and first.device.type == "cpu" and alike and not grows:
        out = empty_shared((len(batch), *first.shape), first.dtype)
    stacked: Tensor = ops.aten.stack(batch, 0) if out is None else ops.aten.stack(batch, 0, out=out)
    return stacked


def default_collate(batch: Any) -> Any:
    """A list of samples as one: tensors stacked, arrays and numbers as tensors, in containers of the samples' form.

    Strings stay a list; tuples become lists. Raises TypeError for what it does not know, RuntimeError for sequences of
    different lengths.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _stacked(batch)
    if _of_numpy(first):
        if type(first).__name__ != "ndarray":  # numbers
            return as_tensor(batch)
        if not _numbers(first):
            raise TypeError(_REFUSED.format(first.dtype))
        return _stacked([as_tensor(each) for each in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=dtypes["float64"])
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapping(first, {key: default_collate([each[key] for each in batch]) for key in first})
    if not isinstance(first, Sequence):
        raise TypeError(_REFUSED.format(type(first)))
    named = isinstance(first, tuple) and hasattr(first, "_fields")
    if not named and any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(column) for column in zip(*batch, strict=False)]
    if isinstance(first, tuple):
        return type(first)(*columns) if named else columns
    return _sequence(first, columns)
