"""What the steps of expressions give: functions of the runtime, of what each is the step of, and of its operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ._runtime import Runtime

__all__ = ["STEPS"]


def _size(of: Runtime, what: Any, tensor: Any, at: int) -> Any:
    return _size_at(of, what, tensor.shape, at)


def _size_at(of: Runtime, what: Any, shape: Sequence[int], at: int) -> Any:
    if not -len(shape) <= at < len(shape):
        raise IndexError(f"a dimension from {-len(shape)} to {len(shape) - 1} was expected, got {at}")
    return shape[at]


def _reduced(of: Runtime, what: Any, shape: Sequence[int], dims: Any, keepdim: bool) -> tuple[int, ...]:
    gone = {at % len(shape) for at in dims or range(len(shape))} if shape else set()
    return tuple(1 if at in gone else size for at, size in enumerate(shape) if keepdim or at not in gone)


def _broadcast_like(of: Runtime, what: Any, a: Any, b: Any) -> Any:
    return of.empty(of.broadcast_shapes(a.shape, b.shape), of.result_type(a, b), a.device)


def _device(of: Runtime, place: Any) -> Any:
    """That of a tensor, or a device itself."""
    return getattr(place, "device", place)


def _equal(of: Runtime, what: Any, a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return tuple(a) == tuple(b)
    return bool(a == b)


STEPS: dict[str, Callable[..., Any]] = {
    # of tensors
    "shape_of": lambda of, what, t: tuple(t.shape),
    "dtype": lambda of, what, t: t.dtype,
    "device": lambda of, what, t: t.device,
    "ndim": lambda of, what, t: len(t.shape),
    "numel": lambda of, what, t: math.prod(t.shape),
    "size": _size,
    "stride": lambda of, what, t: tuple(t.stride()),
    "storage_offset": lambda of, what, t: t.storage_offset(),
    "on_device": lambda of, what, t: of.device_type(t.device) == what,
    "requires_grad": lambda of, what, t: of.requires_grad(t),
    "contiguous": lambda of, what, t: t.contiguous(),
    "is_contiguous": lambda of, what, t: t.is_contiguous(),
    "same_shape": lambda of, what, a, b: tuple(a.shape) == tuple(b.shape),
    "result_type": lambda of, what, *values: of.result_type(*values),
    # of shapes
    "shape": lambda of, what, *sizes: sizes,
    "size_at": _size_at,
    "slice": lambda of, what, shape, start, stop: shape[start:stop],
    "concat": lambda of, what, a, b: (*a, *b),
    "count": lambda of, what, shape: math.prod(shape),
    "length": lambda of, what, values: len(values),
    "same_sizes": lambda of, what, a, b: tuple(a) == tuple(b),
    "broadcast": lambda of, what, a, b: tuple(of.broadcast_shapes(a, b)),
    "reduced": _reduced,
    # of dtypes and other values
    "is_floating": lambda of, what, dtype: of.is_floating(dtype),
    "is_complex": lambda of, what, dtype: of.is_complex(dtype),
    "is_signed": lambda of, what, dtype: of.is_signed(dtype),
    "itemsize": lambda of, what, dtype: of.itemsize(dtype),
    "device_type": lambda of, what, device: of.device_type(device),
    "device_index": lambda of, what, device: of.device_index(device),
    "dtype_in": lambda of, what, dtype: dtype in what,
    "promote": lambda of, what, a, b: of.promote_types(a, b),
    "can_cast": lambda of, what, a, b: of.can_cast(a, b),
    "equal": _equal,
    "at": lambda of, what, values, at: values[at],
    "contains": lambda of, what, values, value: value in values,
    "not": lambda of, what, a: not a,
    # of numbers, beside the arithmetic
    "ceildiv": lambda of, what, a, b: -(-a // b),
    "to_float": lambda of, what, a: a * 1.0,
    "float": lambda of, what, a: a * 1.0,
    "min": lambda of, what, a, b: of.least(a, b),
    "max": lambda of, what, a, b: of.greatest(a, b),
    # what is made
    "like": lambda of, what, t: of.empty(t.shape, t.dtype, t.device),
    "like_as": lambda of, what, t, dtype: of.empty(t.shape, dtype, t.device),
    "empty": lambda of, what, shape, dtype, place: of.empty(shape, dtype, _device(of, place)),
    "broadcast_like": _broadcast_like,
    "item": lambda of, what, values: values[what],
    "python": lambda of, what, *values: what[0](*values),
}
