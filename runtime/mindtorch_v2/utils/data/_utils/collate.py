"""Samples as a batch: tensors are stacked, numbers become tensors, containers keep their form."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ...._core import Tensor, dtypes
from ...._creation import as_tensor, tensor
from ...._ops import ops
from ...._shared_memory import empty_shared
from . import worker

__all__ = [
    "collate",
    "collate_float_fn",
    "collate_int_fn",
    "collate_numpy_array_fn",
    "collate_numpy_scalar_fn",
    "collate_str_fn",
    "collate_tensor_fn",
    "converted",
    "default_collate",
    "default_collate_fn_map",
    "default_convert",
]

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


Table = Mapping[Any, Callable[..., Any]]  # what makes a batch of samples, by their class


def collate_tensor_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Tensors in a new first dimension: in a worker in shared memory, where it is sent from without a copy."""
    first = batch[0]
    out = None
    alike = all(each.shape == first.shape and each.dtype == first.dtype for each in batch)
    grows = any(each.requires_grad for each in batch)
    if worker._worker_info is not None and first.device.type == "cpu" and alike and not grows:
        out = empty_shared((len(batch), *first.shape), first.dtype)
    stacked: Tensor = ops.aten.stack(batch, 0) if out is None else ops.aten.stack(batch, 0, out=out)
    return stacked


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Arrays as tensors, stacked. Raises TypeError for strings and objects."""
    if not _numbers(batch[0]):
        raise TypeError(_REFUSED.format(batch[0].dtype))
    return collate_tensor_fn([as_tensor(each) for each in batch])


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """NumPy's numbers as a tensor."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Floats as a tensor of float64."""
    return tensor(batch, dtype=dtypes["float64"])


def collate_int_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Tensor:
    """Integers, and truths, as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Table | None = None) -> Any:
    """Strings as they are."""
    return batch


# A program may add classes of its own. NumPy's are not in it, so that it need not be imported.
default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _function_for(sample: Any, table: Table) -> Callable[..., Any] | None:
    """What the table says of a sample: of its class, or of the first that it is an instance of."""
    if type(sample) in table:
        return table[type(sample)]
    if table is default_collate_fn_map and _of_numpy(sample):
        return collate_numpy_array_fn if type(sample).__name__ == "ndarray" else collate_numpy_scalar_fn
    return next((function for known, function in table.items() if isinstance(sample, known)), None)


def collate(batch: Any, *, collate_fn_map: Table | None = None) -> Any:
    """A list of samples as one, by a table of functions for classes; containers keep the samples' form.

    A function is called with the list and ``collate_fn_map``. Tuples become lists. Raises TypeError for what is neither
    in the table nor a container, RuntimeError for sequences of different lengths.
    """
    first = batch[0]
    function = _function_for(first, collate_fn_map) if collate_fn_map else None
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        columns = {key: collate([each[key] for each in batch], collate_fn_map=collate_fn_map) for key in first}
        return _mapping(first, columns)
    if not isinstance(first, Sequence):
        raise TypeError(_REFUSED.format(type(first)))
    named = isinstance(first, tuple) and hasattr(first, "_fields")
    if not named and any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)]
    if isinstance(first, tuple):
        return type(first)(*parts) if named else parts
    return _sequence(first, parts)


def default_collate(batch: Any) -> Any:
    """A list of samples as one: tensors stacked, arrays and numbers as tensors, in containers of the samples' form.

    Strings stay a list; tuples become lists. Raises TypeError for what it does not know, RuntimeError for sequences of
    different lengths. ``default_collate_fn_map`` says what is made of which class.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
