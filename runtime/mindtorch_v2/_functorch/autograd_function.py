"""What the rules of Functions under transforms are made of, for libraries that write their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from .._ops import ops

__all__ = ["CtxWithSavedTensors", "WrappedCtx", "reductify_leaf"]


class WrappedCtx:
    """Stands before a context: what it does not have itself is the context's, to read and to write.

    Raises RuntimeError for a context that has one of the names that are this class's own.
    """

    _pt_reserved_attrs: tuple[str, ...] = ("_pt_reserved_attrs", "_pt_inner_ctx")
    _pt_inner_ctx: Any

    def __init__(self, ctx: Any) -> None:
        if not isinstance(ctx, WrappedCtx):
            for name in type(self)._pt_reserved_attrs:
                if hasattr(ctx, name):
                    raise RuntimeError(
                        f"{type(self).__name__}: name collision: the context has an attribute {name!r}, which is a "
                        "name of the wrapper's own. Please call it something else."
                    )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A context with other ``saved_tensors``; those that it wraps keep theirs."""

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)
    _pt_new_saved_tensors: Sequence[Tensor]

    def __init__(self, ctx: Any, new_saved_tensors: Sequence[Tensor]) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Sequence[Tensor]:
        """The tensors that it was made with."""
        return self._pt_new_saved_tensors


def reductify_leaf(
    grad_input: Tensor | None,
    grad_input_bdim: int | None,
    input_bdim: int | None,
    batch_size: int,
    target_shape_without_bdim_to_reduce_to: Sequence[int] | None = None,
) -> Tensor | None:
    """The gradient of an input of a batch, with its samples where the input has them.

    ``grad_input_bdim`` and ``input_bdim`` say along which dimension the samples of the gradient and of the input lie,
    None: there is one for all. Of an input that all samples share the gradients are added up; a gradient that they
    share is repeated. With ``target_shape_without_bdim_to_reduce_to`` each sample's is summed down to that shape,
    but for one that all share.
    """
    if grad_input is None:
        return None
    shape = target_shape_without_bdim_to_reduce_to
    if input_bdim is None:
        return grad_input if grad_input_bdim is None else ops.aten.sum(grad_input, [grad_input_bdim])
    if grad_input_bdim is None:
        sizes = [batch_size, *grad_input.shape]
        whole = ops.aten.expand(ops.aten.unsqueeze(grad_input, 0), sizes)
    else:
        whole = ops.aten.movedim(grad_input, grad_input_bdim, 0)
    if shape is not None:
        whole = _summed_to(whole, [batch_size, *shape], kept=1)
    return ops.aten.movedim(whole, 0, input_bdim)  # type: ignore[no-any-return]


def _summed_to(tensor: Tensor, shape: Sequence[int], kept: int = 0) -> Tensor:
    """Undoes broadcasting to ``tensor`` from ``shape``, whose first ``kept`` dimensions both begin with."""
    added = tensor.dim() - len(shape)
    if added > 0:
        tensor = ops.aten.sum(tensor, [*range(kept, kept + added)])
    stretched = [at for at, size in enumerate(shape) if size == 1 and tensor.shape[at] != 1]
    return ops.aten.sum(tensor, stretched, True) if stretched else tensor
