"""Gradients of operators with kernels of their own, taken from what they would be if they were composed of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from .._ops import ops
from ..autograd import enable_grad, grad, is_grad_enabled

__all__ = ["gradients", "leaf_of", "second_gradients"]

Tensors = tuple[Tensor, ...]


def _apart(inputs: Sequence[Tensor | None], connected: bool) -> list[Tensor | None]:
    """The inputs as ends of a new graph: views of them, or leaves where nothing behind them is asked for.

    A view is behind no other input, though an input may be behind another.
    """
    return [None if x is None else ops.aten.alias(x) if connected and x.requires_grad else leaf_of(x) for x in inputs]


def leaf_of(x: Tensor) -> Tensor:
    """A leaf over the same memory that requires grad: also of a batch, where a transform refuses `requires_grad_`."""
    leaf = x.detach()
    leaf.requires_grad = True
    return leaf


def _through(
    outputs: Sequence[Tensor], inputs: list[Tensor | None], grads: Sequence[Any], connected: bool
) -> list[Any]:
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None and o is not None and o.requires_grad]
    ends = [x for x in inputs if x is not None]
    if not pairs or not ends:
        return [None] * len(inputs)
    found = iter(grad([o for o, _ in pairs], ends, [g for _, g in pairs], create_graph=connected, allow_unused=True))
    return [None if x is None else next(found) for x in inputs]


def gradients(
    forward: Callable[..., Tensors], inputs: Sequence[Tensor | None], grads: Sequence[Tensor | None]
) -> list[Any]:
    """The gradients of ``forward``'s inputs; differentiable where gradients are recorded."""
    connected = is_grad_enabled()
    with enable_grad():
        ends = _apart(inputs, connected)
        return _through(forward(*ends), ends, grads, connected)


def second_gradients(
    forward: Callable[..., Tensors],
    inputs: Sequence[Tensor | None],
    grad_output: Tensor,
    grads: Sequence[Tensor | None],
) -> list[Any]:
    """Of the gradients of ``forward``'s first output the gradients: of ``grad_output``, then of the inputs."""
    connected = is_grad_enabled()
    with enable_grad():
        start, *ends = _apart([grad_output, *inputs], connected)
        first = _through(forward(*ends)[:1], ends, [start], True)
        return _through(first, [start, *ends], grads, connected)
