"""What the core tells a trace besides calls of operators: shapes and values that Python code reads, Functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Size, Tensor
from .._frames import is_ours, user_line
from .._hooks import hooks
from ._tracer import TracingState, get_tracing_state, paused, warn

__all__ = [
    "constructed", "count_read", "function_applied", "iterated", "left", "length_read", "number_taken", "shape_read",
    "size_read", "value_read",
]  # fmt: skip

_CHECKS_ONLY = frozenset(("mindtorch_v2._indexing",))  # compares shapes with indices; what it calls takes the indices


def shape_read(tensor: Tensor) -> Any:
    """``t.shape``: user code gets sizes that the trace knows, 0-d tensors, so that a run with other sizes is right."""
    state = get_tracing_state()
    with paused():
        shape = tensor.shape
        if state is None or not state.varies(tensor):
            return shape
        if _by_the_runtime(state, tensor):
            return shape
        sizes: Any = [state.size_of(tensor, dim) for dim in range(len(shape))]
        return tuple.__new__(Size, sizes)  # of tensors, which Size itself would read


def size_read(tensor: Tensor, dim: int) -> Any:
    """``t.size(dim)``, as `shape_read` has it."""
    state = get_tracing_state()
    with paused():
        if state is None or not state.varies(tensor) or _by_the_runtime(state, tensor):
            return tensor.size(dim)
        return state.size_of(tensor, dim)


def count_read(tensor: Tensor) -> Any:
    """``t.numel()``, as `shape_read` has it."""
    state = get_tracing_state()
    with paused():
        if state is None or not state.varies(tensor) or _by_the_runtime(state, tensor):
            return tensor.numel()
        return state.count_of(tensor)


def number_taken(tensor: Tensor) -> Any:
    """A 0-d tensor where an operator takes a number: an int or float that remembers which value of the trace it is."""
    state = get_tracing_state()
    with paused():
        number = tensor.item()
        return number if state is None else state.as_number(tensor, number)


def _by_the_runtime(state: TracingState, tensor: Tensor) -> bool:
    """What the runtime's own Python code reads becomes a constant; a run with another shape says so."""
    caller = sys._getframe(2)
    if not is_ours(caller.f_code.co_filename):
        return False
    if caller.f_globals.get("__name__") not in _CHECKS_ONLY:
        state.read_shape(tensor, user_line())
    return True


def value_read(tensor: Tensor, what: str) -> Any:
    """The value of a tensor of one element, for ``bool(t)``, ``int(t)``, ..."""
    state = get_tracing_state()
    if state is not None:
        state.on_read(what)
    with paused():
        return tensor.item()


def length_read(tensor: Tensor) -> None:
    """``len(t)``."""
    _becomes_constant(tensor)
    if get_tracing_state() is not None:
        warn(
            "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
            "tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give incorrect "
            "results."
        )


def iterated(tensor: Tensor) -> None:
    """``for row in t``."""
    _becomes_constant(tensor)
    if get_tracing_state() is not None:
        warn(
            "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
            "change the number of iterations executed (and might lead to errors or silently give incorrect results)."
        )


def _becomes_constant(tensor: Tensor) -> None:
    state = get_tracing_state()
    if state is not None:
        with paused():
            state.read_shape(tensor, user_line())


def constructed(make: Callable[[], Tensor]) -> Tensor:
    """``torch.tensor(...)``: a constant, of which each run gets a copy, as it may change it."""
    if get_tracing_state() is not None:
        warn(
            "torch.tensor results are registered as constants in the trace. You can safely ignore this warning if you "
            "use this function to create tensors out of constant variables that would be the same every time you call "
            "this function. In any other case, this might cause the trace to be incorrect."
        )
    with paused():
        constant = make()
    copy: Tensor = constant.clone()
    return copy


def left(what: str, read: Callable[[], Any]) -> Any:
    """Elements go where no trace sees them: into a NumPy array or a list."""
    state = get_tracing_state()
    if state is not None:
        state.on_read(what)
    with paused():
        return read()


def function_applied(cls: Any, args: tuple[Any, ...]) -> Any:
    """``MyFunction.apply(...)``."""
    state = get_tracing_state()
    with paused():
        if state is None:
            return cls.apply(*args)
        return state.record_function(cls, args)


_core.hooks.fill(
    apply_traced=function_applied,
    count_read=count_read,
    iterated=iterated,
    length_read=length_read,
    number_taken=number_taken,
    shape_read=shape_read,
    size_read=size_read,
    value_read=value_read,
)
hooks.fill(constructed=constructed, left=left)
