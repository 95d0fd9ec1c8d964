"""`backward` and `grad`: what users call to run the core's backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["backward", "grad"]

Tensors = Tensor | Sequence[Tensor]
OptionalTensors = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of ``tensors`` to the ``grad`` of the leaves they depend on, or of ``inputs``.

    ``grad_tensors`` are the gradients to start from, of the tensors' shapes; None: one, for one-element tensors.
    ``retain_graph`` (default: ``create_graph``) keeps the graph for another pass; ``create_graph`` makes gradients
    differentiable. Raises RuntimeError where a tensor does not require grad, or the graph was freed.
    """
    roots = _tuple(tensors)
    chosen = None if inputs is None else _tuple(inputs)
    if chosen == ():
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    retain = create_graph if retain_graph is None else retain_graph
    _core.run_backward(roots, _gradients(grad_tensors, len(roots)), retain, create_graph, chosen, chosen is not None)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, one per input; no ``grad`` is touched.

    Of an input that the outputs do not depend on the gradient is None with ``allow_unused``, zeros with
    ``materialize_grads``, else a RuntimeError. The other arguments are `backward`'s.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, chosen = _tuple(outputs), _tuple(inputs)
    if not chosen:
        raise ValueError("grad requires non-empty inputs.")
    retain = create_graph if retain_graph is None else retain_graph
    found: tuple[Any, ...] = _core.run_backward(
        roots, _gradients(grad_outputs, len(roots)), retain, create_graph, chosen
    )
    if materialize_grads:
        return tuple(_zeros_like(i) if g is None else g for i, g in zip(chosen, found, strict=True))
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    return found


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds this tensor's gradients to the ``grad`` of the leaves it depends on; see ``torch.autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs)


tensor_backward.__name__ = "backward"
_core.install_method("backward", tensor_backward)


def _tuple(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _gradients(gradients: OptionalTensors, count: int) -> tuple[Tensor | None, ...]:
    given = (None,) * count if gradients is None else _tuple(gradients)
    if len(given) != count:
        raise RuntimeError(f"got {count} tensors and {len(given)} gradients")
    return given


def _zeros_like(tensor: Tensor) -> Tensor:
    from .. import ops  # the built-in operators are loaded after this module

    zeros: Tensor = ops.aten.zeros_like(tensor.detach())
    return zeros
