"""Wrappers of `functionalize`, the memory that they share, and the levels that they belong to.

Wrappers that share memory belong to one alias group, which holds the value of the base; a change of any of them gives
the group a new base, and the others find their values anew when they are next read.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from .. import _core
from .._core import OpOverload, Tensor
from .._inheritance import inherited
from .._modes import stacks
from ..autograd._levels import below, next_level
from ._view_steps import ViewStep

__all__ = [
    "AliasGroup", "FunctionalTensor", "Level", "checked_by", "disable", "enable", "functionalizing", "plainly",
    "reach", "record_inside", "running", "shared", "suspended",
]  # fmt: skip

_T = TypeVar("_T")
_FUNCTIONALIZE, _TRACING = (_core.key_mask(key) for key in ("Functionalize", "Tracing"))
_AUTOGRAD = _core.key_mask("Autograd", "ADInplaceOrView")


class AliasGroup:
    """Tensors that share memory: the value of what they are views of, and how often it changed.

    One that is ``frozen`` is not to be changed. ``left``: the tensor that was the base has other memory since.
    """

    __slots__ = ("base", "frozen", "generation", "left", "strides")

    def __init__(self, base: Tensor, geometry: Tensor) -> None:
        self.base, self.generation = base, 0
        self.frozen = self.left = False
        self.strides = geometry if geometry.is_contiguous() else None  # None: `as_strided` means nothing here


class FunctionalTensor(Tensor):
    """A tensor inside `functionalize`: ``value`` as of ``generation`` of its alias group, reached by ``steps``."""

    group: AliasGroup
    steps: tuple[ViewStep, ...]
    value: Tensor
    generation: int
    geometry: Tensor  # a meta tensor of the same strides and memory
    level: Level
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


class Level:
    """One running call of `functionalize`."""

    def __init__(self, keep_views: bool) -> None:
        self._keep_views = keep_views
        self.number = next_level()
        self._outside = _core.thread_keys()

    @property
    def keep_views(self) -> bool:
        """Whether views stay views, rather than become copies."""
        return self._keep_views

    @contextmanager
    def entered(self) -> Iterator[None]:
        included, excluded = self._outside
        _core.set_thread_keys_(included & ~_TRACING | _FUNCTIONALIZE, excluded & ~_FUNCTIONALIZE | _AUTOGRAD)
        running.push(self)
        try:
            yield
        finally:
            running.pop()
            _core.set_thread_keys_(included, excluded)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Inside, calls run as they would outside the level."""
        before, levels = _core.thread_keys(), running.levels
        _core.set_thread_keys_(*self._keys_outside(*before))
        running.levels = levels[: levels.index(self)] if self in levels else levels
        try:
            with self._transforms_outside():
                yield
        finally:
            running.levels = levels
            _core.set_thread_keys_(*before)

    def _keys_outside(self, included: int, excluded: int) -> tuple[int, int]:
        ours, hidden = _FUNCTIONALIZE | _TRACING, _FUNCTIONALIZE | _TRACING | _AUTOGRAD
        return included & ~ours | self._outside[0] & ours, excluded & ~hidden | self._outside[1] & hidden

    def _transforms_outside(self) -> AbstractContextManager[None]:
        return below(self.number)

    def record(self) -> None:
        """Turns autograd on for the wrappers of this level."""
        included, excluded = _core.thread_keys()
        _core.set_thread_keys_(included, excluded & ~_AUTOGRAD | self._outside[1] & _AUTOGRAD)

    def wrap(self, value: Any) -> Any:
        """A tensor from outside as a wrapper with memory of its own; anything else as it is."""
        if not isinstance(value, Tensor):
            return value
        geometry = _geometry(value)
        return self.wrapper(geometry, AliasGroup(value, geometry), (), value)

    def wrapper(
        self, geometry: Tensor, group: AliasGroup, steps: tuple[ViewStep, ...], value: Tensor
    ) -> FunctionalTensor:
        result: FunctionalTensor = _core.wrapper_over(FunctionalTensor, geometry, value.device, _FUNCTIONALIZE)
        result.group, result.steps, result.value, result.level = group, steps, value, self
        result.generation, result.geometry = 0, geometry  # a view of what has changed is found anew when it is read
        return result

    def holds(self, value: Any) -> bool:
        """Whether a value is a wrapper of this level."""
        return isinstance(value, FunctionalTensor) and value.level is self

    def value(self, tensor: Any) -> Any:
        """What a wrapper stands for by now; anything else as it is. To be called where the level is left."""
        if not self.holds(tensor):
            return tensor
        if tensor.group.left:
            raise RuntimeError("functionalize: a view is read of a tensor that was resized since to more memory")
        if tensor.generation != tensor.group.generation:
            self._renew(tensor)
        return tensor.value

    def _renew(self, tensor: FunctionalTensor) -> None:
        tensor.value = self._along(tensor.group.base, tensor.steps)[-1]
        tensor.generation = tensor.group.generation

    def change(self, tensor: FunctionalTensor, value: Tensor) -> None:
        """Gives a wrapper, and all that share its memory, a new value."""
        group, new = tensor.group, value
        if group.frozen:
            raise RuntimeError("functionalize: a tensor is changed in place whose memory was frozen")
        if _overlaps_itself(tensor.geometry):
            raise RuntimeError(
                "functionalize encountered a tensor being mutated that has internal overlap: more than one element of "
                "the written-to tensor refers to a single memory location. Please clone() the tensor before "
                "performing the operation."
            )
        bases = self._along(group.base, tensor.steps[:-1])
        for step, base in zip(reversed(tensor.steps), reversed(bases), strict=False):
            new = step.backward(base, new, self.keep_views)
        group.base, group.generation = new, group.generation + 1
        self._renew(tensor)

    def become(self, tensor: FunctionalTensor, other: FunctionalTensor) -> None:
        """Makes a wrapper, in place, what another one is."""
        tensor.data = other
        vars(tensor).update(vars(other))

    def move(self, tensor: FunctionalTensor, value: Tensor) -> None:
        """Gives a wrapper a value of another size, for which it has memory of its own from now on."""
        if tensor.steps:
            raise RuntimeError(
                "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass"
            )
        tensor.group.left = True
        self.become(tensor, self.wrap(value))

    def _along(self, base: Tensor, steps: Sequence[ViewStep]) -> list[Tensor]:
        """The base, and what is seen of it after each step."""
        values = [base]
        for step in steps:
            values.append(step.forward(values[-1], self.keep_views))
        return values


class _SharedLevel(Level):
    """The level of wrappers that belong to no call of `functionalize`, which autograd sees as it does any tensor."""

    def __init__(self) -> None:
        self.number = 0

    @property
    def keep_views(self) -> bool:
        """As this thread says."""
        return running.keep_views

    def _keys_outside(self, included: int, excluded: int) -> tuple[int, int]:
        return included & ~_FUNCTIONALIZE, excluded | _FUNCTIONALIZE

    def _transforms_outside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def record(self) -> None:
        """Autograd is on."""


def checked_by(check: Check | None) -> Check | None:
    """Makes ``check`` run this thread's calls: it gets operator, arguments and what runs them. Gives the one before."""
    before, running.check = running.check, check
    return before


def record_inside() -> None:
    """Turns autograd on inside the innermost `functionalize`, where operators composed of others become these."""
    if running.levels:
        running.levels[-1].record()


Check = Callable[[OpOverload, tuple[Any, ...], dict[str, Any], Callable[..., Any]], Any]


class _Running(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []  # the calls of `functionalize` that are running, the outermost first
        self.keep_views = False  # of the level that no call has
        self.check: Check | None = None  # what runs each call, to check it

    def push(self, level: Level) -> None:
        self.levels.append(level)
        stacks.functional = True

    def pop(self) -> None:
        self.levels.pop()
        stacks.functional = bool(self.levels)


running = inherited(_Running())
shared = _SharedLevel()


def enable(keep_views: bool) -> None:
    """From now on what this thread makes is a wrapper of the level `shared`. Raises RuntimeError where that is so."""
    included, excluded = _core.thread_keys()
    if running.levels:
        raise RuntimeError("multiple layers of mode-style functionalization nesting is not currently supported")
    _core.set_thread_keys_(included | _FUNCTIONALIZE, excluded)
    running.keep_views = keep_views
    running.push(shared)


@contextmanager
def functionalizing(keep_views: bool) -> Iterator[None]:
    """Inside, what this thread makes is a wrapper of the level `shared`, whatever is excluded outside."""
    included, excluded = before = _core.thread_keys()
    kept, levels = running.keep_views, running.levels
    _core.set_thread_keys_(included | _FUNCTIONALIZE, excluded & ~_FUNCTIONALIZE)
    running.keep_views, running.levels = keep_views, []
    running.push(shared)
    try:
        yield
    finally:
        _core.set_thread_keys_(*before)
        running.keep_views, running.levels = kept, levels
        stacks.functional = bool(levels)


@contextmanager
def suspended() -> Iterator[None]:
    """Inside, nothing is functionalized: what is made is no wrapper, and wrappers are not to be used."""
    included, excluded = before = _core.thread_keys()
    levels, running.levels, stacks.functional = running.levels, [], False
    _core.set_thread_keys_(included & ~_FUNCTIONALIZE, excluded | _FUNCTIONALIZE)
    try:
        yield
    finally:
        _core.set_thread_keys_(*before)
        running.levels, stacks.functional = levels, bool(levels)


def disable() -> None:
    """Takes `enable` back."""
    included, excluded = _core.thread_keys()
    _core.set_thread_keys_(included & ~_FUNCTIONALIZE, excluded)
    if shared in running.levels:
        running.pop()


# ---------------------------------------------------------------- geometry


def _geometry(value: Tensor) -> Tensor:
    """A meta tensor with the value's strides and offset, over as much memory as they reach, and kept as it is."""
    memory = _core.alloc((reach(value),), value.dtype, "meta")
    with plainly():
        shown = _core.as_strided(memory, tuple(value.shape), value.stride(), value.storage_offset())
    for key in ("Conjugate", "Negative"):
        if _core.is_kept(value, key):
            shown = _core.kept_otherwise(shown, key)
    return shown


def reach(tensor: Tensor) -> int:
    """How many elements of its memory a tensor needs, from the first on."""
    spans = ((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.storage_offset() + (sum(spans) + 1 if tensor.numel() else 0)


def _overlaps_itself(tensor: Tensor) -> bool:
    """Whether some of its elements must lie in one place: there are more than there is room for."""
    stays = any(step == 0 and size > 1 for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return stays or tensor.numel() > reach(tensor) - tensor.storage_offset()


@contextmanager
def plainly() -> Iterator[None]:
    """Inside, calls go straight to the kernels: for meta tensors that are geometry only."""
    included, excluded = _core.thread_keys()
    _core.set_thread_keys_(0, excluded | _AUTOGRAD | _TRACING | _FUNCTIONALIZE)
    try:
        yield
    finally:
        _core.set_thread_keys_(included, excluded)
