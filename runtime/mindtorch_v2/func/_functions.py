"""``autograd.Function`` inside `vmap`: by its own ``vmap``, or once a sample where it allows that."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._hooks import hooks
from ..autograd import function, is_grad_enabled
from ..utils._pytree import tree_leaves, tree_map
from ._batching import BatchedTensor, levels, outside, sample_at, stacked, unbatch, wrap_outputs

__all__ = ["apply_batched"]


def apply_batched(cls: Any, args: tuple[Any, ...]) -> Any:
    """Runs ``cls.apply`` where an argument is a batch. Raises RuntimeError for a function without a rule for that."""
    if cls.setup_context is _core.base_setup_context:  # outside of transforms: its own operators see the samples
        result, ctx = _core.record_function(cls, args)
        _core.forget_marks_(ctx)
        return result
    level = max(v.level for v in tree_leaves(list(args)) if isinstance(v, BatchedTensor))
    samples = [a for a in args if isinstance(a, BatchedTensor) and a.level == level]
    if is_grad_enabled() and any(sample.requires_grad for sample in samples):
        # A transform inside the `vmap` wants gradients: it records the call as a whole, with samples as arguments.
        result, ctx = _core.record_function(cls, args, lambda *values: _run(cls, _untracked(values, level), level))
        _core.forget_marks_(ctx)
        return result
    return _run(cls, args, level)


def _untracked(values: tuple[Any, ...], level: int) -> tuple[Any, ...]:
    """The samples of a level outside its graph."""
    return tuple(_core.without_history(v) if isinstance(v, BatchedTensor) and v.level == level else v for v in values)


def _run(cls: Any, args: tuple[Any, ...], level: int) -> Any:
    """The function on all samples of a level, or on one after the other."""
    with outside(level):
        return _on_batch(cls, args, level)


def _on_batch(cls: Any, args: tuple[Any, ...], level: int) -> Any:
    has_rule = cls.vmap is not function.Function.vmap
    if has_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            "ambiguity."
        )
    if has_rule:
        dims = tuple(tree_map(lambda v: unbatch(v, level)[1], list(args)))
        values = tree_map(lambda v: unbatch(v, level)[0], list(args))
        found = cls.vmap(levels.open[level], dims, *values)
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
                f"compatible with the output. Got a {type(found)} instead"
            )
        output, out_dims = found
        if not _fits(out_dims, output):
            raise RuntimeError(
                f"vmap: {cls.__name__}.vmap returned an incompatible (output, out_dims): out_dims {out_dims} must be "
                "None, a number, or nested as the output is"
            )
        return wrap_outputs(output, out_dims, level)
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )
    count = levels.open[level].batch_size
    results = [cls.apply(*sample_at(list(args), level, i)) for i in range(count or 1)]
    return stacked(results, level, count)


def _fits(dims: Any, output: Any) -> bool:
    """Whether there is a dimension, or None, for each tensor of the output, or one for all."""
    if isinstance(dims, (tuple, list)):
        return type(dims) is type(output) and len(dims) == len(output) and all(map(_fits, dims, output))
    return dims is None or isinstance(dims, int)


hooks.fill(apply_batched=apply_batched)
