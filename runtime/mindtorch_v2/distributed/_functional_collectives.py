"""Calls of several processes that return new tensors and leave what they are given alone, by PyTorch's names.

They are done when they return, so `wait_tensor` has nothing to wait for; what has ``autograd`` in its name is
differentiable. ``group`` is a `ProcessGroup`, or None for all processes: no mesh of devices, and no list of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from .._creation import empty
from ..autograd import Function
from . import _collectives as calls
from ._groups import ProcessGroup, world
from ._reduce_op import RedOpType

__all__ = [
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "wait_tensor",
]


def _group(group: Any) -> ProcessGroup:
    if group is None:
        return world()
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"expected a ProcessGroup, as new_group makes it, or None, got {type(group).__name__}")
    return group


_WAYS = {way.name.lower(): way for way in RedOpType if way.value < RedOpType.PREMUL_SUM.value}


def _way(name: str, op: Any) -> Any:
    if isinstance(op, str) and op.lower() not in _WAYS:
        raise ValueError(f"{name}: expected a way to combine values, one of {', '.join(_WAYS)}, got {op!r}")
    return _WAYS[op.lower()] if isinstance(op, str) else op


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: the call that returned it was done."""
    return tensor


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """What the process ``src`` of all processes has."""
    sent: Tensor = self.detach().clone()
    calls.broadcast(sent, src, _group(group))
    return sent


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """What the tensors of all processes combine to: "sum", "avg", "product", "min", "max", "band", "bor" or "bxor"."""
    combined: Tensor = self.detach().clone()
    calls.all_reduce(combined, _way("all_reduce", reduceOp), _group(group))
    return combined


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """`all_reduce` of each tensor."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all processes behind one another along ``gather_dim``, in the order of ranks."""
    given = self.detach().movedim(gather_dim, 0).contiguous()
    rows = given.shape[0] * _group(group).size()
    whole = empty((rows, *given.shape[1:]), dtype=given.dtype, device=given.device)
    calls.all_gather_into_tensor(whole, given, _group(group))
    result: Tensor = whole.movedim(0, gather_dim).contiguous()
    return result


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This process's part, along ``scatter_dim``, of what the tensors of all combine to.

    Raises RuntimeError where the processes do not divide that size.
    """
    given, count = self.detach().movedim(scatter_dim, 0).contiguous(), _group(group).size()
    if given.shape[0] % count:
        raise RuntimeError(
            f"reduce_scatter_tensor: input dimension {scatter_dim} ({given.shape[0]}) must be a multiple of the "
            f"{count} processes of the group"
        )
    part = empty((given.shape[0] // count, *given.shape[1:]), dtype=given.dtype, device=given.device)
    calls.reduce_scatter_tensor(part, given, _way("reduce_scatter_tensor", reduceOp), _group(group))
    result: Tensor = part.movedim(0, scatter_dim).contiguous()
    return result


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Rows of every process: of the r-th so many as ``output_split_sizes`` says, which it cuts by its other list."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    received = empty((rows, *self.shape[1:]), dtype=self.dtype, device=self.device)
    given = self.detach().contiguous()
    calls.all_to_all_single(received, given, output_split_sizes, input_split_sizes, _group(group))
    return received


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, outs: Any, ins: Any, group: Any) -> Any:
        ctx.sizes = ins, outs, group
        return all_to_all_single(given, outs, ins, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllToAll.apply(grad, *ctx.sizes), None, None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, dim: int, group: Any) -> Any:
        ctx.dim, ctx.group = dim, group
        return all_gather_tensor(given, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _ReduceScatter.apply(grad, "sum", ctx.dim, ctx.group), None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, way: str, dim: int, group: Any) -> Any:
        ctx.way, ctx.dim, ctx.group = way, dim, group
        return reduce_scatter_tensor(given, way, dim, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        whole = _AllGather.apply(grad, ctx.dim, ctx.group)
        return (whole / _group(ctx.group).size() if ctx.way == "avg" else whole), None, None, None


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Any:
    """`all_to_all_single`, with gradients: they go back the way that the rows came."""
    return _AllToAll.apply(self, output_split_sizes, input_split_sizes, group)


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Any:
    """`all_gather_tensor`, with gradients: each process gets the sum of those of its part."""
    return _AllGather.apply(self, gather_dim, group)


def reduce_scatter_tensor_autograd(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """`reduce_scatter_tensor`, with gradients, of "sum" and "avg". Raises ValueError for other ways to combine."""
    if reduceOp not in ("sum", "avg"):
        raise ValueError(f"reduce_scatter_tensor_autograd: only of 'sum' and 'avg', got {reduceOp!r}")
    return _ReduceScatter.apply(self, reduceOp, scatter_dim, group)
