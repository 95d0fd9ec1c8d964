"""PyTorch's ``torch.autograd.forward_ad``: dual tensors, whose tangents every operator propagates."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from .._argument_types import as_int, names_wrong_types
from .._core import Tensor
from .._hooks import hooks
from .._ops import ops
from . import _forward, _forward_functions
from ._decorators import ContextDecorator
from ._levels import ForwardLevel, hidden_from, is_propagating, set_propagating_

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_open: list[ForwardLevel] = []  # PyTorch allows one at a time
_current_level = -1  # the number of the open one; -1: none is
_is_fwd_grad_enabled = is_propagating


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns; ``tangent`` is None for a tensor that is not dual."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Opens the level at which dual tensors live, and returns its number. Raises RuntimeError where one is open."""
    if _open:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: a dual level is open. `torch.func.jvp` nests."
        )
    global _current_level
    _open.append(open_level())
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level: tensors lose their tangents. Raises RuntimeError where ``level`` is not the open one."""
    number = len(_open) - 1 if level is None else level
    if number != len(_open) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if number < 0:
        raise RuntimeError("Dual level must be a positive number: no level is open.")
    global _current_level
    close_level(_open.pop())
    _current_level = -1


class dual_level(ContextDecorator):  # noqa: N801  (PyTorch's name)
    """``with dual_level():`` or ``@dual_level()`` opens the level, and closes it whatever happens."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled(ContextDecorator):  # noqa: N801
    """Says at once, or inside ``with``, whether operators of this thread propagate tangents."""

    def __init__(self, mode: bool) -> None:
        self._mode, self._before = mode, is_propagating()
        set_propagating_(mode)

    def __enter__(self) -> None:
        """It holds already."""

    def __exit__(self, *exc: object) -> None:
        set_propagating_(self._before)

    def clone(self) -> _set_fwd_grad_enabled:
        """Another one of the same mode."""
        return type(self)(self._mode)


@names_wrong_types
def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` with a tangent of the same shape, which is kept as it is where its layout is the tensor's.

    Raises RuntimeError without an open level, for another shape, or where the tensor is dual already, and ValueError
    for integers.
    """
    if (len(_open) - 1 if level is None else level) < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if not 0 <= _number("make_dual", level) < len(_open):
        raise RuntimeError(f"Invalid level given to make_dual: {level}; there are {len(_open)} open levels")
    _refuse_batch("_make_dual", tensor, tangent)
    return make_dual_at(_open[0], tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal, a view without the tangent, and the tangent itself, of a dual tensor."""
    number = _number("unpack_dual", level)
    if number < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if number >= len(_open):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*unpack_dual_at(_open[0], tensor))


def _refuse_batch(name: str, *tensors: Tensor) -> None:
    """As in PyTorch, the level of dual tensors is outside of every `vmap`, whose tensors are none to it."""
    for tensor in tensors:
        if hooks.is_sample is not None and hooks.is_sample(tensor):
            raise RuntimeError(
                f"Batching rule not implemented for aten::{name}; the fallback path doesn't work on out= or view ops. "
                "Inside of vmap use torch.func.jvp, which nests."
            )


def _number(function: str, level: int | None) -> int:
    """The number of a level, -1 where it is left out and none is open, or is less than 0."""
    if level is None:
        return len(_open) - 1
    try:
        closed = bool(level < 0)
    except TypeError:
        raise TypeError(f"{function}(): argument 'level' must be int, not {type(level).__name__}") from None
    return -1 if closed else as_int(function, "level", level)


def open_level() -> ForwardLevel:
    """A new innermost level; see `close_level`."""
    level = ForwardLevel()
    _forward.open_levels[level.number] = level
    return level


def close_level(level: ForwardLevel) -> None:
    """Closes a level of `open_level`."""
    del _forward.open_levels[level.number]
    level.close()


def make_dual_at(level: ForwardLevel, tensor: Tensor, tangent: Tensor) -> Tensor:
    """`make_dual` at any level."""
    if level.get(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if level.get(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported: take the "
            "tangent's primal by `unpack_dual`."
        )
    with hidden_from(level.number):
        dual: Tensor = _core.adopt_(_alias(tensor))
        _forward.set_tangent(dual, tangent, level)
    return dual


def unpack_dual_at(level: ForwardLevel, tensor: Tensor) -> tuple[Tensor, Tensor | None]:
    """`unpack_dual` at any level."""
    tangent = level.get(tensor)
    if tangent is None:
        return tensor, None
    with hidden_from(level.number):
        primal = _alias(tensor)
        level.set(primal, None)
        return primal, tangent


def _alias(tensor: Tensor) -> Any:
    return ops.aten.alias(tensor)


_core.hooks.fill(
    call_with_tangents=_forward.call_with_tangents,
    apply_transformed=_forward_functions.apply_transformed,
    copy_tangents=_forward.copy_tangents,
)
