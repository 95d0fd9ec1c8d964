"""Calls with tensors that are not what their memory is: the conjugates of it, its negatives, or zeros.

The core comes here below autograd, with a call of an operator that reads or writes values. It is made with what the
tensors stand for, and what it writes is put back as it is kept.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import OpOverload, Tensor
from ._ops import ops

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
    written: list[tuple[Tensor, Tensor]] = []
    declared = [argument.is_write for argument in op._schema.arguments]
    named = {argument.name: argument.is_write for argument in op._schema.arguments}
    given = [_resolved(value, writes, written) for value, writes in zip(args, declared, strict=False)]
    options = {name: _resolved(value, named[name], written) for name, value in kwargs.items()}
    result = op.redispatch(keys, *given, **options)
    for tensor, values in written:
        _write_back(tensor, values)
    return _originals(result, written)


def _resolved(value: Any, writes: bool, written: list[tuple[Tensor, Tensor]]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_resolved(item, writes, written) for item in value]
    if not isinstance(value, Tensor) or not _core.is_lazy(value):
        return value
    if writes and _core.is_kept(value, "ZeroTensor"):
        raise RuntimeError(
            "ZeroTensors are immutable. Please use the materialized zero tensor obtained using .clone() if you want a "
            "mutable tensor."
        )
    values = values_of(value)
    if writes:
        written.append((value, values))
    return values


def _originals(result: Any, written: list[tuple[Tensor, Tensor]]) -> Any:
    """A result with the tensors that were given for those that stood in their place."""
    if isinstance(result, (list, tuple)) and written:
        return type(result)(_originals(item, written) for item in result)
    for tensor, values in written:
        if result is values:
            return tensor
    return result


_core.hooks.fill(call_with_values=call_with_values)
