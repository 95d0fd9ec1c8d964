"""Python functions for the steps of definitions that the core has no step for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ... import _core
from ..._functional import can_cast
from ...backends._streams import current_stream

__all__ = ["FUNCTIONS", "OF_NUMBERS", "OF_VALUES"]


def _struct(layout: tuple[tuple[str, str], ...]) -> Callable[..., Any]:
    from ...npu.structs import Struct  # imported here: most programs define no kernel with a struct

    return Struct(tuple((name, _core.c_types[ctype]) for name, ctype in layout))


def _upload(what: Any) -> Callable[..., Any]:
    from ...npu.structs import upload

    return upload


def _joined(first: Any, second: Any) -> list[Any]:
    return [*first, *second]


def _list(*values: Any) -> list[Any]:
    return list(values)


def _stride(tensor: Any) -> Any:
    return tensor.stride()


def _stride_at(tensor: Any, dim: int) -> Any:
    return tensor.stride(dim)


def _storage_offset(tensor: Any) -> Any:
    return tensor.storage_offset()


def _always(function: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    return lambda what: function


# By step: from the symbol's `what` to a function of the operands' values.
FUNCTIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    **{name: _always(operator.attrgetter(name)) for name in ("itemsize", "requires_grad")},
    "device_type": _always(operator.attrgetter("type")),
    "device_index": _always(operator.attrgetter("index")),
    "transposed": _always(operator.attrgetter("T")),
    "matrix_transposed": _always(operator.attrgetter("mT")),
    "stride": _always(_stride),
    "stride_at": _always(_stride_at),
    "storage_offset": _always(_storage_offset),
    "contains": _always(operator.contains),
    "at": _always(operator.getitem),
    "items": _always(len),
    "joined": _always(_joined),
    "list": _always(_list),
    "tensor_floordiv": _always(operator.floordiv),
    "tensor_mod": _always(operator.mod),
    "default_dtype": _always(_core.get_default_dtype),
    "struct": _struct,
    "upload": _upload,
    "stream": _always(current_stream),
}
# Steps that forward-mode rules, which are functions of values, may call directly.
OF_VALUES: dict[str, Callable[..., Any]] = {
    "promote": _core.promote_types,
    "result_type": _core.result_type,
    "can_cast": can_cast,
}
# Arithmetic of Scalars, whose type is known only in the call.
OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "floordiv": operator.floordiv, "mod": operator.mod, "ceildiv": lambda a, b: -(-a // b), "min": min, "max": max,
}  # fmt: skip
