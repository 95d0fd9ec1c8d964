"""Differentiable functions written in Python."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import FunctionCtx, Tensor
from .._inheritance import inherited
from .grad_mode import is_grad_enabled, no_grad
from .graph import Node

__all__ = ["BackwardCFunction", "DelayedError", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


BackwardCFunction = FunctionCtx  # PyTorch's name of what makes a context a node


class FunctionMeta(type):
    """The class of Functions: makes the class of a Function's contexts, which are the nodes of its calls."""

    _backward_cls: type[FunctionCtx]

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(name, bases, attributes, **kwargs)
        cls._backward_cls = _core.function_node_class(cls)


class Function(metaclass=FunctionMeta):
    """Base class of differentiable functions; call ``MyFunction.apply(...)``, never an instance.

    A subclass defines ``forward(ctx, *args)`` (old style), or ``forward(*args)`` and ``setup_context(ctx, inputs,
    output)`` (new style), and ``backward(ctx, *grad_outputs)``, which returns one gradient or None per argument of
    forward. All are static methods.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating one will raise an error in a future version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: functions are applied through their class."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            f"function with static forward method: {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; runs with autograd off."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    # The core tells new style from old by whether a class still has this very function.
    setup_context: Callable[..., Any] = staticmethod(_core.base_setup_context)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Computes the gradients of forward's arguments from those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    # PyTorch's other name for it.
    vjp = backward

    # Whether `vmap` may run the function once a sample; else it needs a `vmap` of its own.
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The function on batches: returns its outputs and their batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set "
            "generate_vmap_rule=True."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Computes the tangents of forward's outputs from those of its arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    # A class method of the core's: every call goes through it.
    apply: Callable[..., Any] = _core.function_apply

    @classmethod
    def _backward_function(cls, ctx: FunctionCtx) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp


class _Allowed(threading.local):
    single_level = False  # whether `_SingleLevelFunction`s may be applied while transforms run


_allowed = inherited(_Allowed())


@contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """Inside, a `_SingleLevelFunction` may be applied while transforms run, of which it is called for one."""
    before, _allowed.single_level = _allowed.single_level, True
    try:
        yield
    finally:
        _allowed.single_level = before


class _SingleLevelFunction(Function):
    """A Function that a transform's rule applies: it is recorded as it is, and no transform sees its arguments."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward, and records the call. Raises RuntimeError where a program applies it inside of a transform."""
        if _core.running_transform() and not _allowed.single_level:
            raise RuntimeError(
                f"functorch functions (vmap, grad, vjp, etc.) incorrectly used with {cls.__name__}, which is a "
                "torch.autograd.function._SingleLevelFunction: derive it from torch.autograd.Function"
            )
        result, ctx = _core.record_function(cls, args)
        _core.forget_marks_(ctx)
        return result


class InplaceFunction(Function):
    """The obsolete base class of Functions that change their arguments: nothing but a `Function`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a backward that cannot be differentiated itself: doing so is an error, not a wrong gradient."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *grad_outputs: Any) -> Any:
        with no_grad():
            result = fn(ctx, *grad_outputs)
        if not is_grad_enabled() or not any(isinstance(g, Tensor) and g.requires_grad for g in grad_outputs):
            return result
        values = result if isinstance(result, tuple) else (result,)
        return DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(values)
        )(*[_core.leaf(value) if isinstance(value, Tensor) else value for value in values])

    return wrapper


class DelayedError:
    """``DelayedError(message, n)(*tensors)`` is the n tensors: who asks for gradients of them gets RuntimeError."""

    def __init__(self, message: str, number: int) -> None:
        self._message, self._number = message, number

    def __call__(self, *tensors: Any) -> Any:
        """The tensors, or what else is among them, in the graph once more; one of them alone, several as a tuple."""
        if len(tensors) != self._number:
            raise RuntimeError(f"DelayedError: expected {self._number} tensors, got {len(tensors)}")
        found = _Refusing.apply(*tensors)
        for tensor in found:
            if isinstance(tensor, Tensor) and tensor.grad_fn is not None:
                tensor.grad_fn.message = self._message  # type: ignore[attr-defined]
        return found[0] if len(found) == 1 else found


Node.register(DelayedError)  # as in PyTorch, where it is a node itself


class _Refusing(Function):
    _node_name = "Error"

    @staticmethod
    def forward(*values: Any) -> Any:
        return tuple(value.detach() if isinstance(value, Tensor) else value for value in values)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Nothing to keep; new style, so that transforms take it."""

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(getattr(ctx, "message", "trying to differentiate what is not differentiable"))
