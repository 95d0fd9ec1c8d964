"""Numbers in nested sequences as tensors: their shape, the dtype that holds all of them, and the values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Tensor
from ._core import dtype as DType
from ._narrow_dtypes import is_narrow
from ._numbers import as_element
from ._ops import ops
from ._sequences import listed
from ._settings import warn_once

if TYPE_CHECKING:
    import numpy as np

__all__ = ["from_values"]


def from_values(data: Any, dtype: DType | None) -> Tensor:
    """A tensor of numbers in nested sequences, in memory of its own; of the dtype that holds all unless one is given.

    Raises ValueError for sequences of several lengths, TypeError and RuntimeError for what is no number, or no element.
    """
    import numpy as np

    shape: list[int] = []
    level = data
    while (items := _items(level)) is not None:
        if shape and isinstance(level, np.ndarray):
            warn_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                "list to a single numpy.ndarray with numpy.array() before converting to a tensor.",
                "lists of NumPy arrays",
            )
        shape.append(len(items))
        if len(shape) > _MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(level).__name__}'")
        if not items:
            break
        level = items[0]
    if shape and isinstance(level, str):  # whose items are text again
        raise ValueError("too many dimensions 'str'")
    values: list[Any] = []
    _collect(data, shape, dtype, values)
    target = dtype or _inferred(values)
    if not _NUMBERS.issuperset(map(type, values)):
        values = list(map(_number, values))
    if target is _core.dtypes["bfloat16"] or is_narrow(target):
        wide = from_values(data, _core.dtypes["complex64" if target.is_complex else "float32"])
        narrow: Tensor = ops.aten._to_copy(wide, dtype=target)
        return narrow
    if _is_integer(target):
        return _copied(np.array(_integers(values, target), dtype=target.name).reshape(shape), target)
    try:
        with np.errstate(over="ignore"):  # what is beyond a float is infinite
            array = np.array(values, dtype=target.name).reshape(shape)
    except OverflowError:
        raise RuntimeError(f"value cannot be converted to type {target} without overflow") from None
    return _copied(array, target)


_MOST_DIMENSIONS = 64


def _items(value: Any) -> Sequence[Any] | None:
    """The items of a sequence, None for what is none. Raises ValueError for one that has none by position."""
    if isinstance(value, (list, tuple)):
        return value
    try:
        return listed(value)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"could not determine the shape of object type '{type(value).__name__}'") from error


def _copied(array: np.ndarray[Any, Any], dtype: DType) -> Tensor:
    """A tensor with an array's values, in memory of its own: that can be resized."""
    import numpy as np

    result = _core.alloc(array.shape, dtype, "cpu")
    np.asarray(_core.as_memoryview(result))[...] = array
    return result


def _is_integer(dtype: DType) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype is not _core.dtypes["bool"]


def _integers(values: Sequence[Any], dtype: DType) -> Sequence[Any]:
    """The numbers as elements of an integer dtype. Raises RuntimeError where one does not fit, as a fill does."""
    is_wide = dtype is _core.dtypes["uint64"]
    for value in values:
        if isinstance(value, complex):
            raise TypeError(f"'complex' object cannot be interpreted as an integer: {value} for {dtype}")
        if not isinstance(value, int) or -_INT64 <= value < _INT64:
            continue
        if not is_wide or value >= 2 * _INT64:
            raise ValueError(f"Overflow when unpacking long long: {value} is outside the range of {dtype}")
    if is_wide and any(value < 0 for value in values if isinstance(value, int)):
        raise OverflowError("can't convert negative int to unsigned")
    elements = [as_element(value, dtype) for value in values]
    return elements if dtype.is_signed else [value % (1 << 8 * dtype.itemsize) for value in elements]


_INT64 = 1 << 63
_NUMBERS = frozenset((bool, int, float, complex))


def _collect(data: Any, shape: Sequence[int], dtype: DType | None, values: list[Any], depth: int = 0) -> None:
    """Appends the numbers in row-major order; all sequences of one depth must have one length."""
    items = listed(data)
    if depth == len(shape):
        if items is not None and any(item is data for item in items):
            raise TypeError("new(): self-referential lists are incompatible")
        if items is not None:
            raise TypeError(f"not a sequence of numbers: {type(data).__name__} found at dim {depth}")
        value = _number(data)
        if not isinstance(value, (int, float, complex)):
            raise _no_number(value, dtype)
        values.append(data)
        return
    if items is None:
        if dtype is None and not isinstance(_number(data), (int, float, complex)):
            raise _no_number(data, dtype)
        raise TypeError("not a sequence")
    if len(items) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(items)})")
    if depth + 1 == len(shape) and _NUMBERS.issuperset(map(type, items)):  # as nearly always
        values += items
        return
    for item in items:
        _collect(item, shape, dtype, values, depth + 1)


def _number(value: Any) -> Any:
    """What a tensor or a scalar of NumPy's holds; anything else as it is."""
    return value.item() if hasattr(value, "item") and not isinstance(value, type) else value


def _no_number(value: Any, dtype: DType | None) -> Exception:
    name = type(value).__name__
    if isinstance(value, (str, bytes)):
        return TypeError(f"new(): invalid data type '{name}'")
    if dtype is None:
        return RuntimeError(f"Could not infer dtype of {name}: expected a number, or nested sequences of numbers")
    return TypeError(f"new(): an element of {dtype} must be a number, not {name}")


def _inferred(values: Sequence[Any]) -> DType:
    """The dtype that holds all values: numbers, and tensors and scalars of NumPy's, which have dtypes."""
    if not values:
        return _core.get_default_dtype()
    first = dict(zip(map(_kind, values), values, strict=True))  # one value of each kind
    return functools.reduce(_core.promote_types, map(_dtype_of, first.values()))


def _kind(value: Any) -> Any:
    return type(value) if type(value) in _NUMBERS else getattr(value, "dtype", type(value))


def _dtype_of(value: Any) -> DType:
    if isinstance(value, Tensor):
        return value.dtype
    number = _number(value)
    if isinstance(number, int) and not isinstance(number, bool):  # which may be too much for it, as is told later
        number = 0
    return _core.dtypes.get(str(getattr(value, "dtype", ""))) or _core.common_dtype(number)
