"""``torch.autograd.Variable``: what tensors were called once, and the engine that PyTorch reaches by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .engine import gives_to_chosen_inputs

__all__ = ["Variable", "VariableMeta"]


class ImperativeEngine:
    """What programs ask of the engine of backward passes."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Calls ``callback()`` at the end of this thread's backward pass. Raises RuntimeError outside of one."""
        this = _core.current_pass()
        if this is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        this.call_at_end(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether the pass that this thread is in gives gradients to all leaves; True outside of one."""
        return not gives_to_chosen_inputs()


class VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Tensor:
        """A tensor that shares the memory of ``data``, a leaf; without data an empty one."""
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made: Tensor = data.detach()
        return made.requires_grad_(requires_grad)


class Variable(metaclass=VariableMeta):
    """The obsolete name of `Tensor`: ``Variable(data, requires_grad=True)`` is ``data.detach().requires_grad_()``."""

    _execution_engine = ImperativeEngine()
