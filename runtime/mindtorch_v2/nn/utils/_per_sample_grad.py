"""A module's gradients apart for each sample of a batch, in one backward."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from ..._core import Tensor
from ...utils._pytree import tree_leaves
from .._functional_call import functional_call
from ..module import Module
from ._expanded_weights import ExpandedWeight

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module,
    *,
    batch_size: int | None = None,
    loss_reduction: str = "sum",
    batch_first: bool = True,
) -> Callable[..., Any]:
    """The function that calls ``module``, and whose backward gives each parameter ``grad_sample`` in place of ``grad``.

    ``grad_sample`` (batch_size, \\*parameter.shape) has the gradient of each sample's own loss, of the parameters that
    require grad; calls of the function add to it. ``loss_reduction`` says how the losses of the samples become one, by
    ``"sum"`` or ``"mean"``. ``batch_size`` is that of the tensors in a call's arguments where it is not given: their
    first dimension, or their second without ``batch_first``. `ExpandedWeight` says which functions modules may use.

    Raises:
        RuntimeError: an argument is of another kind, or ``batch_size`` not positive; a parameter has a ``grad_sample``
            already; from the call: the tensors are of different batch sizes, or there is none.
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for parameter in module.parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                f"without clearing gradients. Please clear out the grad_sample parameter of {parameter} or post an "
                "issue to pytorch/pytorch to prioritize correct behavior"
            )

    @functools.wraps(module.forward)
    def called(*args: Any, **kwargs: Any) -> Any:
        size = _batch_size((args, kwargs), 0 if batch_first else 1) if batch_size is None else batch_size
        parameters = {
            name: ExpandedWeight(parameter, size, loss_reduction) if parameter.requires_grad else parameter
            for name, parameter in module.named_parameters()
        }
        return functional_call(module, parameters, args, kwargs)

    return called


def _batch_size(arguments: Any, dim: int) -> int:
    """The one size that all tensors in a call's arguments have at ``dim``."""
    sizes = [leaf.shape[dim] for leaf in tree_leaves(arguments) if isinstance(leaf, Tensor)]
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights "
            "cannot compute the batch size from the inputs. Please specify it explicitly"
        )
    for before, size in itertools.pairwise(sizes):
        if size != before:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {before} and one with batch size "
                f"{size}. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
            )
    return sizes[0]
