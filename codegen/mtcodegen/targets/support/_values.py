"""What each step of a definition is in a plan: a Python expression, or a function of the runtime."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ._callees import resolved
from ._launcher import pack
from ._runtime import Runtime

__all__ = ["EXPRESSIONS", "FUNCTIONS"]

# By step, with a place for each operand.
EXPRESSIONS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "floordiv": "{} // {}", "mod": "{} % {}",
    "neg": "-{}", "ceildiv": "-(-{} // {})", "to_float": "{} * 1.0", "float": "{} * 1.0",
    "eq": "{} == {}", "lt": "{} < {}", "le": "{} <= {}", "not": "not {}",
    "is_none": "{} is None", "contains": "{1} in {0}", "at": "{}[{}]",
    "shape_of": "{}.shape", "dtype": "{}.dtype", "device": "{}.device", "same_shape": "{}.shape == {}.shape",
    "transposed": "{}.T", "matrix_transposed": "{}.mT",
    "contiguous": "{}.contiguous()", "is_contiguous": "{}.is_contiguous()", "storage_offset": "{}.storage_offset()",
    "stride": "tuple({}.stride())", "stride_at": "{}.stride()[{}]", "ndim": "len({}.shape)",
    "length": "len({})", "items": "len({})", "concat": "(*{}, *{})", "joined": "[*{}, *{}]", "slice": "{}[{}:{}]",
    "same_sizes": "tuple({}) == tuple({})",
}  # fmt: skip
for _step in ("add", "sub", "mul", "div", "neg", "eq", "lt", "le"):
    EXPRESSIONS[f"f{_step}"] = EXPRESSIONS[_step]


# ---------------------------------------------------------------- functions
def _size(tensor: Any, at: int) -> Any:
    return _size_at(tensor.shape, at)


def _size_at(shape: Sequence[int], at: int) -> Any:
    if not -len(shape) <= at < len(shape):
        raise IndexError(f"a dimension from {-len(shape)} to {len(shape) - 1} was expected, got {at}")
    return shape[at]


def _numel(tensor: Any) -> Any:
    return math.prod(tensor.shape)


def _dims(dims: Any, rank: int) -> set[int]:
    """Dimensions in a list, or one, counted from 0; of None and of an empty list all of them."""
    given = [dims] if isinstance(dims, int) else dims or range(rank)
    return {at % rank for at in given} if rank else set()


def _dim_bits(dims: Any, rank: int) -> int:
    return sum(1 << at for at in _dims(dims, rank))


def _reduced(shape: Sequence[int], dims: Any, keepdim: Any) -> tuple[int, ...]:
    gone = _dims(dims, len(shape))
    return tuple(1 if at in gone else size for at, size in enumerate(shape) if keepdim or at not in gone)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return tuple(a) == tuple(b)
    return bool(a == b)


def _given(*values: Any) -> Any:
    return values


def _list(*values: Any) -> list[Any]:
    return [*values]


def _with_keywords(what: tuple[Callable[..., Any], tuple[str, ...]]) -> Callable[..., Any]:
    """A function whose last values are passed by their names."""
    function, names = what
    if not names:
        return function
    return lambda *values: function(*values[: -len(names)], **dict(zip(names, values[-len(names) :], strict=True)))


def _empty(of: Runtime, what: Any) -> Callable[..., Any]:
    return lambda shape, dtype, place: of.empty(shape, dtype, getattr(place, "device", place))


def _broadcast_like(of: Runtime, what: Any) -> Callable[..., Any]:
    return lambda a, b: of.empty(of.broadcast_shapes(a.shape, b.shape), of.result_type(a, b), a.device)


# By step: from the runtime and the symbol's `what` to a function of the operands' values.
FUNCTIONS: dict[str, Callable[[Runtime, Any], Callable[..., Any]]] = {
    # of tensors
    "numel": lambda of, what: _numel,
    "size": lambda of, what: _size,
    "on_device": lambda of, what: lambda t: of.device_type(t.device) == what,
    "requires_grad": lambda of, what: of.requires_grad,
    "result_type": lambda of, what: of.result_type,
    "item": lambda of, what: operator.itemgetter(what),
    # of shapes
    "shape": lambda of, what: _given,
    "size_at": lambda of, what: _size_at,
    "count": lambda of, what: math.prod,
    "broadcast": lambda of, what: of.broadcast_shapes,
    "reduced": lambda of, what: _reduced,
    "dim_bits": lambda of, what: _dim_bits,
    # of dtypes, devices and other values
    "is_floating": lambda of, what: of.is_floating,
    "is_complex": lambda of, what: of.is_complex,
    "is_signed": lambda of, what: of.is_signed,
    "itemsize": lambda of, what: of.itemsize,
    "dtype_in": lambda of, what: lambda dtype: dtype in what,
    "default_dtype": lambda of, what: of.default_dtype,
    "promote": lambda of, what: of.promote_types,
    "can_cast": lambda of, what: of.can_cast,
    "device_type": lambda of, what: of.device_type,
    "device_index": lambda of, what: of.device_index,
    "equal": lambda of, what: _equal,
    # of numbers
    "min": lambda of, what: of.least,
    "max": lambda of, what: of.greatest,
    "fmin": lambda of, what: of.least,
    "fmax": lambda of, what: of.greatest,
    # what is made
    "like": lambda of, what: lambda t: of.empty(t.shape, t.dtype, t.device),
    "like_as": lambda of, what: lambda t, dtype: of.empty(t.shape, dtype, t.device),
    "empty": _empty,
    "broadcast_like": _broadcast_like,
    "list": lambda of, what: _list,
    "tuple": lambda of, what: _given,
    "slice_of": lambda of, what: slice,
    "struct": lambda of, what: pack(of, what),
    "upload": lambda of, what: of.upload,
    "stream": lambda of, what: of.stream,
    # what is called
    "python": lambda of, what: _with_keywords(what),
    "call": lambda of, what: _with_keywords((resolved(what[0]), what[1])),
}
