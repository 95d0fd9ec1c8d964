"""Context managers over the dispatch of a thread's calls, by PyTorch's inner names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core import OpOverload, Tensor
from .._ops import ops
from .._subclasses.fake_tensor import FakeTensorMode
from ..func._functional_levels import FunctionalTensor, checked_by
from ..func._functional_levels import suspended as suspend_functionalization
from ..utils._python_dispatch import _disable_current_modes
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["enable_crossref_functionalize", "enable_python_dispatcher", "suspend_functionalization"]


@contextmanager
def enable_python_dispatcher() -> Iterator[None]:
    """Inside, kernels that are written in Python run, which they do here outside, too."""
    yield


@contextmanager
def enable_crossref_functionalize() -> Iterator[None]:
    """Inside, each call that is functionalized is run a second time, on tensors without memory.

    Raises AssertionError where shapes, strides, dtypes or devices of the results differ, and where those of a
    functional tensor are not those of what it stands for, as of views that are copies.
    """
    before = checked_by(_both)
    try:
        yield
    finally:
        checked_by(before)


def _both(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], run: Any) -> Any:
    if op is ops.aten.lift_fresh.default:  # of a tensor that nothing knows
        return run(op, *args, **kwargs)
    mode = FakeTensorMode()

    def fake(value: Any) -> Any:
        return mode.from_tensor(_inner(value)) if isinstance(value, Tensor) else value

    with _disable_current_modes(), suspend_functionalization():
        given, named = tree_map(fake, (args, kwargs))
        with mode:
            expected = op(*given, **named)
    result = run(op, *args, **kwargs)
    pairs = zip(tree_leaves(result), tree_leaves(expected), strict=True)
    for found, wanted in pairs:
        if isinstance(wanted, Tensor):
            _compare(op, _inner(found), wanted)
    return result


def _inner(tensor: Tensor) -> Tensor:
    """What a wrapper stood for when it was last read, which is to lie in memory as the wrapper says."""
    if not isinstance(tensor, FunctionalTensor):
        return tensor
    _compare("a functional tensor", tensor.value, tensor)
    return tensor.value


def _compare(what: Any, found: Tensor, wanted: Tensor) -> None:
    for name in ("shape", "dtype", "device"):
        if getattr(found, name) != getattr(wanted, name):
            raise AssertionError(f"{what}: {name} is {getattr(found, name)}, expected {getattr(wanted, name)}")
    if found.stride() != wanted.stride():
        raise AssertionError(f"{what}: strides are {found.stride()}, expected {wanted.stride()}")
