"""Python numbers as elements of a dtype: what fits, and what becomes of it. The one place where this is decided."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import Tensor
from ._core import dtype as DType

__all__ = ["PYTHON_TYPES", "as_element", "check_factor", "is_beyond", "refuse_too_big", "to_word", "wrapped"]

# The Python types that stand for dtypes.
PYTHON_TYPES: dict[Any, DType] = {
    bool: _core.dtypes["bool"],
    int: _core.dtypes["int64"],
    float: _core.dtypes["float64"],
    complex: _core.dtypes["complex128"],
}

_LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
}
_INFINITE = {name for name in _LARGEST if name != "float8_e4m3fn" and not name.endswith("fnuz")}
_C_NAMES = {  # what PyTorch calls dtypes in this error; the others it calls by their name and `_t`
    "int32": "int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "c10::Float8_e4m3fn",
    "float8_e5m2": "c10::Float8_e5m2",
    "float8_e4m3fnuz": "c10::Float8_e4m3fnuz",
    "float8_e5m2fnuz": "c10::Float8_e5m2fnuz",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
_WORD = 1 << 64
_FLOAT32 = _core.dtypes["float32"]
_INT64 = _core.dtypes["int64"]
_BOOL = _core.dtypes["bool"]


def as_element(value: Any, dtype: DType) -> Any:
    """``value`` as a tensor of ``dtype`` holds it: a truth value, an integer without fraction, a float, a complex.

    Raises RuntimeError where ``dtype`` cannot hold it, OverflowError for an integer beyond 64 bits. A negative number
    integer fits an unsigned type that holds its magnitude: it wraps.
    """
    kind = type(value)
    if kind is float and dtype.is_floating_point and -240 <= value <= 240:  # which every such dtype holds
        return value
    if kind is int and dtype is _INT64 and -_WORD >> 1 <= value < _WORD >> 1:
        return value
    if isinstance(value, int):
        refuse_too_big(value)
    if dtype.is_complex:
        part = dtype.to_real()
        return complex(_as_float(value.real, part, dtype), _as_float(value.imag, part, dtype))
    if dtype is _BOOL:
        return bool(value)
    if isinstance(value, complex):
        if value.imag != 0:
            raise _does_not_fit(value, dtype)
        value = value.real
    return _as_float(value, dtype, dtype) if dtype.is_floating_point else _as_integer(value, dtype)


def check_factor(value: Any, beside: Tensor) -> None:
    """Raises RuntimeError for a factor that a kernel cannot compute with: in float32 for half precision."""
    if not beside.is_meta:
        as_element(value, _FLOAT32 if beside.dtype.itemsize < 4 else beside.dtype)


def wrapped(value: Any, dtype: DType) -> Any:
    """A number as arithmetic in ``dtype`` takes it: an integer wraps to the range of an integer dtype."""
    if isinstance(value, int):
        refuse_too_big(value)
    if dtype is _BOOL or dtype.is_floating_point or dtype.is_complex:
        return value
    count = 1 << 8 * dtype.itemsize
    low = value % count
    return low - count if dtype.is_signed and low >= count >> 1 else low


def to_word(value: int) -> int:
    """An integer of 64 bits, signed or not, as the signed one of the same bits."""
    return value - _WORD if value >= _WORD >> 1 else value


def refuse_too_big(value: int) -> None:
    """Raises OverflowError for an integer beyond 64 bits."""
    if not -_WORD >> 1 <= value < _WORD:
        raise OverflowError(f"int too big to convert: {value} is in the range of neither int64 nor uint64")


def _as_float(value: Any, dtype: DType, named: DType) -> float:
    number = float(value)
    if is_beyond(number, dtype):
        raise _does_not_fit(value, named)
    return number


def is_beyond(number: float, dtype: DType) -> bool:
    """Whether a finite number is larger than those of a floating-point dtype."""
    return abs(number) > _LARGEST[dtype.name] and not (math.isinf(number) and dtype.name in _INFINITE)


def _as_integer(value: Any, dtype: DType) -> int:
    if isinstance(value, float) and (not math.isfinite(value) or (value < 0 and not dtype.is_signed)):
        raise _does_not_fit(value, dtype)
    whole, count = int(value), 1 << 8 * dtype.itemsize
    fits = -count >> 1 <= whole < count >> 1 if dtype.is_signed else -count < whole < count
    if not fits:
        raise _does_not_fit(value, dtype)
    return whole


def _does_not_fit(value: Any, dtype: DType) -> RuntimeError:
    name = _C_NAMES.get(dtype.name, f"{dtype.name}_t")
    return RuntimeError(f"value cannot be converted to type {name} without overflow: {value}")
