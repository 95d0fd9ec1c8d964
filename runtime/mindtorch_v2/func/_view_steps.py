"""Steps from a tensor to a view of it: taken again when the tensor has changed, and back when the view has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import OpOverload, Tensor, has_view
from .._ops import ops
from ._functional_forms import without_alias

__all__ = ["ViewStep"]


@dataclass(frozen=True)
class ViewStep:
    """A view operator with its arguments after the tensor; ``output`` picks from several views."""

    op: OpOverload
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    output: int | None = None

    def forward(self, base: Tensor, keep_views: bool) -> Tensor:
        """What the view shows of ``base``: a view, or else a copy."""
        result = self.shown(base, keep_views)
        shown: Tensor = result if self.output is None else result[self.output]
        return shown

    def shown(self, base: Tensor, keep_views: bool) -> Any:
        """What the operator shows: one view, or all of several."""
        op = self.op if keep_views else without_alias(self.op)
        if self.op._schema.name == "as_strided":
            base = _with_memory_of_its_own(base)
        elif op is ops.aten.view.default and not has_view(base, self.args[0]):
            op = ops.aten.reshape.default  # the base that was changed lies in memory otherwise than the first one did
        return op(base, *self.args, **dict(self.kwargs))

    def in_place(self, tensor: Tensor) -> None:
        """Makes the tensor itself the view."""
        packet = getattr(ops.aten, f"{self.op._schema.name}_")
        packet(tensor, *self.args, **dict(self.kwargs))

    def backward(self, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
        """``base`` where this view of it shows ``view``."""
        inverse = _INVERSES.get(self.op._schema.name) if self.op.namespace == "aten" else None
        if inverse is None:
            raise RuntimeError(
                f"cannot functionalize: a change of what {self.op.name()} shows, as it is not known how to write that "
                "back into the tensor it is a view of. Clone the view before changing it."
            )
        return inverse(self, base, view, keep_views)


Inverse = Callable[[ViewStep, Tensor, Tensor, bool], Tensor]


def _with_memory_of_its_own(base: Tensor) -> Tensor:
    """Strides count from the start of memory: here that is the first element, and elements lie in row-major order."""
    if base.is_contiguous() and base.storage_offset() == 0:
        return base
    copy: Tensor = ops.aten.clone(base).contiguous()
    return copy


def _reshaped(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    shape = list(base.shape)
    if not keep_views:
        op = ops.aten.view_copy.default
    else:
        op = ops.aten.view.default if has_view(view, shape) else ops.aten.reshape.default
    result: Tensor = op(view, shape)
    return result


def _permuted(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    rank = base.dim()
    if step.op._schema.name in ("t", "transpose"):  # its own inverse
        return step.forward(view, keep_views)
    order = _order(step, rank)
    back = sorted(range(rank), key=lambda d: order[d])
    op = ops.aten.permute.default if keep_views else ops.aten.permute_copy.default
    result: Tensor = op(view, back)
    return result


def _order(step: ViewStep, rank: int) -> list[int]:
    """Which dimension of the base each of the view's is."""
    if step.op._schema.name == "permute":
        return [d % rank for d in step.args[0]]
    source, destination = (d % max(rank, 1) for d in step.args)  # movedim
    order = list(range(rank))
    order.insert(destination, order.pop(source))
    return order


def _selected(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    dim, index = step.args if step.output is None else ((*step.args, 0)[0], step.output)
    result: Tensor = ops.aten.select_scatter(base, view, dim, index)
    return result


def _sliced(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    result: Tensor = ops.aten.slice_scatter(base, view, *step.args)
    return result


def _part(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    """One of the outputs of split or chunk."""
    assert step.output is not None
    how, dim = (*step.args, 0)[:2]
    lengths: Sequence[int]
    if isinstance(how, (list, tuple)):
        lengths = how
    else:
        total = base.shape[dim]
        length = how if step.op._schema.name == "split" else max(-(-total // how), 1)
        lengths = [length] * step.output
    start = sum(lengths[: step.output])
    result: Tensor = ops.aten.slice_scatter(base, view, dim, start, start + view.shape[dim])
    return result


def _identity(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    return view


def _aliased(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    return step.forward(view, keep_views)


def _diagonal(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    result: Tensor = ops.aten.diagonal_scatter(base, view, *step.args, **dict(step.kwargs))
    return result


def _unsqueezed(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    """Back from ``squeeze``: the dimensions of size 1 that it left out, each put in again."""
    dims = list(range(base.dim()))
    if step.args:
        given = step.args[0] if isinstance(step.args[0], (list, tuple)) else [step.args[0]]
        dims = sorted(d % max(base.dim(), 1) for d in given)
    op = ops.aten.unsqueeze if keep_views else ops.aten.unsqueeze_copy
    for dim in dims:
        if base.dim() and base.shape[dim] == 1:
            view = op(view, dim)
    return view


def _squeezed(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    """Back from ``unsqueeze``."""
    op = ops.aten.squeeze if keep_views else ops.aten.squeeze_copy
    result: Tensor = op(view, step.args[0])
    return result


def _turned_back(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    """Of an operator that is its own inverse."""
    return step.forward(view, keep_views)


def _of_parts(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    """Complex numbers of their parts, and the other way round."""
    op = ops.aten.view_as_complex if base.is_complex() else ops.aten.view_as_real
    result: Tensor = op(view.contiguous())
    return result


def _expanded(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    return _reshaped(step, base, view, keep_views)  # no element more than once: others are not changed in place


def _strided(step: ViewStep, base: Tensor, view: Tensor, keep_views: bool) -> Tensor:
    scattered = ops.aten.as_strided_scatter(_with_memory_of_its_own(base), view, *step.args)
    result: Tensor = ops.aten.reshape(scattered, list(base.shape)) if scattered.shape != base.shape else scattered
    return result


_INVERSES: dict[str, Inverse] = {
    "view": _reshaped,
    "squeeze": _unsqueezed,
    "unsqueeze": _squeezed,
    "diagonal": _diagonal,
    "permute": _permuted,
    "transpose": _permuted,
    "t": _permuted,
    "movedim": _permuted,
    "select": _selected,
    "unbind": _selected,
    "slice": _sliced,
    "split": _part,
    "split_with_sizes": _part,
    "chunk": _part,
    "alias": _aliased,
    "detach": _identity,
    "contiguous": _identity,
    "_conj": _turned_back,
    "_neg_view": _turned_back,
    "view_as_real": _of_parts,
    "view_as_complex": _of_parts,
    "expand": _expanded,
    "as_strided": _strided,
}
