"""What a fake rule may ask of its caller: `get_ctx`, for outputs whose size depends on data."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._core import OpOverload

__all__ = ["DynamicSize", "FakeImplCtx", "dynamic_sizes", "get_ctx", "in_fake_rule"]

# Dynamic sizes are stood for by integers that no real shape has; tensors without data may be that large.
_FIRST_DYNAMIC = 1_000_000_007


class DynamicSize(tuple[int, int, "int | None"]):
    """``(placeholder, min, max)`` of one size that a fake rule asked for."""

    __slots__ = ()


class _Running(threading.local):
    def __init__(self) -> None:
        self.contexts: list[FakeImplCtx] = []
        self.sizes: list[DynamicSize] | None = None  # None: sizes that depend on data cannot be had


_running = _Running()


class FakeImplCtx:
    """What `get_ctx` returns inside a fake rule."""

    def __init__(self, op: OpOverload) -> None:
        self._op = op

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> int:
        """The older name of `new_dynamic_size`."""
        return self.new_dynamic_size(min=min, max=max)

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size between ``min`` and ``max`` that only the data tells.

        Raises ValueError for a negative ``min``, RuntimeError where the rule runs on plain meta tensors.
        """
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: this API can "
                "only create non-negative sizes."
            )
        if _running.sizes is None:
            raise RuntimeError(
                f"{self._op.name()}: get_ctx().new_dynamic_size() was called for meta tensors. The operator has a "
                "data-dependent output shape: a data-dependent shape is not known without data, so there is no meta "
                "implementation and this error is the correct behavior."
            )
        return new_size(min, max)


def allows_dynamic_sizes() -> bool:
    """Whether fake rules may ask for sizes that only values tell."""
    return _running.sizes is not None


def new_size(min: int, max: int | None) -> int:
    """Such a size, which a number stands for. Raises RuntimeError where there may be none."""
    if _running.sizes is None:
        raise RuntimeError("a size that only values tell stands for itself where it may: inside dynamic_sizes()")
    size = DynamicSize((_FIRST_DYNAMIC + len(_running.sizes), min, max))
    _running.sizes.append(size)
    return size[0]


def get_ctx() -> FakeImplCtx | None:
    """The context of the fake rule that is running; None outside of one."""
    return _running.contexts[-1] if _running.contexts else None


def in_fake_rule(op: OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` as the fake rule of ``op``: `get_ctx` works while it runs."""

    @functools.wraps(function)
    def rule(*args: Any, **kwargs: Any) -> Any:
        _running.contexts.append(FakeImplCtx(op))
        try:
            return function(*args, **kwargs)
        finally:
            _running.contexts.pop()

    return rule


@contextmanager
def dynamic_sizes() -> Iterator[list[DynamicSize]]:
    """Inside, fake rules may ask for sizes that depend on data; gives the list of those they asked for."""
    outer, _running.sizes = _running.sizes, []
    try:
        yield _running.sizes
    finally:
        _running.sizes = outer
