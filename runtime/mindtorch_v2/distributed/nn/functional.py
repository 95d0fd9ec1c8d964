"""Calls of several processes that have gradients: each is sent back by the call that is its transpose.

Every process of the group makes the same calls, and goes backward through what came of them: backward is a call of all,
too, and waits for who does not come. The transposes are calls of this file, so they have gradients themselves.

``group`` is a `ProcessGroup`, or None for all processes; ``src`` and ``dst`` are numbers among all. All calls raise
ValueError where there is no group of all processes, and DistBackendError after the group's timeout.

Where ``op`` is no sum, gradients are what PyTorch's are: those of `reduce` and `reduce_scatter` are a sum's whatever it
is; `all_reduce` combines gradients by the same ``op``, which is right for averages, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..._core import Tensor
from ..._creation import empty_like, zeros_like
from ..._type_info import contiguous_format
from ...autograd import Function
from .. import _collectives as calls
from .._calls import check_tensor
from .._groups import get_rank, get_world_size
from .._reduce_op import ReduceOp

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


class _Call(Function):
    """``call`` of tensors; ``transpose`` makes of its results' gradients those of the tensors.

    ``transpose`` lives as long as the results do: it keeps none of the tensors.
    """

    @staticmethod
    def forward(ctx: Any, call: Callable[..., Any], transpose: Callable[..., Any], *tensors: Tensor) -> Any:
        ctx.transpose = transpose
        return call(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *ctx.transpose(*grads)


def _copied(tensor: Tensor) -> Tensor:
    check_tensor("tensor", tensor)
    copy: Tensor = tensor.clone(memory_format=contiguous_format)
    return copy


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Any:
    """A new tensor: that of process ``src``. Its gradient is there the sum of all processes', elsewhere zero.

    ``tensor`` has the same shape and dtype in all processes. Raises ValueError for a ``src`` that is not in the group.
    """
    is_source = get_rank() == src

    def call(given: Tensor) -> Tensor:
        sent = _copied(given)
        calls.broadcast(sent, src, group)
        return sent

    def transpose(grad: Tensor) -> Any:
        total = reduce(grad, src, group=group)
        return (total if is_source else total.zero_(),)

    return _Call.apply(call, transpose, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """A new tensor: in process ``dst`` what the tensors of all combine to, elsewhere the process's own.

    The gradient is, in all processes, that which process ``dst`` has. ``tensor`` has the same shape and dtype in all.
    Raises ValueError for a ``dst`` that is not in the group, and for an ``op`` what ``torch.distributed.reduce`` does.
    """

    def call(given: Tensor) -> Tensor:
        combined = _copied(given)
        calls.reduce(combined, dst, op, group)
        return combined

    return _Call.apply(call, lambda grad: (broadcast(grad, dst, group),), tensor)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """A new tensor: what the tensors of all processes combine to. So do their gradients.

    ``tensor`` has the same shape and dtype in all processes. Raises what ``torch.distributed.all_reduce`` does for an
    ``op`` that is none, or that cannot combine the dtype.
    """

    def call(given: Tensor) -> Tensor:
        combined = _copied(given)
        calls.all_reduce(combined, op, group)
        return combined

    return _Call.apply(call, lambda grad: (all_reduce(grad, op, group),), tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> Any:
    """A tuple, by rank: in process ``dst`` the tensors of all processes, elsewhere zeros.

    The gradient is that which process ``dst`` has of this process's part. ``tensor`` has the same shape and dtype in
    all processes. Raises ValueError for a ``dst`` that is not in the group.
    """

    def call(given: Tensor) -> Any:
        parts = [zeros_like(given) for _ in range(get_world_size(group))]
        calls.gather(given, parts if get_rank() == dst else None, dst, group)
        return tuple(parts)

    return _Call.apply(call, lambda *grads: (scatter(grads, dst, group),), tensor)


def scatter(tensors: Iterable[Tensor], src: int = 0, group: Any = None) -> Any:
    """A new tensor: that of process ``src`` whose number in ``tensors`` is this process's in the group.

    Gradients come together in process ``src``; elsewhere they are zero. ``tensors`` has, in ``src``, a tensor for each
    process; elsewhere one at least, which says shape and dtype. Raises TypeError for None, IndexError for no tensor,
    AssertionError where shapes differ; in process ``src`` RuntimeError for another number of tensors.
    """
    if tensors is None:
        raise TypeError("scatter: expected tensors in every process, which say what is received; got None")
    given = [*tensors]
    if not given:
        raise IndexError("scatter: expected a tensor for each process, got none")
    if any(one.shape != given[0].shape for one in given):
        raise AssertionError(f"scatter: expected tensors of one shape, got {[tuple(one.shape) for one in given]}")
    count = len(given)

    def call(*parts: Tensor) -> Tensor:
        received: Tensor = zeros_like(parts[0])
        calls.scatter(received, parts if get_rank() == src else None, src, group)
        return received

    return _Call.apply(call, lambda grad: gather(grad, src, group)[:count], *given)


def all_gather(tensor: Tensor, group: Any = None) -> Any:
    """A tuple, by rank: new tensors, those of all processes. The gradient is the sum of all processes' of this one's.

    ``tensor`` has the same shape and dtype in all processes.
    """

    def call(given: Tensor) -> Any:
        parts = [empty_like(given, memory_format=contiguous_format) for _ in range(get_world_size(group))]
        calls.all_gather(parts, given, group)
        return tuple(parts)

    return _Call.apply(call, lambda *grads: (reduce_scatter(empty_like(grads[0]), grads, group=group),), tensor)


def reduce_scatter(output: Tensor, input_list: Iterable[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """``output``, in process r what the r-th tensors of all lists combine to; written, too. Gradients are gathered.

    What is returned has the gradient, and the memory of ``output``. Raises RuntimeError for another number of tensors
    than processes, and where a shape is not that of ``output``; ValueError for other dtypes.
    """

    def call(target: Tensor, *parts: Tensor) -> Tensor:
        calls.reduce_scatter(target, parts, op, group)
        return target

    return _Call.apply(call, lambda grad: (None, *all_gather(grad, group)), output, *input_list)


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Any:
    """`all_gather` into one tensor: behind one another along the first dimension, or along a new one.

    What is returned has the gradient, and the memory of ``output_tensor``, which is written. Raises RuntimeError where
    its size is not that of all processes' tensors; ValueError for another dtype.
    """
    shape = input_tensor.shape

    def call(output: Tensor, given: Tensor) -> Tensor:
        calls.all_gather_into_tensor(output, given, group)
        return output

    def transpose(grad: Tensor) -> Any:
        parts = grad.reshape(get_world_size(group), *shape).unbind()
        return None, reduce_scatter(grad.new_empty(shape), parts, group=group)

    return _Call.apply(call, transpose, output_tensor, input_tensor)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Iterable[Tensor], group: Any = None) -> Any:
    """The tensors of ``output_tensor_list``, in a tuple: the r-th is that which process r has for this one.

    They are written, and have gradients, which go back the way that the tensors came. Shapes may differ: what a process
    has for another is of the shape that it has there. Raises RuntimeError for another number of tensors than processes.
    """
    given = [*input_tensor_list]
    shapes = [one.shape for one in given]

    def call(*parts: Tensor) -> Any:
        calls.all_to_all(output_tensor_list, parts, group)
        return tuple(output_tensor_list)

    def transpose(*grads: Tensor) -> Any:
        return all_to_all([grads[0].new_empty(shape) for shape in shapes], grads, group)

    return _Call.apply(call, transpose, *given)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Any:
    """``output``, in rows of every process: of the r-th so many as ``output_split_sizes`` says; written, too.

    Sizes are of the first dimension, the same for all processes unless they are given. What is returned has the
    gradient, which goes back the way that the rows came, and the memory of ``output``. Raises RuntimeError for sizes
    that are not one for each process, or do not add up; ValueError for other dtypes.
    """
    shape = input.shape

    def call(target: Tensor, given: Tensor) -> Tensor:
        calls.all_to_all_single(target, given, output_split_sizes, input_split_sizes, group)
        return target

    def transpose(grad: Tensor) -> Any:
        back = all_to_all_single(grad.new_empty(shape), grad, input_split_sizes, output_split_sizes, group)
        return None, back

    return _Call.apply(call, transpose, output, input)
