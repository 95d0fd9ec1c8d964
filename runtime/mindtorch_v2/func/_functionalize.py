"""`functionalize`: a function without changes in place, or without views too, that computes the same.

Inside, tensors are wrappers. A call of `functionalize` is a level. Wrappers carry the key Functionalize, at which a
call becomes calls of functional operators on the values; these run with the thread's keys as they were outside, so that
autograd, traces and modes outside see functional operators only. Autograd inside is off until the function asks for
gradients of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from .._functional import can_cast
from .._ops import ops
from .._type_info import contiguous_format
from ..autograd._levels import in_transform
from ..overrides import by_operator
from ..utils._pytree import tree_leaves, tree_map
from ._functional_forms import functional_form
from ._functional_levels import AliasGroup, FunctionalTensor, Level, plainly, reach, running, shared
from ._view_steps import ViewStep

__all__ = ["functionalize"]

_META = _core.key_mask("Meta")
_REMOVES = {"mutations": True, "mutations_and_views": False}  # whether views stay


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` without operators that change tensors in place; with ``remove="mutations_and_views"`` without views too.

    Arguments that ``func`` changes are written once, by ``copy_``, when it has returned. Gradients flow as through
    ``func``; only those that ``func`` itself takes of its arguments are constants for autograd outside. Raises
    RuntimeError for another ``remove``, and where ``func`` changes a tensor that is neither an argument nor made
    inside.
    """
    if not isinstance(remove, str) or remove not in _REMOVES:
        raise RuntimeError(
            f"functionalize(f, remove={remove!r}): received invalid argument for `remove`. Valid options are: "
            f"{', '.join(map(repr, _REMOVES))}"
        )

    @functools.wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        level = Level(_REMOVES[remove])
        wrappers: dict[int, tuple[Tensor, FunctionalTensor, AliasGroup]] = {}

        def wrapped(leaf: Any) -> Any:
            if isinstance(leaf, Tensor) and id(leaf) not in wrappers:
                wrapper = level.wrap(leaf)
                wrappers[id(leaf)] = leaf, wrapper, wrapper.group
            return wrappers[id(leaf)][1] if isinstance(leaf, Tensor) else leaf

        inputs = tree_map(wrapped, list(args)), tree_map(wrapped, kwargs)
        with level.entered(), in_transform(level.number, "Functionalize"):
            result = func(*inputs[0], **inputs[1])
        output = tree_map(level.value, result)
        _write_back(level, list(wrappers.values()))
        return output

    return functional


def _write_back(level: Level, inputs: Sequence[tuple[Tensor, FunctionalTensor, AliasGroup]]) -> None:
    """Changes the arguments as the function changed the wrappers: their values, and of what shape they are."""
    for tensor, wrapper, group in inputs:
        moved = wrapper.group is not group
        if not (group.generation or moved or wrapper.steps):
            continue
        if any(other is not tensor and other.untyped_storage() is tensor.untyped_storage() for other, _, _ in inputs):
            raise RuntimeError(
                "functionalize(f): f changed an argument in place that shares memory with another argument. Pass one "
                "of them, and make the other one inside f by a view."
            )
        if moved:
            changed = ops.aten.resize_(tensor, list(wrapper.group.base.shape))
            ops.aten.copy_(changed, wrapper.group.base)
        elif group.generation:
            ops.aten.copy_(tensor, group.base)
        for step in wrapper.steps:
            step.in_place(tensor)


# ---------------------------------------------------------------- calls


def function_applied(cls: Any, args: tuple[Any, ...]) -> Any:
    """``apply`` of an `autograd.Function` that autograd outside records, as one step; NotImplemented for others."""
    level = running.levels[-1]
    if level is shared:  # autograd records the wrappers
        return NotImplemented
    with level.left():
        values = [level.value(arg) for arg in args]
        tensors = [value for value in values if isinstance(value, Tensor)]
        if not _core.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
            return NotImplemented
        before = [tensor._version for tensor in tensors]
        result = cls.apply(*values)
    if [tensor._version for tensor in tensors] != before:
        raise RuntimeError(
            f"functionalize: {cls.__name__} changes an argument in place, in a forward that autograd records as one "
            "step. Let it work on a clone."
        )
    return tree_map(level.wrap, result)


def _call(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The fallback at the key Functionalize."""
    if running.check is not None:
        return running.check(op, args, kwargs, _run)
    return _run(op, *args, **kwargs)


def _run(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    level = running.levels[-1] if running.levels else shared
    if level is shared and not running.levels and not any(map(shared.holds, tree_leaves((args, kwargs)))):
        raise RuntimeError(f"{op.name()}: a tensor that was made inside `functionalize` is used outside of it")
    schema = op._schema
    if any(a.is_write for a in schema.arguments):
        if op is ops.aten.resize_.default:
            return _call_of_resize(level, op, *args, **kwargs)
        composite = op.kernel("CompositeImplicitAutograd") if "inplace_view" in op.tags else None
        if composite is not None:  # of a view that the tensor becomes
            return op.call_kernel(composite, *args, **kwargs)
        return _call_that_writes(level, op, args, kwargs)
    if any(output.alias is not None for output in schema.returns):
        return _call_of_view(level, op, args, kwargs)
    return _call_functional(level, op, args, kwargs)


def _call_functional(level: Level, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with level.left():
        result = by_operator(op)(*_values(level, args), **_values(level, kwargs))
    return tree_map(level.wrap, result)


def _values(level: Level, tree: Any) -> Any:
    return tree_map(level.value, tree)


def _call_of_view(level: Level, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor: Any = args[0]
    if not level.holds(tensor):
        with level.left():
            if op is ops.aten.lift_fresh.default:  # a constant, which nothing else knows
                return level.wrap(ops.aten.lift_fresh_copy(tensor))
            return op(*_values(level, args), **_values(level, kwargs))  # of a tensor from outside: not to be changed
    composite = op.kernel("CompositeImplicitAutograd")
    if composite is not None:
        return op.call_kernel(composite, *args, **kwargs)
    with plainly():
        shown = op.redispatch(_META, tensor.geometry, *args[1:], **kwargs)
    if isinstance(shown, (list, tuple)):
        steps = [ViewStep(op, args[1:], tuple(kwargs.items()), i) for i in range(len(shown))]
        with level.left():
            values = steps[0].shown(tensor.value, level.keep_views) if steps else ()
        views = zip(shown, steps, values, strict=True)
        return type(shown)(level.wrapper(part, tensor.group, (*tensor.steps, step), one) for part, step, one in views)
    if shown is tensor.geometry:
        return tensor
    if shown.untyped_storage() is not tensor.geometry.untyped_storage():  # `reshape`, where that cannot be a view
        with level.left():
            if op is ops.aten.reshape.default:
                copy = ops.aten.clone(level.value(tensor), memory_format=contiguous_format)
                return level.wrap(ops.aten._unsafe_view(copy, list(shown.shape)))
            result = op(*_values(level, args), **_values(level, kwargs))
            if result.untyped_storage() is level.value(tensor).untyped_storage():
                result = ops.aten.clone(result)
        return level.wrap(result)
    if op is ops.aten.as_strided.default:
        return _strided_view(level, tensor, shown)
    if op is ops.aten.reshape.default:
        return _view(level, tensor, ViewStep(ops.aten.view.default, (list(args[1]),)), shown)
    return _view(level, tensor, ViewStep(op, args[1:], tuple(kwargs.items())), shown)


def _strided_view(level: Level, tensor: FunctionalTensor, shown: Tensor) -> FunctionalTensor:
    """What ``as_strided`` shows: a view of the tensor where that lies in rows, and else of its base."""
    whole, offset = tensor.geometry, shown.storage_offset() - tensor.geometry.storage_offset()
    inside = offset >= 0 and reach(shown) - whole.storage_offset() <= whole.numel()
    if not (whole.is_contiguous() and inside):
        base = tensor.group.strides
        if base is None or shown.storage_offset() < base.storage_offset():
            raise RuntimeError(
                "cannot functionalize: as_strided() of a tensor whose base is not contiguous, or that reaches before "
                "it, depends on memory and not on values only"
            )
        tensor = level.wrapper(base, tensor.group, (), tensor.group.base)
        offset = shown.storage_offset() - base.storage_offset()
    args = (list(shown.shape), list(shown.stride()), *([offset] if offset else []))
    return _view(level, tensor, ViewStep(ops.aten.as_strided.default, args), shown)


def _view(level: Level, tensor: FunctionalTensor, step: ViewStep, geometry: Tensor) -> FunctionalTensor:
    with level.left():  # the value as it was last read, which is all that a look at it needs
        value = step.forward(tensor.value, level.keep_views)
    return level.wrapper(geometry, tensor.group, (*tensor.steps, step), value)


def _call_of_resize(level: Level, op: OpOverload, tensor: Any, size: Sequence[int], **kwargs: Any) -> Any:
    """A view of the memory where that suffices, and else more of it."""
    if not level.holds(tensor):
        with level.left():
            return op(tensor, size, **kwargs)
    if tuple(size) == tuple(tensor.shape) and not kwargs:
        return tensor
    with level.left():
        value = ops.aten.resize(level.value(tensor), list(size), **kwargs)
    offset = tensor.storage_offset()
    if value.numel() > tensor.untyped_storage().nbytes() // tensor.element_size() - offset:
        level.move(tensor, value)
        return tensor
    with plainly():
        shown = _core.as_strided(tensor.geometry, tuple(value.shape), value.stride(), offset)
    level.become(tensor, _strided_view(level, tensor, shown))
    return tensor


def _call_that_writes(level: Level, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if level is shared and not any(map(level.holds, tree_leaves((args, kwargs)))):
        with level.left():
            return op(*args, **kwargs)
    schema = op._schema
    given = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **kwargs}
    form = functional_form(op)
    targets = [_targets(level, op, given[name]) for name in form.writes]
    taken = [a for a in form.op._schema.arguments if a.name not in form.left_out]
    with level.left():
        values = {a.name: _values(level, [given[a.name]])[0] for a in taken}
        positional = [values[a.name] for a in taken if not a.kwarg_only]
        result = by_operator(form.op)(*positional, **{a.name: values[a.name] for a in taken if a.kwarg_only})
        outputs = list(result) if len(form.op._schema.returns) > 1 else [result]
        made = outputs[: len(outputs) - len(targets)]
        for tensors, new in zip(targets, outputs[len(made) :], strict=True):
            for tensor, value in zip(tensors, new if isinstance(new, (list, tuple)) else [new], strict=False):
                fitting = _fitting(op, tensor, value, is_out=bool(form.left_out))
                (level.change if fitting.shape == tensor.shape else level.move)(tensor, fitting)
    return _returned(level, op, given, iter(made))


def _targets(level: Level, op: OpOverload, written: Any) -> list[FunctionalTensor]:
    tensors = [t for t in (written if isinstance(written, (list, tuple)) else [written]) if t is not None]
    if not all(level.holds(tensor) for tensor in tensors):
        raise RuntimeError(
            f"functionalize: {op.name()}: mutating a non-functional tensor with a functional tensor is not allowed. "
            "What the function changes must be among its arguments, or made inside it."
        )
    return tensors


def _fitting(op: OpOverload, target: Tensor, value: Tensor, is_out: bool) -> Tensor:
    """A functional operator's result as the other one stores it: cast to the target's dtype; in place, of its shape."""
    if value.shape != target.shape and not is_out:
        raise RuntimeError(
            f"{op.name()}: output with shape {list(target.shape)} doesn't match the broadcast shape {list(value.shape)}"
        )
    if value.dtype is target.dtype:
        return value
    if not can_cast(value.dtype, target.dtype):
        raise RuntimeError(
            f"{op.name()}: result type {value.dtype} can't be cast to the desired output type {target.dtype}"
        )
    converted: Tensor = ops.aten._to_copy(value, dtype=target.dtype, layout=value.layout)
    return converted


def _returned(level: Level, op: OpOverload, given: dict[str, Any], made: Iterator[Any]) -> Any:
    """What the operator returns: its arguments where the schema says so, else what is new."""
    by_alias = {
        a.alias.before[0]: given[a.name] for a in op._schema.arguments if a.alias is not None and a.alias.before
    }
    results = [
        tree_map(level.wrap, next(made)) if output.alias is None else by_alias[output.alias.before[0]]
        for output in op._schema.returns
    ]
    return tuple(results) if len(results) > 1 else results[0] if results else None


_core.set_own_fallback("Functionalize", _call, f"{__name__}:call")


_core.hooks.fill(apply_functionalized=function_applied)
