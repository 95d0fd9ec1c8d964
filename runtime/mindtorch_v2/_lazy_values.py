"""Calls with tensors that are not what their memory is: the conjugates of it, its negatives, or zeros.

The core comes here below autograd, with a call of an operator that reads or writes values. It is made with what the
tensors stand for, and what it writes is put back as it is kept.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import OpOverload, Tensor
from ._ops import ops
from ._stand_ins import call_with_stand_ins

__all__ = ["call_with_values", "kept_as", "kept_like", "values_of"]

_KEYS = {"conj": "Conjugate", "neg": "Negative"}  # by PyTorch's names in checkpoints


def kept_as(tensor: Tensor) -> dict[str, bool]:
    """How a tensor differs from its memory, ``{"conj": True}``, as checkpoints say it."""
    return {name: True for name, key in _KEYS.items() if _core.is_kept(tensor, key)} if _core.is_lazy(tensor) else {}


def kept_like(memory: Tensor, how: dict[str, bool] | None) -> Tensor:
    """A tensor over the same memory that differs from it as `kept_as` said."""
    for name, key in _KEYS.items():
        if how and how.get(name):
            memory = _core.kept_otherwise(memory, key)
    return memory


def values_of(tensor: Tensor) -> Tensor:
    """What a tensor stands for, in memory of its own; one that is what its memory is, itself."""
    if not _core.is_lazy(tensor):
        return tensor
    aten, memory = ops.aten, _core.memory_of_lazy(tensor)
    if _core.is_kept(tensor, "ZeroTensor"):
        return _zeros(tensor, memory)
    found: Tensor = aten.conj_physical(memory) if _core.is_kept(tensor, "Conjugate") else memory
    if _core.is_kept(tensor, "Negative"):
        found = aten.neg(found)
    return found


def _zeros(tensor: Tensor, memory: Tensor) -> Tensor:
    result: Tensor = ops.aten.zeros(list(tensor.shape), dtype=tensor.dtype, device=memory.device)
    return result


def _write_back(tensor: Tensor, values: Tensor) -> None:
    """Makes what is kept otherwise stand for ``values``."""
    aten = ops.aten
    if _core.is_kept(tensor, "Conjugate"):
        values = aten.conj_physical(values)
    if _core.is_kept(tensor, "Negative"):
        values = aten.neg(values)
    aten.copy_(_core.memory_of_lazy(tensor), values)


def call_with_values(op: OpOverload, keys: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``op`` returns of the values; ``keys`` are the call's without those of tensors that are kept otherwise.

    Raises RuntimeError for a write to a ZeroTensor.
    """
    return call_with_stand_ins(op, keys, args, kwargs, _stand_in, _write_back)


def _stand_in(value: Any, writes: bool) -> Any:
    if not isinstance(value, Tensor) or not _core.is_lazy(value):
        return value
    if writes and _core.is_kept(value, "ZeroTensor"):
        raise RuntimeError(
            "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if you want a "
            "mutable tensor."
        )
    return values_of(value)


_core.hooks.fill(call_with_values=call_with_values)
