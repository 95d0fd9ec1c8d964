"""View operators on a whole batch: what one does to each sample, as views of the batch by the same operator.

A rule takes the batch with the batch dimension first, the rank of a sample, and the arguments after the tensor. Such a
view has the history that autograd gives it, so that changing it in place changes what it shows, gradients included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import OpOverload, Tensor
from .._ops import ops

__all__ = ["view_whole"]

Rule = Callable[[OpOverload, Tensor, int, tuple[Any, ...]], Any]


def view_whole(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    """The views, or NotImplemented for an operator without a rule. ``whole`` has the batch dimension first."""
    rule = _RULES.get(op._schema.name) if op.namespace == "aten" else None
    return NotImplemented if rule is None else rule(op, whole, rank, args)


def _along(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    """Dimensions are counted from one further on; those that are made count among the result's."""
    if rank == 0 and op._schema.name in ("squeeze", "transpose", "movedim"):
        return ops.aten.alias(whole)
    total = rank + 1 if op._schema.name == "unsqueeze" else rank
    names = [a.name for a in op._schema.arguments[1:]]
    return op(whole, *(_moved(name, value, total) for name, value in zip(names, args, strict=False)))


def _moved(name: str, value: Any, rank: int) -> Any:
    if name not in ("dim", "dims", "dim0", "dim1", "source", "destination"):
        return value
    if isinstance(value, (list, tuple)):
        return [_after_batch(d, rank) for d in value]
    return _after_batch(value, rank)


def _after_batch(dim: int, rank: int) -> int:
    return dim % max(rank, 1) + 1


def _permuted(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return op(whole, [0, *(_after_batch(d, rank) for d in args[0])])


def _turned(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return ops.aten.transpose(whole, 1, 2) if rank == 2 else ops.aten.alias(whole)


def _split(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    """The dimension comes last, and is the first one by default."""
    dim = args[1] if len(args) > 1 else 0
    return op(whole, args[0], _after_batch(dim, rank))


def _unbound(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return op(whole, _after_batch(args[0] if args else 0, rank))


def _squeezed(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    if args:
        return _along(op, whole, rank, args)
    result = whole
    for dim in reversed(range(1, rank + 1)):
        if whole.shape[dim] == 1:
            result = ops.aten.squeeze.dim(result, dim)
    return result if result is not whole else ops.aten.alias(whole)


def _resized(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return op(whole, [whole.shape[0], *_sizes(whole, args[0])])


def _flattened(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    start = args[0] if args else 0
    end = args[1] if len(args) > 1 else -1
    if rank == 0:
        return ops.aten.unsqueeze(whole, 1)
    return op(whole, _after_batch(start, rank), _after_batch(end, rank))


def _sizes(whole: Tensor, size: Any) -> list[int]:
    """With a -1 replaced, as the samples' elements say: the batch may be empty."""
    sizes = list(size)
    if -1 in sizes:
        known = 1
        for n in sizes:
            known *= n if n != -1 else 1
        count = 1
        for n in whole.shape[1:]:
            count *= n
        sizes[sizes.index(-1)] = count // max(known, 1)
    return sizes


def _resized_as(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return getattr(ops.aten, op._schema.name.removesuffix("_as"))(whole, [whole.shape[0], *args[0].shape])


def _expanded_as(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return _expanded(ops.aten.expand.default, whole, rank, (args[0].shape,))


def _expanded(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    size, result = list(args[0]), whole
    for _ in range(len(size) - rank):
        result = ops.aten.unsqueeze(result, 1)
    return op(result, [whole.shape[0], *size])


def _same(op: OpOverload, whole: Tensor, rank: int, args: tuple[Any, ...]) -> Any:
    return op(whole)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("select", "slice", "narrow", "unsqueeze", "transpose", "movedim"), _along),
    **dict.fromkeys(("view", "reshape"), _resized),
    **dict.fromkeys(("split", "split_with_sizes", "chunk"), _split),
    **dict.fromkeys(("alias", "detach", "contiguous", "view_as_real", "view_as_complex", "_conj", "_neg_view"), _same),
    **dict.fromkeys(("view_as", "reshape_as"), _resized_as),
    "flatten": _flattened,
    "permute": _permuted,
    "t": _turned,
    "unbind": _unbound,
    "squeeze": _squeezed,
    "expand": _expanded,
    "expand_as": _expanded_as,
}
