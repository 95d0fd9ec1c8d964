"""Batched tensors: inside `vmap` a tensor stands for one sample, and operators run on the whole batch.

Operators with a batching rule run it; others run once a sample, and their outputs are stacked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from .._ops import ops
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["BatchedTensor", "VmapInfo", "batch", "call_rule", "levels", "unbatch", "wrap_outputs"]

_BATCHED = _core.key_mask("Batched")
_READS_DATA = frozenset(("item", "_local_scalar_dense", "equal", "is_nonzero"))


@dataclass(frozen=True)
class VmapInfo:
    """What a batching rule learns of the batch."""

    batch_size: int
    randomness: str


class _Levels(threading.local):
    def __init__(self) -> None:
        self.open: dict[int, VmapInfo] = {}  # of the vmap calls that are running, by level


levels = _Levels()


class BatchedTensor(Tensor):
    """One sample of a batch: ``value`` has a dimension more, ``batch_dim``; ``level`` tells nested vmaps apart."""

    value: Tensor
    batch_dim: int
    level: int
    __torch_function__ = _core.disabled_torch_function

    def __repr__(self) -> str:
        return f"BatchedTensor(lvl={self.level}, bdim={self.batch_dim}, value={self.value!r})"


def batch(value: Tensor, dim: int, level: int) -> BatchedTensor:
    """``value`` as one sample of it, whose shape lacks dimension ``dim``."""
    dim %= value.dim()
    shape = [n for i, n in enumerate(value.shape) if i != dim]
    sample: BatchedTensor = _core.wrapper_tensor(BatchedTensor, shape, None, value.dtype, value.device, _BATCHED)
    sample.value, sample.batch_dim, sample.level = value, dim, level
    return sample


def unbatch(value: Any, level: int) -> tuple[Any, int | None]:
    """What a value stands for at a level, and its batch dimension; ``(value, None)`` for one that is no batch there."""
    if isinstance(value, BatchedTensor) and value.level == level:
        return value.value, value.batch_dim
    return value, None


def call_rule(rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs an operator's batching rule on the innermost batch among the arguments."""
    level = _level(args, kwargs)
    values = tree_map(lambda v: unbatch(v, level)[0], list(args))
    dims = tuple(tree_map(lambda v: unbatch(v, level)[1], list(args)))
    output, out_dims = rule(levels.open[level], dims, *values, **kwargs)
    return wrap_outputs(output, out_dims, level)


def wrap_outputs(output: Any, out_dims: Any, level: int) -> Any:
    """A rule's outputs as batches: ``out_dims`` is one dimension for all, or one for each; None is for no batch."""
    if isinstance(output, (tuple, list)):
        dims = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(output)
        return type(output)(wrap_outputs(o, d, level) for o, d in zip(output, dims, strict=True))
    return batch(output, out_dims, level) if isinstance(output, Tensor) and out_dims is not None else output


def _run_by_sample(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The fallback at the key Batched: the operator once a sample, outputs stacked."""
    if op._schema.name in _READS_DATA:
        raise RuntimeError(
            f"vmap: It looks like you're calling .item() on a Tensor (or using it as a condition), by {op.name()}. We "
            "don't support vmap over calling .item() on a Tensor, please try to rewrite what you're doing with other "
            "operations."
        )
    level = _level(args, kwargs)
    written = _written(op, args, kwargs, level)
    results = [op(*_sample(args, level, i), **_sample(kwargs, level, i)) for i in range(levels.open[level].batch_size)]
    if written and len(op._schema.returns) == len(written):
        return written[0] if len(written) == 1 else tuple(written)
    return _stacked(results, level)


def _written(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> list[Any]:
    """The arguments that the operator changes in place; each must be a batch, or samples would overwrite each other."""
    arguments = op._schema.arguments
    values = {**{a.name: v for a, v in zip(arguments, args, strict=False)}, **kwargs}
    written = [values[a.name] for a in arguments if a.is_write and values.get(a.name) is not None]
    for value in written:
        if any(isinstance(t, Tensor) and unbatch(t, level)[1] is None for t in tree_leaves(value)):
            raise RuntimeError(
                f"vmap: {op.name()}: inplace arithmetic(self, *extra_args) is not possible because there exists a "
                "Tensor `other` in extra_args that has more elements than `self`: it is mapped over, `self` is not. "
                "Please use the out-of-place operator."
            )
    return written


def _sample(tree: Any, level: int, index: int) -> Any:
    def pick(value: Any) -> Any:
        inner, dim = unbatch(value, level)
        return value if dim is None else ops.aten.select(inner, dim, index)

    return tree_map(pick, tree)


def _stacked(results: list[Any], level: int) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return batch(ops.aten.stack(results), 0, level)
    if isinstance(first, (tuple, list)):
        return type(first)(_stacked([r[i] for r in results], level) for i in range(len(first)))
    if any(r != first for r in results):
        raise RuntimeError(f"vmap: an operator returned a {type(first).__name__} that differs between samples")
    return first


def _level(*trees: Any) -> int:
    return max(v.level for v in tree_leaves(list(trees)) if isinstance(v, BatchedTensor))


_core.set_fallback("Batched", _run_by_sample, None)
