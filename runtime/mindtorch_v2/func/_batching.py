"""Batched tensors: inside `vmap` a tensor stands for one sample, and operators run on the whole batch.

Operators with a batching rule run it; others run once a sample, and their outputs are stacked.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from .. import _core
from .._core import OpOverload, Tensor
from .._frames import user_stacklevel
from .._inheritance import inherited
from .._lazy_values import kept_as, kept_like
from .._ops import ops
from ..autograd._levels import below
from ..utils._pytree import tree_leaves, tree_map
from ._view_rules import view_whole

__all__ = [
    "DRAWS", "BatchedTensor", "VmapInfo", "aligned", "batch", "call_rule", "fallback_enabled", "fallback_warns",
    "levels", "outside", "refuse_random_numbers", "refuse_unsupported", "sample_at", "set_fallback_enabled_",
    "set_fallback_warns_", "stacked", "unbatch", "wrap_outputs", "written_arguments",
]  # fmt: skip

_BATCHED = _core.key_mask("Batched")
DRAWS = _core.key_mask("FuncTorchVmapMode")  # of each call while a `vmap` runs; only operators that draw look at it
_LAZY = _core.key_mask("Conjugate") | _core.key_mask("Negative")
_AS = frozenset(("view_as", "reshape_as", "expand_as"))
_READS_DATA = frozenset(("item", "_local_scalar_dense", "equal", "is_nonzero"))


@dataclass(frozen=True)
class VmapInfo:
    """What a batching rule learns of the batch."""

    batch_size: int
    randomness: str


class _Fallback:
    """What the whole process does where one operator runs once a sample; PyTorch's tests set it."""

    enabled = True
    warns = False


def fallback_enabled() -> bool:
    """Whether operators without a batching rule may run once a sample."""
    return _Fallback.enabled


def set_fallback_enabled_(enabled: bool) -> None:
    """Sets `fallback_enabled`; without, such a call raises RuntimeError."""
    _Fallback.enabled = enabled


def fallback_warns() -> bool:
    """Whether a call that runs once a sample warns of the time that this takes."""
    return _Fallback.warns


def set_fallback_warns_(warns: bool) -> None:
    """Sets `fallback_warns`."""
    _Fallback.warns = warns


class _Levels(threading.local):
    def __init__(self) -> None:
        self.open: dict[int, VmapInfo] = {}  # of the vmap calls that are running, by level
        self.drawing: tuple[int, ...] = ()  # the levels of those that what runs is inside of, the outermost first


levels = inherited(_Levels())


class outside(below):  # noqa: N801  (reads as a condition)
    """``with outside(level):`` as `below`, and random numbers are not those of that `vmap`, or of one inside of it."""

    def __enter__(self) -> None:
        self._drawing = levels.drawing
        levels.drawing = tuple(level for level in self._drawing if level < self._level)
        included, excluded = self._keys = _core.thread_keys()
        if not levels.drawing:
            _core.set_thread_keys_(included & ~DRAWS, excluded)
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        _core.set_thread_keys_(*self._keys)
        levels.drawing = self._drawing


class BatchedTensor(Tensor):
    """One sample of a batch: ``value`` has a dimension more, ``batch_dim``; ``level`` tells nested vmaps apart."""

    value: Tensor
    batch_dim: int
    level: int
    is_copy = False  # in place of a view
    __torch_function__ = _core.disabled_torch_function


def batch(value: Tensor, dim: int, level: int) -> BatchedTensor:
    """``value`` as one sample of it, whose shape lacks dimension ``dim``."""
    dim %= value.dim()
    shape = [n for i, n in enumerate(value.shape) if i != dim]
    strides = [n for i, n in enumerate(value.stride()) if i != dim]
    keys = _BATCHED | _core.tensor_keys(value) & _LAZY
    sample: BatchedTensor = _core.wrapper_tensor(BatchedTensor, shape, strides, value.dtype, value.device, keys)
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
    with outside(level):
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
            f"vmap: It looks like you're calling .item() on a Tensor, by {op.name()}, or using it in some "
            "data-dependent control flow. We don't support vmap over calling .item() on a Tensor, please try to "
            "rewrite what you're doing with other "
            "operations."
        )
    if "dynamic_output_shape" in op.tags:
        raise RuntimeError(
            f"vmap: We do not support batching operators that can output dynamic shape, as {op.name()}: samples may "
            "have results of different sizes. Please call it outside of vmap."
        )
    level = _level(args, kwargs)
    if level not in levels.open:
        raise RuntimeError(
            f"{op.name()}: your tensor may have escaped from inside a function being vmapped, which is over: only what "
            "the function returns may be used outside"
        )
    with outside(level):
        return _on_batch(op, level, args, kwargs)


def _on_batch(op: OpOverload, level: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    composed = op.kernel("CompositeImplicitAutograd") if "inplace_view" in op.tags else None
    if composed is not None:
        return op.call_kernel(composed, *args, **kwargs)
    if op._schema.name in _AS and unbatch(args[0], level)[1] is None:  # only the shape is of a batch
        return getattr(ops.aten, op._schema.name.removesuffix("_as"))(args[0], args[1].shape)
    models = _view_models(op, args, kwargs, level)
    if (
        models is not None
        and op._schema.name != "detach"
        and (op._schema.name == "as_strided" or all(_can_be_viewed(t) for t in (models.source.value, *models.parts)))
        and all(part.dtype is models.source.dtype for part in models.parts)
        and not (isinstance(models.source.value, BatchedTensor) and any(map(kept_as, models.parts)))
    ):
        return models.rebuilt([_view_like(part, models.source) for part in models.parts])
    if models is not None and args[0] is models.source and not models.source.is_copy:
        source = models.source
        wholes = view_whole(op, ops.aten.movedim(source.value, source.batch_dim, 0), source.dim(), args[1:])
        if wholes is not NotImplemented:
            listed = wholes if isinstance(wholes, (tuple, list)) else [wholes]
            return models.rebuilt([_wrapped_view(*pair, source) for pair in zip(models.parts, listed, strict=True)])
    written = written_arguments(op, args, kwargs, level)
    if _is_elementwise(op, args, kwargs, written):
        values, keywords = aligned((list(args), kwargs), level)
        result = op(*values, **keywords)
        return written[0] if written else wrap_outputs(result, 0, level)
    if not _Fallback.enabled:
        raise RuntimeError(
            f"You hit the vmap fallback which is currently disabled: {op.name()} has no batching rule, and would run "
            "once a sample"
        )
    if _Fallback.warns:
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"{op.name().removesuffix('.default')}: it runs once a sample.",
            stacklevel=user_stacklevel(),
        )
    # A position in memory counts from where a sample starts.
    apart = any(a.name == "storage_offset" for a in op._schema.arguments)
    count = levels.open[level].batch_size
    results = [  # where there is no sample, one of zeros tells what the results would be
        op(*sample_at(args, level, i, apart), **sample_at(kwargs, level, i, apart)) for i in range(count or 1)
    ]
    if written and len(op._schema.returns) == len(written):
        return written[0] if len(written) == 1 else tuple(written)
    return stacked(results, level, count, is_copy=models is not None)


def refuse_random_numbers(level: int) -> None:
    """Random numbers inside `vmap` need to be told whether samples get the same ones."""
    if levels.open[level].randomness == "never":
        refuse_unsupported()
    if levels.open[level].randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def refuse_unsupported() -> NoReturn:
    """Raises RuntimeError: random numbers of this kind are not drawn inside `vmap`."""
    raise RuntimeError(
        "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations "
        "outside of vmap as a workaround"
    )


def _is_elementwise(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[Any]) -> bool:
    """Whether one call on the whole batch does what a call on each sample does.

    That is so for pointwise operators, which broadcast; but not between dtypes, where a sample without dimensions
    counts less than a batch of them, and where what is written would have to grow.
    """
    if "pointwise" not in op.tags:
        return False
    tensors = [t for t in tree_leaves([list(args), kwargs]) if isinstance(t, Tensor)]
    rank = max(t.dim() for t in tensors)
    return len({t.dtype for t in tensors}) == 1 and all(t.dim() == rank for t in written)


def aligned(tree: Any, level: int) -> Any:
    """Tensors with the batch dimension first, and dimensions of size 1 after it, up to the highest rank of all."""
    size = levels.open[level].batch_size
    rank = max((t.dim() for t in tree_leaves(tree) if isinstance(t, Tensor)), default=0)

    def whole(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        inner, dim = unbatch(value, level)
        if dim is None:  # the same for all samples: not every pointwise operator broadcasts
            inner = ops.aten.expand(inner, [size, *inner.shape])
        elif dim:
            inner = ops.aten.movedim(inner, dim, 0)
        for _ in range(rank - value.dim()):
            inner = ops.aten.unsqueeze(inner, 1)
        return inner

    return tree_map(whole, tree)


@dataclass(frozen=True)
class _ViewModels:
    """What a view operator gives for one sample without data; all samples look alike."""

    source: BatchedTensor
    parts: list[Tensor]
    result: Any  # the parts, as the operator returned them

    def rebuilt(self, views: list[BatchedTensor]) -> Any:
        return type(self.result)(views) if isinstance(self.result, (tuple, list)) else views[0]


def _view_models(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> _ViewModels | None:
    """Where views of one sample lie, or None where the operator makes none of these arguments.

    With these, views of the whole batch are made, so that changing them in place changes what they show.
    """
    arguments = op._schema.arguments
    at = next((i for i, a in enumerate(arguments[: len(args)]) if a.alias is not None and not a.alias.write), None)
    if at is None or any(a.is_write for a in arguments) or unbatch(args[at], level)[1] is None:
        return None
    source = args[at]
    models, keywords = tree_map(_without_data, list(args)), tree_map(_without_data, kwargs)
    try:
        result = op(*models, **keywords)
    except RuntimeError as error:
        if op._schema.name != "as_strided":
            raise
        raise RuntimeError(f"as_strided() of a sample can access memory outside of `tensor`: {error}") from error
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    if any(p.untyped_storage() is not models[at].untyped_storage() for p in parts):
        return None
    return _ViewModels(source, parts, result)


def _without_data(value: Any) -> Any:
    """A tensor of the same geometry on the device meta."""
    if not isinstance(value, Tensor):
        return value
    last = sum((n - 1) * step for n, step in zip(value.shape, value.stride(), strict=True))
    memory = _core.alloc((max(value.storage_offset() + last + 1, 0),), value.dtype, "meta")
    return _core.as_strided(memory, value.shape, value.stride(), value.storage_offset())


def _can_be_viewed(tensor: Tensor) -> bool:
    """Whether a view by geometry will do: of memory that no two elements share, where no gradient is recorded."""
    if any(step == 0 and n > 1 for n, step in zip(tensor.shape, tensor.stride(), strict=True)):
        return False
    return not tensor.requires_grad and (not isinstance(tensor, BatchedTensor) or _can_be_viewed(tensor.value))


def _view_like(model: Tensor, source: BatchedTensor) -> BatchedTensor:
    """A view of a batch that lies in each sample as ``model``, made from the sample's model, lies in that."""
    value, dim = source.value, source.batch_dim
    start = value.storage_offset() + model.storage_offset() - source.storage_offset()
    sizes, strides = [value.shape[dim], *model.shape], [value.stride()[dim], *model.stride()]
    view = kept_like(ops.aten.as_strided(value, sizes, strides, start), kept_as(model))
    return _wrapped_view(model, view, source)


def _wrapped_view(model: Tensor, whole: Tensor, source: BatchedTensor) -> BatchedTensor:
    """``whole``, with the batch dimension first, as a view of the sample that ``source`` is."""
    geometry = _core.retyped(source, model.dtype, model.shape, model.stride(), model.storage_offset())
    geometry = kept_like(geometry, kept_as(model))
    view: BatchedTensor = _core.wrapper_over(BatchedTensor, geometry, source.device, _BATCHED)
    view.value, view.batch_dim, view.level = whole, 0, source.level
    return view


def written_arguments(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], level: int) -> list[Any]:
    """The arguments that the operator changes in place; each must be a batch, or samples would overwrite each other."""
    arguments = op._schema.arguments
    values = {**{a.name: v for a, v in zip(arguments, args, strict=False)}, **kwargs}
    written = [values[a.name] for a in arguments if a.is_write and values.get(a.name) is not None]
    for value in written:
        if any(isinstance(t, BatchedTensor) and t.is_copy for t in tree_leaves(value)):
            raise RuntimeError(
                f"vmap: {op.name()} changes a view in place, where a gradient is taken outside of vmap (or elements "
                "share memory): that is not supported, what it is a view of would not change. Please use the "
                "out-of-place operator, or take the gradient inside."
            )
        if any(isinstance(t, Tensor) and unbatch(t, level)[1] is None for t in tree_leaves(value)):
            raise RuntimeError(
                f"vmap: {op.name()}: inplace arithmetic(self, *extra_args) is not possible because there exists a "
                "Tensor `other` in extra_args that has more elements than `self`: it is mapped over, `self` is not. "
                "Please use the out-of-place operator."
            )
    return written


def sample_at(tree: Any, level: int, index: int, apart: bool = False) -> Any:
    """The sample of that number of each batch, in memory of its own with ``apart``; zeros where there is none."""

    def pick(value: Any) -> Any:
        inner, dim = unbatch(value, level)
        if dim is None:
            return value
        if inner.shape[dim] == 0 and inner.is_floating_point():
            return ops.aten.sum(inner, [dim])  # zeros that have the history of what there is none of
        if inner.shape[dim] == 0:
            return ops.aten.new_zeros(inner, [n for i, n in enumerate(inner.shape) if i != dim])
        sample = ops.aten.select(inner, dim, index)
        return ops.aten.clone(sample) if apart else sample

    return tree_map(pick, tree)


def stacked(results: list[Any], level: int, count: int, is_copy: bool = False) -> Any:
    """What the samples gave, as batches of ``count``; with a ``count`` of 0 the result says what there is none of."""
    first = results[0]
    if isinstance(first, Tensor):
        whole = ops.aten.stack(results)
        found = batch(ops.aten.narrow(whole, 0, 0, 0) if count == 0 else whole, 0, level)
        found.is_copy = is_copy
        return found
    if isinstance(first, (tuple, list)):
        return type(first)(stacked([r[i] for r in results], level, count, is_copy) for i in range(len(first)))
    if any(r != first for r in results):
        raise RuntimeError(f"vmap: an operator returned a {type(first).__name__} that differs between samples")
    return first


def _level(*trees: Any) -> int:
    return max(v.level for v in tree_leaves(list(trees)) if isinstance(v, BatchedTensor))


_core.set_own_fallback("Batched", _run_by_sample, f"{__name__}:by_sample")
