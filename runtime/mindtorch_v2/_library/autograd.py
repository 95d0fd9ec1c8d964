"""Functions that take, and return, lists of tensors."""

from __future__ import annotations

from typing import Any, TypeVar

from .._functorch.autograd_function import WrappedCtx
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = ["supports_tensorlist"]

_Function = TypeVar("_Function", bound=type)


class _Call:
    """One call of such a Function: how its arguments, and what forward returned, nest."""

    arguments: Any
    outputs: Any


class _NestedCtx(WrappedCtx):
    """A context whose ``needs_input_grad`` nests as the arguments do."""

    _pt_reserved_attrs = ("_pt_needs", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, needs: Any) -> None:
        super().__init__(ctx)
        self._pt_needs = needs

    @property
    def needs_input_grad(self) -> Any:
        """Whether a gradient is wanted, for each argument; of a list a list."""
        return self._pt_needs


def supports_tensorlist(cls: _Function) -> _Function:
    """A decorator of a `Function` of the old style: its arguments and outputs may be lists of tensors.

    ``backward`` gets a list of gradients for an output that is one, and returns one for an argument that is. Raises
    NotImplementedError where ``forward`` or ``backward`` is called by other than `apply`.
    """
    function: Any = cls
    forward, backward, apply = function.forward, function.backward, function.apply

    def flat_forward(ctx: Any, *values: Any) -> Any:
        call = values[0] if values else None
        if not isinstance(call, _Call):
            raise NotImplementedError(f"{cls.__name__}: calling Function.forward directly is not supported: use apply")
        result = forward(ctx, *tree_unflatten(list(values[1:]), call.arguments))
        ctx._pt_call = call
        outputs, call.outputs = tree_flatten(result)
        return tuple(outputs)

    def flat_backward(ctx: Any, *grads: Any) -> Any:
        call = getattr(ctx, "_pt_call", None)
        if call is None:
            raise NotImplementedError(f"{cls.__name__}: calling Function.backward directly is not supported")
        nested = tree_unflatten(list(grads), call.outputs)
        needs = tree_unflatten(list(ctx.needs_input_grad[1:]), call.arguments)
        found = backward(_NestedCtx(ctx, tuple(needs)), *(nested if isinstance(nested, tuple) else (nested,)))
        found = found if isinstance(found, tuple) else (found,)
        return (None, *_flat_gradients(cls.__name__, found, needs))

    def flat_apply(*args: Any) -> Any:
        call = _Call()
        values, call.arguments = tree_flatten(list(args))
        outputs = apply(call, *values)
        return tree_unflatten(list(outputs), call.outputs)

    function.forward, function.backward = staticmethod(flat_forward), staticmethod(flat_backward)
    function.apply = staticmethod(flat_apply)
    return cls


def _flat_gradients(name: str, found: tuple[Any, ...], needs: Any) -> list[Any]:
    """One gradient for each tensor. Raises RuntimeError where they do not nest as the arguments do."""
    flat: list[Any] = []
    if len(found) != len(needs):
        raise RuntimeError(f"{name}: expected {len(needs)} gradients from backward, got {len(found)}")
    for gradient, need in zip(found, needs, strict=True):
        count = len(tree_flatten(need)[0])
        values = [None] * count if gradient is None else tree_flatten(gradient)[0]
        if len(values) != count:
            raise RuntimeError(f"{name}: expected {count} gradients from backward for a list, got {len(values)}")
        flat += values
    return flat
