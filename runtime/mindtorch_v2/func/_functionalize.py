"""`functionalize`: a function without changes in place, or without views too, that computes the same.

Inside, tensors are wrappers. Those that share memory belong to one alias group, which holds the value of the base; a
change of any of them gives the group a new base, and the others find their values anew when they are next read.

A call of `functionalize` is a level. Wrappers carry the key Functionalize, at which a call becomes calls of functional
operators on the values; these run with the thread's keys as they were outside, so that autograd, traces and modes
outside see functional operators only. Autograd inside is off until the function asks for gradients of its own.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from .. import _core
from .._core import OpOverload, Tensor
from .._functional import can_cast
from .._inheritance import inherited
from .._ops import ops
from ..autograd._levels import below, in_transform, next_level
from ..utils._pytree import tree_map
from ._functional_forms import functional_form
from ._view_steps import ViewStep

__all__ = ["FunctionalTensor", "functionalize"]

_T = TypeVar("_T")
_FUNCTIONALIZE, _TRACING, _META = (_core.key_mask(key) for key in ("Functionalize", "Tracing", "Meta"))
_AUTOGRAD = _core.key_mask("Autograd", "ADInplaceOrView")
_REMOVES = {"mutations": True, "mutations_and_views": False}  # whether views stay


class _AliasGroup:
    """Tensors that share memory: the value of what they are views of, and how often it changed."""

    __slots__ = ("base", "generation", "strides")

    def __init__(self, base: Tensor, geometry: Tensor) -> None:
        self.base, self.generation = base, 0
        self.strides = geometry if geometry.is_contiguous() else None  # None: `as_strided` means nothing here


class FunctionalTensor(Tensor):
    """A tensor inside `functionalize`: ``value`` as of ``generation`` of its alias group, reached by ``steps``."""

    group: _AliasGroup
    steps: tuple[ViewStep, ...]
    value: Tensor
    generation: int
    geometry: Tensor  # a meta tensor of the same strides and memory
    level: _Level
    __torch_function__ = _core.disabled_torch_function

    def requires_grad_(self, requires_grad: bool = True) -> FunctionalTensor:
        """As of any tensor; the level records for backward from here on."""
        if requires_grad:
            self.level.record()
        super().requires_grad_(requires_grad)
        return self

    # Reads of the value go on outside, where a trace sees of what Python type it becomes.
    def __bool__(self) -> bool:
        return self._read(bool)

    def __int__(self) -> int:
        return self._read(int)

    def __float__(self) -> float:
        return self._read(float)

    def __index__(self) -> int:
        return self._read(operator.index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._read(lambda value: value.tolist())

    def numpy(self, *, force: bool = False) -> Any:
        """Raises RuntimeError: the array would share memory that does not follow changes."""
        raise RuntimeError("functionalize: .numpy() is not supported for tensor subclasses, which have no memory")

    def _read(self, read: Callable[[Any], _T]) -> _T:
        with self.level.left():
            return read(self.level.value(self))

    def __repr__(self) -> str:
        return f"FunctionalTensor({self.value!r})"


class _Level:
    """One running call of `functionalize`."""

    def __init__(self, keep_views: bool) -> None:
        self.keep_views = keep_views
        self.number = next_level()
        self._outside = _core.thread_keys()

    @contextmanager
    def entered(self) -> Iterator[None]:
        included, excluded = self._outside
        _core.set_thread_keys_(included & ~_TRACING | _FUNCTIONALIZE, excluded | _AUTOGRAD)
        _open.levels.append(self)
        try:
            yield
        finally:
            _open.levels.pop()
            _core.set_thread_keys_(included, excluded)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Inside, calls run as they would outside the level."""
        included, excluded = before = _core.thread_keys()
        ours, hidden = _FUNCTIONALIZE | _TRACING, _FUNCTIONALIZE | _TRACING | _AUTOGRAD
        _core.set_thread_keys_(
            included & ~ours | self._outside[0] & ours, excluded & ~hidden | self._outside[1] & hidden
        )
        _open.levels.pop()
        try:
            with below(self.number):
                yield
        finally:
            _open.levels.append(self)
            _core.set_thread_keys_(*before)

    def record(self) -> None:
        """Turns autograd on for the wrappers of this level."""
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded & ~_AUTOGRAD | self._outside[1] & _AUTOGRAD)

    def wrap(self, value: Any) -> Any:
        """A tensor from outside as a wrapper with memory of its own; anything else as it is."""
        if not isinstance(value, Tensor):
            return value
        geometry = _geometry(value)
        return self.wrapper(geometry, _AliasGroup(value, geometry), (), value)

    def wrapper(
        self, geometry: Tensor, group: _AliasGroup, steps: tuple[ViewStep, ...], value: Tensor
    ) -> FunctionalTensor:
        result: FunctionalTensor = _core.wrapper_over(FunctionalTensor, geometry, value.device, _FUNCTIONALIZE)
        result.group, result.steps, result.value, result.level = group, steps, value, self
        result.generation, result.geometry = group.generation, geometry
        return result

    def holds(self, value: Any) -> bool:
        """Whether a value is a wrapper of this level."""
        return isinstance(value, FunctionalTensor) and value.level is self

    def value(self, tensor: Any) -> Any:
        """What a wrapper stands for by now; anything else as it is. To be called where the level is left."""
        if not self.holds(tensor):
            return tensor
        if tensor.generation != tensor.group.generation:
            tensor.value = self._along(tensor.group.base, tensor.steps)[-1]
            tensor.generation = tensor.group.generation
        return tensor.value

    def change(self, tensor: FunctionalTensor, value: Tensor) -> None:
        """Gives a wrapper, and all that share its memory, a new value."""
        group, new = tensor.group, value
        bases = self._along(group.base, tensor.steps[:-1])
        for step, base in zip(reversed(tensor.steps), reversed(bases), strict=False):
            new = step.backward(base, new, self.keep_views)
        group.base, group.generation = new, group.generation + 1
        tensor.value, tensor.generation = value, group.generation

    def _along(self, base: Tensor, steps: Sequence[ViewStep]) -> list[Tensor]:
        """The base, and what is seen of it after each step."""
        values = [base]
        for step in steps:
            values.append(step.forward(values[-1], self.keep_views))
        return values


def record_inside() -> None:
    """Turns autograd on inside the innermost `functionalize`, where operators composed of others become these."""
    if _open.levels:
        _open.levels[-1].record()


class _Open(threading.local):
    def __init__(self) -> None:
        self.levels: list[_Level] = []  # the calls of `functionalize` that are running, the outermost first


_open = inherited(_Open())


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
        level = _Level(_REMOVES[remove])
        wrappers: dict[int, tuple[Tensor, FunctionalTensor]] = {}

        def wrapped(leaf: Any) -> Any:
            if isinstance(leaf, Tensor) and id(leaf) not in wrappers:
                wrappers[id(leaf)] = leaf, level.wrap(leaf)
            return wrappers[id(leaf)][1] if isinstance(leaf, Tensor) else leaf

        inputs = tree_map(wrapped, list(args)), tree_map(wrapped, kwargs)
        with level.entered(), in_transform(level.number, "Functionalize"):
            result = func(*inputs[0], **inputs[1])
        output = tree_map(level.value, result)
        _write_back(level, list(wrappers.values()))
        return output

    return functional


def _write_back(level: _Level, inputs: Sequence[tuple[Tensor, FunctionalTensor]]) -> None:
    for tensor, wrapper in inputs:
        if not wrapper.group.generation:
            continue
        if any(other is not tensor and other.untyped_storage() is tensor.untyped_storage() for other, _ in inputs):
            raise RuntimeError(
                "functionalize(f): f changed an argument in place that shares memory with another argument. Pass one "
                "of them, and make the other one inside f by a view."
            )
        ops.aten.copy_(tensor, level.value(wrapper))


def _geometry(value: Tensor) -> Tensor:
    """A meta tensor with the value's strides and offset, over as much memory as they reach."""
    shape, strides, offset = tuple(value.shape), value.stride(), value.storage_offset()
    reach = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1 if value.numel() else 0
    with _plainly():
        return _core.as_strided(_core.alloc((offset + reach,), value.dtype, "meta"), shape, strides, offset)


@contextmanager
def _plainly() -> Iterator[None]:
    """Inside, calls go straight to the kernels: for meta tensors that are geometry only."""
    included, excluded = _core.thread_keys()
    _core.set_thread_keys_(0, excluded | _AUTOGRAD | _TRACING | _FUNCTIONALIZE)
    try:
        yield
    finally:
        _core.set_thread_keys_(included, excluded)


# ---------------------------------------------------------------- calls


def function_applied(cls: Any, args: tuple[Any, ...]) -> Any:
    """``apply`` of an `autograd.Function` that autograd outside records, as one step; NotImplemented for others."""
    level = _open.levels[-1]
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
    if not _open.levels:
        raise RuntimeError(f"{op.name()}: a tensor that was made inside `functionalize` is used outside of it")
    level = _open.levels[-1]
    schema = op._schema
    if any(a.is_write for a in schema.arguments):
        return _call_that_writes(level, op, args, kwargs)
    if any(output.alias is not None for output in schema.returns):
        return _call_of_view(level, op, args, kwargs)
    return _call_functional(level, op, args, kwargs)


def _call_functional(level: _Level, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with level.left():
        result = op(*_values(level, args), **_values(level, kwargs))
    return tree_map(level.wrap, result)


def _values(level: _Level, tree: Any) -> Any:
    return tree_map(level.value, tree)


def _call_of_view(level: _Level, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor: Any = args[0]
    if not level.holds(tensor):
        with level.left():
            return op(*_values(level, args), **_values(level, kwargs))  # of a tensor from outside: not to be changed
    composite = op.kernel("CompositeImplicitAutograd")
    if composite is not None:
        return op.call_kernel(composite, *args, **kwargs)
    with _plainly():
        shown = op.redispatch(_META, tensor.geometry, *args[1:], **kwargs)
    if isinstance(shown, (list, tuple)):
        steps = [ViewStep(op, args[1:], tuple(kwargs.items()), i) for i in range(len(shown))]
        return type(shown)(_view(level, tensor, step, part) for step, part in zip(steps, shown, strict=True))
    if shown is tensor.geometry:
        return tensor
    if shown.untyped_storage() is not tensor.geometry.untyped_storage():  # `reshape`, where that cannot be a view
        with level.left():
            result = op(*_values(level, args), **_values(level, kwargs))
            if result.untyped_storage() is level.value(tensor).untyped_storage():
                result = ops.aten.clone(result)
        return level.wrap(result)
    return _view(level, tensor, _step(op, tensor, args[1:], kwargs, shown), shown)


def _step(
    op: OpOverload, tensor: FunctionalTensor, args: tuple[Any, ...], kwargs: dict[str, Any], shown: Tensor
) -> ViewStep:
    name = op._schema.name
    if name == "reshape":
        return ViewStep(ops.aten.view.default, (list(shown.shape),))
    if name != "as_strided":
        return ViewStep(op, args, tuple(kwargs.items()))
    base = tensor.group.strides
    if base is None or shown.storage_offset() < base.storage_offset():
        raise RuntimeError(
            "cannot functionalize: as_strided() of a tensor whose base is not contiguous, or that reaches before it, "
            "depends on memory and not on values only"
        )
    return ViewStep(op, (list(shown.shape), list(shown.stride()), shown.storage_offset() - base.storage_offset()))


def _view(level: _Level, tensor: FunctionalTensor, step: ViewStep, geometry: Tensor) -> FunctionalTensor:
    steps = (step,) if step.op._schema.name == "as_strided" else (*tensor.steps, step)
    with level.left():
        source = tensor.group.base if len(steps) == 1 else level.value(tensor)
        value = step.forward(source, level.keep_views)
    return level.wrapper(geometry, tensor.group, steps, value)


def _call_that_writes(level: _Level, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    schema = op._schema
    given = {**dict(zip((a.name for a in schema.arguments), args, strict=False)), **kwargs}
    form = functional_form(op)
    targets = [_targets(level, op, given[name]) for name in form.writes]
    taken = [a for a in form.op._schema.arguments if a.name not in form.left_out]
    with level.left():
        values = {a.name: _values(level, [given[a.name]])[0] for a in taken}
        positional = [values[a.name] for a in taken if not a.kwarg_only]
        result = form.op(*positional, **{a.name: values[a.name] for a in taken if a.kwarg_only})
        outputs = list(result) if len(form.op._schema.returns) > 1 else [result]
        made = outputs[: len(outputs) - len(targets)]
        for tensors, new in zip(targets, outputs[len(made) :], strict=True):
            for tensor, value in zip(tensors, new if isinstance(new, (list, tuple)) else [new], strict=False):
                level.change(tensor, _fitting(op, tensor, value))
    return _returned(level, op, given, iter(made))


def _targets(level: _Level, op: OpOverload, written: Any) -> list[FunctionalTensor]:
    tensors = [t for t in (written if isinstance(written, (list, tuple)) else [written]) if t is not None]
    if not all(level.holds(tensor) for tensor in tensors):
        raise RuntimeError(
            f"functionalize: {op.name()}: mutating a non-functional tensor with a functional tensor is not allowed. "
            "What the function changes must be among its arguments, or made inside it."
        )
    return tensors


def _fitting(op: OpOverload, target: Tensor, value: Tensor) -> Tensor:
    """A functional operator's result as the in-place one stores it: of the target's shape, cast to its dtype."""
    if value.shape != target.shape:
        raise RuntimeError(
            f"{op.name()}: output with shape {list(target.shape)} doesn't match the broadcast shape {list(value.shape)}"
        )
    if value.dtype is target.dtype:
        return value
    if not can_cast(value.dtype, target.dtype):
        raise RuntimeError(
            f"{op.name()}: result type {value.dtype} can't be cast to the desired output type {target.dtype}"
        )
    converted: Tensor = ops.aten._to_copy(value, dtype=target.dtype)
    return converted


def _returned(level: _Level, op: OpOverload, given: dict[str, Any], made: Iterator[Any]) -> Any:
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
