"""Calls of operators with others in place of some of their tensors, which kernels cannot take as they are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._core import OpOverload, Tensor

__all__ = ["call_with_stand_ins"]


def _itself(value: Any) -> Any:
    return value


def call_with_stand_ins(
    op: OpOverload,
    keys: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    stand_in: Callable[[Any, bool], Any],
    put_back: Callable[[Tensor, Tensor], None],
    made: Callable[[Any], Any] = _itself,
) -> Any:
    """What ``op`` returns at ``keys`` with ``stand_in(value, is_written)`` in the place of each argument.

    Of lists the items are stood in for. ``put_back(tensor, stood_in)`` writes to an argument what was written to its
    stand-in, in whose place it is in the result, too; what else is in the result goes through ``made``.
    """
    written: list[tuple[Tensor, Tensor]] = []

    def given(value: Any, writes: bool) -> Any:
        if isinstance(value, (list, tuple)):
            return [given(item, writes) for item in value]
        standing = stand_in(value, writes)
        if writes and standing is not value:
            written.append((value, standing))
        return standing

    def returned(result: Any) -> Any:
        if isinstance(result, (list, tuple)):
            items = [returned(item) for item in result]
            return items if isinstance(result, list) else tuple(items)
        for tensor, standing in written:
            if result is standing:
                return tensor
        return made(result)

    declared = {argument.name: argument.is_write for argument in op._schema.arguments}
    positional = [given(value, writes) for value, writes in zip(args, declared.values(), strict=False)]
    options = {name: given(value, declared[name]) for name, value in kwargs.items()}
    result = op.redispatch(keys, *positional, **options)
    for tensor, standing in written:
        put_back(tensor, standing)
    return returned(result)
