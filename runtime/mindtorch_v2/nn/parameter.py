"""Parameters and buffers: tensors that modules own, trained or not; and those whose shape is not known yet."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._hooks import hooks

__all__ = ["Buffer", "Parameter", "UninitializedTensorMixin", "is_lazy"]

_TensorType: Any = type(Tensor)


class _ParameterType(_TensorType):  # type: ignore[misc]
    def __instancecheck__(self, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        return self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterType):
    """``Parameter(data=None, requires_grad=True)``: a leaf tensor; as a module's attribute, its parameter.

    Of a tensor of another class comes one of that class, marked: ``isinstance(x, Parameter)`` says so.
    """

    __torch_function__ = _core.disabled_torch_function

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        """A parameter of the class, or, of a tensor of another class than Tensor, one of that class."""
        source = _core.alloc((0,)) if data is None else data.detach()
        kind = Tensor if data is None else type(data)
        if kind is Tensor or kind is Parameter:
            return Tensor._make_subclass(cls, source, requires_grad)
        source.requires_grad_(requires_grad)
        if type(source) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(source).__name__} was found instead: a "
                "`__torch_dispatch__` has to give one of its class for `aten.detach`, a `__torch_function__` for "
                "`Tensor.detach`"
            )
        source._is_param = True  # type: ignore[attr-defined]
        return source

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter with a copy of the values: without the gradient and the attributes, and apart from all views."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)


hooks.fill(is_parameter=lambda tensor: isinstance(tensor, Parameter))


class _BufferType(_TensorType):  # type: ignore[misc]
    def __instancecheck__(self, instance: Any) -> bool:
        marked = self is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return bool(marked) or super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferType):
    """``Buffer(data=None, *, persistent=True)``: a tensor that, as a module's attribute, is a buffer of it.

    It is of the class of ``data``, over its memory, and marked: ``isinstance(x, Buffer)`` says so.
    """

    __torch_function__ = _core.disabled_torch_function

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        """A tensor over the memory of ``data``, marked as a buffer."""
        source = _core.alloc((0,)) if data is None else data
        made: Any = source.detach().requires_grad_(source.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made


class UninitializedTensorMixin:
    """What tensors without a shape have in common; `is_lazy` knows them by it."""


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


def __getattr__(name: str) -> Any:
    """PyTorch's place of parameters and buffers without a shape, which stand on those that have one."""
    if name not in ("UninitializedBuffer", "UninitializedParameter"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import uninitialized

    return getattr(uninitialized, name)
