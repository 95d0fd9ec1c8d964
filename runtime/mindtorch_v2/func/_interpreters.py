"""Which transforms run, and what a tensor is to them, under PyTorch's inner names: ``torch._C._functorch``.

In PyTorch each level wraps the tensors that are made inside of it. Here only `vmap` does; of the others, which
differentiate one graph for all, a tensor knows the transform that it was made in. To ask of "wrappers" is to ask of
both, from the inside out.
"""

from __future__ import annotations

import enum
import textwrap
from contextlib import AbstractContextManager
from typing import NamedTuple

from .. import _core
from .._core import Tensor
from .._hooks import hooks
from .._printing import tensor_repr
from ..autograd._levels import running_transforms, transforms_below
from ._batching import BatchedTensor, batch
from ._batching import fallback_enabled as _is_vmap_fallback_enabled  # noqa: F401  (PyTorch's names)
from ._batching import set_fallback_enabled_ as _set_vmap_fallback_enabled  # noqa: F401

__all__ = [
    "Interpreter",
    "TransformType",
    "current_level",
    "dlevel",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "maybe_get_bdim",
    "maybe_get_level",
    "peek_interpreter_stack",
]

_DEAD = -2  # the level of a tensor whose transform is over, as PyTorch prints it
_EVERY_NUMBER = 1 << 62


class TransformType(enum.Enum):
    """What a transform is."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class Interpreter:
    """A transform that runs, as the rules of a `HigherOrderOperator` get it."""

    def __init__(self, number: int, kind: str, level: int) -> None:
        self._number, self._kind, self._level = number, kind, level

    def key(self) -> TransformType:
        """What the transform is."""
        return TransformType[self._kind]

    def level(self) -> int:
        """How deep it is nested: 1 for the outermost."""
        return self._level

    def lower(self) -> AbstractContextManager[None]:
        """``with interpreter.lower():`` what runs is outside of the transform: the next one outside gets it."""
        return transforms_below(self._number)


class _Wrapper(NamedTuple):
    """A transform, as one that a tensor is wrapped for."""

    number: int
    level: int
    batched: bool


def peek_interpreter_stack() -> Interpreter | None:
    """The innermost transform that runs on this thread, or None."""
    stack = running_transforms()
    return Interpreter(*stack[-1], len(stack)) if stack else None


def current_level() -> int:
    """How many transforms run on this thread."""
    return len(running_transforms())


def _level_of(number: int) -> int:
    """How deep a transform is nested; `_DEAD` for one that is over."""
    return next((at for at, (other, _) in enumerate(running_transforms(), 1) if other == number), _DEAD)


def _number_of(level: int) -> int:
    """The transform at a level. Raises RuntimeError where there is none."""
    stack = running_transforms()
    if not 1 <= level <= len(stack):
        raise RuntimeError(f"there is no transform at level {level}: {len(stack)} run")
    return stack[level - 1][0]


def _wrapper(tensor: Tensor, below: int = _EVERY_NUMBER) -> _Wrapper | None:
    """The innermost transform that a tensor is wrapped for, of those with lower numbers than ``below``."""
    batch_number = tensor.level if isinstance(tensor, BatchedTensor) else 0
    born = _core.born(tensor)
    for level, (number, kind) in reversed([*enumerate(running_transforms(), 1)]):
        if batch_number < number < below and number <= born and kind in ("Grad", "Jvp"):
            return _Wrapper(number, level, False)
    if batch_number:
        return _Wrapper(batch_number, _level_of(batch_number), True)
    is_dead = 0 < born < below and tensor.requires_grad and _level_of(born) == _DEAD
    return _Wrapper(born, _DEAD, False) if is_dead else None


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor is one of `vmap`'s to the innermost transform that wraps it."""
    found = _wrapper(tensor)
    return found is not None and found.batched


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether the innermost transform that wraps a tensor differentiates."""
    found = _wrapper(tensor)
    return found is not None and not found.batched


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a transform wraps a tensor."""
    return _wrapper(tensor) is not None


def maybe_get_level(tensor: Tensor) -> int:
    """How deep the innermost transform that wraps a tensor is nested; -1: none does, -2: it is over."""
    found = _wrapper(tensor)
    return -1 if found is None else found.level


def maybe_get_bdim(tensor: Tensor) -> int:
    """Which dimension of what it stands for a tensor of `vmap` lacks; -1 for others."""
    return tensor.batch_dim if is_batchedtensor(tensor) and isinstance(tensor, BatchedTensor) else -1


def dlevel(tensor: Tensor) -> int:
    """The level of a tensor that is differentiated; 0 for others, -1 where that transform is over."""
    found = _wrapper(tensor)
    return 0 if found is None or found.batched else max(found.level, -1)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """What the innermost transform wraps. Raises RuntimeError for a tensor that none does."""
    found = _wrapper(tensor)
    if found is None:
        raise RuntimeError("No wrappers present!")
    return tensor.value if found.batched and isinstance(tensor, BatchedTensor) else _core.without_history(tensor)


def _add_batch_dim(tensor: Tensor, dim: int, level: int) -> Tensor:
    """The tensor of `vmap` at a level that stands for the samples of ``tensor`` along ``dim``."""
    return batch(tensor, dim, _number_of(level))


def _unwrap_for_grad(tensor: Tensor, level: int) -> Tensor:
    """What the transform at a level, which differentiates, wraps: outside of its graph; others as they are."""
    found = _wrapper(tensor)
    is_its = found is not None and not found.batched and found.level == level
    return _core.without_history(tensor) if is_its else tensor


def _wrap_for_grad(tensor: Tensor, level: int) -> Tensor:
    """A tensor as one of the transform at a level."""
    _number_of(level)
    return _core.adopt_(_core.without_history(tensor))


def _shown(tensor: Tensor) -> str | None:
    """How a tensor of a transform prints, as PyTorch prints its wrapper; None for a tensor of none."""
    return None if _wrapper(tensor) is None else _text(tensor, _EVERY_NUMBER)


def _text(tensor: Tensor, below: int) -> str:
    found = _wrapper(tensor, below)
    if found is None:
        return tensor_repr(tensor) if type(tensor).__repr__ is Tensor.__repr__ else repr(tensor)
    if found.batched and isinstance(tensor, BatchedTensor):
        what, inner = f"BatchedTensor(lvl={found.level}, bdim={tensor.batch_dim}", tensor.value
    else:  # the same tensor to the transforms outside, which have a graph of their own in PyTorch
        what, inner = f"GradTrackingTensor(lvl={found.level}", _core.apart(tensor)
    return f"{what}, value=\n{textwrap.indent(_text(inner, found.number), '    ')}\n)"


def _is_sample(tensor: Tensor) -> bool:
    """Whether a tensor is one of a `vmap` that runs: not of one that is no transform to what it calls."""
    return isinstance(tensor, BatchedTensor) and _level_of(tensor.level) != _DEAD


hooks.fill(is_sample=_is_sample, transformed_repr=_shown, innermost_transform=peek_interpreter_stack)
