"""Parameters: tensors that modules own and optimisers change."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Parameter"]


class _ParameterType(type(Tensor)):  # type: ignore[misc]
    def __call__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        source = _core.alloc((0,)) if data is None else data.detach()
        if hasattr(type(source), "__torch_dispatch__"):  # stays what it is, and counts as a parameter
            source.requires_grad_(requires_grad)
            source._is_param = True  # type: ignore[attr-defined]
            return source
        return Tensor._make_subclass(cls, source, requires_grad)

    def __instancecheck__(cls, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterType):
    """``Parameter(data=None, requires_grad=True)``: a leaf tensor; as a module's attribute, its parameter."""

    __torch_function__ = _core.disabled_torch_function

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter with a copy of the values: without the gradient and the attributes, and apart from all views."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]
