"""`backward` and `grad`: what users call to run the core's backward pass."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ..overrides import handle_torch_function, is_tensor_like
from .graph import GradientEdge

__all__ = ["backward", "gives_to_chosen_inputs", "grad"]

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
Inputs = Tensors | dict[Any, Tensor]
OptionalTensors = Tensor | Sequence[Tensor | None] | None


class _Passes(threading.local):
    to_chosen = False  # whether this thread runs a pass that gives gradients to chosen inputs alone


_passes = _Passes()


def gives_to_chosen_inputs() -> bool:
    """Whether this thread runs a pass of `grad`, or of `backward` with ``inputs``: other leaves get no gradient."""
    return _passes.to_chosen


def _run(*args: Any, **options: Any) -> Any:
    """A pass that gives gradients to chosen inputs."""
    before, _passes.to_chosen = _passes.to_chosen, True
    try:
        return _core.run_backward(*args, **options)
    finally:
        _passes.to_chosen = before


def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: OptionalTensors = None,
    inputs: Inputs | None = None,
) -> None:
    """Adds the gradients of ``tensors``, or of edges, to the ``grad`` of the leaves they depend on, or of ``inputs``.

    ``grad_tensors`` are the gradients to start from, of the tensors' shapes; None: one, for one-element tensors
    (``grad_variables`` is their obsolete name). ``inputs`` may be a dict of tensors, too, and gradient edges.
    ``retain_graph`` (default: ``create_graph``) keeps the graph for another pass; ``create_graph`` makes gradients
    differentiable. Raises RuntimeError where a tensor does not require grad, or the graph was freed.
    """
    if _core.running_transform():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError("backward(): `grad_tensors` and `grad_variables` are the same: pass `grad_tensors` only")
        grad_tensors = grad_variables
    chosen = None if inputs is None else _inputs(inputs, "backward")
    roots = _tuple(tensors, "tensors")
    if _core.overrides_among((*roots, *(chosen or ())), {}):
        handle_torch_function(
            backward, (*roots, *(chosen or ())), tensors, grad_tensors=grad_tensors, retain_graph=retain_graph,
            create_graph=create_graph, inputs=inputs,
        )  # fmt: skip
        return
    retain = create_graph if retain_graph is None else retain_graph
    starts = _gradients(grad_tensors, "grad_tensors", len(roots))
    run = _core.run_backward if chosen is None else _run
    run(roots, starts, retain, create_graph, chosen, accumulate_inputs=chosen is not None)


def grad(
    outputs: Tensors,
    inputs: Inputs,
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of ``outputs`` with respect to ``inputs``, one per input; no ``grad`` is touched.

    They come as a tuple, or for a dict of inputs as a dict. Of an input that the outputs do not depend on the gradient
    is None with ``allow_unused``, zeros with ``materialize_grads``, else a RuntimeError. With ``is_grads_batched`` the
    first dimension of ``grad_outputs`` is a batch: one pass for each of it, and the gradients are stacked.
    ``only_inputs`` is obsolete, and not looked at. The other arguments are `backward`'s.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, chosen = _tuple(outputs, "outputs"), _inputs(inputs, "grad")
    if _core.overrides_among((*roots, *chosen), {}):
        found = handle_torch_function(
            grad, (*roots, *chosen), roots, chosen, grad_outputs=grad_outputs, retain_graph=retain_graph,
            create_graph=create_graph, only_inputs=only_inputs, allow_unused=allow_unused,
            is_grads_batched=is_grads_batched, materialize_grads=materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else found
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    starts = _gradients(grad_outputs, "grad_outputs", len(roots))
    if allow_unused is None:
        allow_unused = materialize_grads
    compute = _grad_batched if is_grads_batched else _grad
    found = compute(roots, chosen, starts, retain_graph, create_graph, allow_unused, materialize_grads)
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else found


def _grad(
    roots: tuple[Any, ...],
    chosen: tuple[Any, ...],
    starts: tuple[Tensor | None, ...],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
    materialize_grads: bool,
) -> tuple[Any, ...]:
    retain = create_graph if retain_graph is None else retain_graph
    found: tuple[Any, ...] = _run(roots, starts, retain, create_graph, chosen, allow_unused)
    if materialize_grads:
        return tuple(_zeros_like(i, create_graph) if g is None else g for i, g in zip(chosen, found, strict=True))
    return found


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs | None = None,
) -> None:
    """Adds this tensor's gradients to the ``grad`` of the leaves it depends on; see ``torch.autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


tensor_backward.__name__ = "backward"
_core.install_method("backward", _core.BackwardMethod(tensor_backward))


def _tuple(tensors: Any, name: str) -> tuple[Any, ...]:
    """The tensors, or gradient edges, of the argument ``name``."""
    if isinstance(tensors, GradientEdge) or is_tensor_like(tensors):
        return (tensors,)
    try:
        return tuple(tensors)
    except TypeError:
        raise TypeError(
            f"argument '{name}' must be a Tensor or a sequence of Tensors, not {type(tensors).__name__}"
        ) from None


def _inputs(inputs: Any, function: str) -> tuple[Any, ...]:
    """The tensors of the argument ``inputs``, which may be a dict of them."""
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not another mapping, {type(inputs).__name__}"
        )
    found = tuple(inputs.values()) if isinstance(inputs, dict) else _tuple(inputs, "inputs")
    if not found:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return found


def _gradients(gradients: OptionalTensors, name: str, count: int) -> tuple[Tensor | None, ...]:
    return (None,) * count if gradients is None else _tuple(gradients, name)


def _grad_batched(
    roots: tuple[Any, ...],
    chosen: tuple[Any, ...],
    starts: tuple[Tensor | None, ...],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
    materialize_grads: bool,
) -> tuple[Any, ...]:
    count = _batch_size(roots, starts)
    retain_last = create_graph if retain_graph is None else retain_graph
    passes = []
    for i in range(count):
        row = tuple(None if start is None else ops.aten.select(start, 0, i) for start in starts)
        retain = retain_last or i < count - 1
        passes.append(_grad(roots, chosen, row, retain, create_graph, allow_unused, materialize_grads))
    return tuple(None if found[0] is None else ops.aten.stack(list(found)) for found in zip(*passes, strict=True))


def _batch_size(roots: tuple[Any, ...], starts: tuple[Tensor | None, ...]) -> int:
    """How many passes there are: the size of the gradients' first dimension. Raises where they have none in common."""
    for i, (root, start) in enumerate(zip(roots, starts, strict=False)):
        if start is None:
            if root.requires_grad and root.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            raise ValueError(f"If `is_grads_batched=True`, each of `grad_outputs` must be a batch; number {i} is None")
        if start.dim() == 0 or start.shape[0] == 0:
            raise IndexError(
                f"If `is_grads_batched=True`, grad_output[{i}] must be a batch; its shape is {start.shape}"
            )
        if start.shape[1:] != root.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {start.shape} and output[{i}] "
                f"has a shape of {root.shape}."
            )
    sizes = [start.shape[0] for start in starts if start is not None]
    if len(set(sizes)) != 1:
        raise ValueError(
            "If `is_grads_batched=True`, `grad_outputs` must be tensors that share the size of their first dimension; "
            f"got sizes {sizes}"
        )
    return int(sizes[0])


def _zeros_like(tensor: Tensor | GradientEdge, requires_grad: bool) -> Tensor:
    if isinstance(tensor, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros: Tensor = ops.aten.zeros_like(tensor.detach())
    zeros.requires_grad = requires_grad  # also in a transform, where users may not call `requires_grad_`
    return zeros
