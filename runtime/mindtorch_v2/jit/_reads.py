"""What the core tells a trace besides calls of operators: shapes and values that Python code reads, Functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .._core import Tensor
from ._tracer import get_tracing_state, paused, user_line, warn

__all__ = ["constructed", "function_applied", "iterated", "left", "length_read", "shape_read", "value_read"]

_CHECKS_ONLY = frozenset(("mindtorch_v2._indexing",))  # compares shapes with indices; what it calls takes the indices


def shape_read(tensor: Tensor) -> None:
    """A shape becomes a constant of the trace; a later run with another one says so."""
    state = get_tracing_state()
    if state is not None and sys._getframe(1).f_globals.get("__name__") not in _CHECKS_ONLY:
        with paused():
            state.read_shape(tensor, user_line())


def value_read(tensor: Tensor, what: str) -> Any:
    """The value of a tensor of one element, for ``bool(t)``, ``int(t)``, ..."""
    state = get_tracing_state()
    if state is not None:
        state.on_read(what)
    with paused():
        return tensor.item()


def length_read(tensor: Tensor) -> None:
    """``len(t)``."""
    shape_read(tensor)
    if get_tracing_state() is not None:
        warn(
            "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
            "tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give incorrect "
            "results."
        )


def iterated(tensor: Tensor) -> None:
    """``for row in t``."""
    shape_read(tensor)
    if get_tracing_state() is not None:
        warn(
            "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't "
            "change the number of iterations executed (and might lead to errors or silently give incorrect results)."
        )


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
