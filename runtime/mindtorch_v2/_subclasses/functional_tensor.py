"""Functionalization as a dispatch mode: its tensors are of a class of their own, over wrappers of `functionalize`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from .._dispatch_keys import _ExcludeDispatchKeyGuard
from .._modes import follow_stacks, stacks
from .._ops import ops
from ..autograd import Function
from ..func._functional_levels import functionalizing
from ..func._functional_names import _from_functional_tensor, _is_functional_tensor, _sync, _to_functional_tensor
from ..overrides import TorchDispatchMode, of_numbers
from ..utils._python_dispatch import return_and_correct_aliasing
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "dispatch_functionalize"]


_KEPT = _core.key_mask("Conjugate", "Negative")


class FunctionalTensor(Tensor):
    """A tensor inside a `FunctionalTensorMode`: ``elem`` is a functional tensor, of ``torch._to_functional_tensor``."""

    elem: Tensor
    __torch_function__ = _core.disabled_torch_function

    @staticmethod
    def __new__(cls: Any, elem: Tensor) -> FunctionalTensor:
        if not _is_functional_tensor(elem):
            raise TypeError(f"FunctionalTensor() takes a functional tensor, not a {type(elem).__name__}")
        made: FunctionalTensor = _core.wrapper_tensor(
            cls,
            elem.shape,
            strides=elem.stride(),
            dtype=elem.dtype,
            device=elem.device,
            extra_keys=_core.tensor_keys(elem) & _KEPT,
            storage_offset=elem.storage_offset(),
        )
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(
            "Attempting to use FunctionalTensor on its own. Instead, please use it with a corresponding "
            "FunctionalTensorMode()"
        )

    @staticmethod
    def to_functional(x: Tensor) -> FunctionalTensor:
        """A functional tensor of a plain one, which requires grad where that does, and is a leaf where that is one."""
        if isinstance(x, FunctionalTensor):
            raise TypeError("to_functional(): the tensor is functional already")
        if x.requires_grad and not x.is_leaf:
            return _Entered.apply(x)  # type: ignore[no-any-return]
        made = FunctionalTensor(_to_functional_tensor(x))
        return made.requires_grad_() if x.requires_grad else made  # type: ignore[return-value]

    def sync(self) -> None:
        """Makes ``elem`` see the changes of all tensors that share its memory."""
        with _outside():
            _sync(self.elem)

    def from_functional(self) -> Tensor:
        """What the tensor stands for by now."""
        self.sync()
        return _from_functional_tensor(self.elem)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"FunctionalTensor({self.elem!r})"


class _Entered(Function):
    """The history of a functional tensor of one that is no leaf: gradients do not leave the mode."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return FunctionalTensor(_to_functional_tensor(x))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        raise RuntimeError("gradients of what is inside a FunctionalTensorMode end at its functional tensors")


class FunctionalTensorMode(TorchDispatchMode):
    """Inside, tensors that are made are `FunctionalTensor`; modes outside see functional operators, and views."""

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if any(_core.defines_dispatch(kind) and not issubclass(kind, FunctionalTensor) for kind in types):
            return NotImplemented
        given, named = tree_map(_elem, (args, kwargs))
        with functionalizing(keep_views=True):
            result = of_numbers(func, given)(*given, **named)
        outputs = tree_map(_wrapped, result)
        functional = any(isinstance(one, FunctionalTensor) for one in tree_leaves(outputs))
        if not functional or func is ops.aten.lift_fresh.default:
            return outputs
        return return_and_correct_aliasing(func, args, kwargs, outputs)


@contextmanager
def _outside() -> Iterator[None]:
    """Inside, calls are seen by the modes outside only."""
    before = stacks.dispatch
    stacks.dispatch = [mode for mode in before if not isinstance(mode, FunctionalTensorMode)]
    follow_stacks()
    try:
        yield
    finally:
        stacks.dispatch = before
        follow_stacks()


def _elem(value: Any) -> Any:
    return value.elem if isinstance(value, FunctionalTensor) else value


def _wrapped(value: Any) -> Any:
    return FunctionalTensor(value) if isinstance(value, Tensor) and _is_functional_tensor(value) else value


def dispatch_functionalize(func: Callable[..., Any], mode: FunctionalTensorMode | None = None) -> Callable[..., Any]:
    """``func`` without changes in place, by a `FunctionalTensorMode`; those of its arguments are lost."""

    def functional(*args: Any, **kwargs: Any) -> Any:
        def into(value: Any) -> Any:
            return FunctionalTensor.to_functional(value) if isinstance(value, Tensor) else value

        with _ExcludeDispatchKeyGuard("Functionalize"), mode or FunctionalTensorMode():
            given, named = tree_map(into, (args, kwargs))
            result = func(*given, **named)
            return tree_map(lambda v: v.from_functional() if isinstance(v, FunctionalTensor) else v, result)

    return functional
