"""Calls that every process of a group makes: ``torch.distributed.all_reduce`` and its siblings."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from ._calls import Call, check_dtypes, check_tensor, check_tensors
from ._groups import ProcessGroup, member_of
from ._reduce_op import RedOpType, ReduceOp, combined_by
from ._work import Work

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


def _mine(name: str, group: Any) -> ProcessGroup | None:
    found = member_of(group)
    if found is None:
        warnings.warn(f"Running {name} on global rank which does not belong to the given group.", stacklevel=3)
    return found


def place_of(name: str, group: ProcessGroup, rank: int | None, group_rank: int | None, word: str) -> int:
    """A process's place in the group, by its number among all or in the group.

    Raises ValueError where neither or both are given, and for a process that is not in the group.
    """
    if (rank is None) == (group_rank is None):
        both = "Can't specify both group_rank and global_rank" if rank is not None else None
        raise ValueError(both or "Must specify global_rank or group_rank")
    if rank is None:
        place = -1 if group_rank is None else group_rank
    else:
        place = group.ranks.index(rank) if rank in group.ranks else -1
    if not 0 <= place < group.size():
        given = group_rank if rank is None else rank
        raise _RankError(f"{name}: invalid {word} rank: {given}: expected one of {', '.join(map(str, group.ranks))}")
    return place


def _first_unless(group: ProcessGroup, rank: int | None, group_rank: int | None) -> tuple[int | None, int | None]:
    """What was given of a process; neither stands for the group's first."""
    return (None, 0) if rank is None and group_rank is None else (rank, group_rank)


class _RankError(ValueError, RuntimeError):
    """PyTorch's engines raise RuntimeError for a root that there is not, its checks ValueError."""


def _whole(op: RedOpType) -> RedOpType:
    return RedOpType.SUM if op is RedOpType.AVG else op


def _averages(call: Call, op: RedOpType, tensor: Tensor, count: int) -> None:
    if op is RedOpType.AVG:
        rounding = None if tensor.is_floating_point() or tensor.is_complex() else "trunc"
        call.then(lambda: tensor.detach().div_(count, rounding_mode=rounding))


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """``tensor`` becomes, in every process, what those of all combine to.

    Half-precision numbers are added in float32 and rounded once. Raises TypeError, ValueError or RuntimeError for an
    ``op`` that is none, or that cannot combine the dtype; DistBackendError after the group's timeout.
    """
    check_tensor("tensor", tensor)
    way = combined_by("all_reduce", op, tensor)
    mine = _mine("all_reduce", group)
    if mine is None:
        return None
    call = Call("all_reduce", mine, reduces=True)
    data = call.written(tensor)
    _averages(call, way, tensor, mine.size())
    return call.begun(mine.engine.all_reduce(mine.native, data, _whole(way)), async_op, [tensor])


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The same in process ``dst`` alone; those of others stay as they are."""
    check_tensor("tensor", tensor)
    way = combined_by("reduce", op, tensor)
    mine = _mine("reduce", group)
    if mine is None:
        return None
    root = place_of("reduce", mine, dst, group_dst, "root")
    call = Call("reduce", mine, reduces=True)
    if mine.rank() != root:
        return call.begun(mine.engine.reduce(mine.native, call.read(tensor), _whole(way), root), async_op)
    data = call.written(tensor)
    _averages(call, way, tensor, mine.size())
    return call.begun(mine.engine.reduce(mine.native, data, _whole(way), root), async_op, [tensor])


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """``tensor`` becomes that of process ``src``. Raises ValueError for a process that is not in the group."""
    check_tensor("tensor", tensor)
    mine = _mine("broadcast", group)
    if mine is None:
        return None
    root = place_of("broadcast", mine, src, group_src, "root")
    call = Call("broadcast", mine)
    data = call.read(tensor) if mine.rank() == root else call.written(tensor)
    return call.begun(mine.engine.broadcast(mine.native, data, root), async_op, [tensor])


def _like_each(name: str, tensors: Sequence[Tensor], like: Tensor, group: ProcessGroup) -> None:
    if len(tensors) != group.size():
        raise RuntimeError(
            f"{name}: invalid tensor list: expected length {group.size()}, a tensor for each process, got "
            f"{len(tensors)}"
        )
    for i, one in enumerate(tensors):
        if one.shape != like.shape:
            raise RuntimeError(
                f"{name}: invalid tensor size at index {i} (expected {tuple(like.shape)}, got {tuple(one.shape)})"
            )


def _room(tensors: Sequence[Tensor], like: Tensor) -> Tensor:
    """New memory for all of them, behind one another."""
    room: Tensor = like.detach().new_empty([len(tensors), *like.shape])
    return room


def _apart(call: Call, whole: Tensor, tensors: Sequence[Tensor]) -> None:
    def copy() -> None:
        for i, one in enumerate(tensors):
            one.detach().copy_(whole[i])

    call.then(copy)


def _behind(tensors: Sequence[Tensor]) -> Tensor:
    whole = _room(tensors, tensors[0])
    for i, one in enumerate(tensors):
        whole[i].copy_(one.detach())
    return whole


def all_gather(tensor_list: Any, tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Every process's ``tensor`` in ``tensor_list``, by rank. Raises RuntimeError for other lengths or shapes."""
    check_tensors("tensor_list", tensor_list)
    check_tensor("tensor", tensor)
    check_dtypes(*tensor_list, tensor)
    mine = _mine("all_gather", group)
    if mine is None:
        return None
    _like_each("all_gather", tensor_list, tensor, mine)
    call = Call("all_gather", mine)
    whole = _room(tensor_list, tensor)
    output = call.written(whole)
    _apart(call, whole, tensor_list)
    return call.begun(mine.engine.all_gather(mine.native, output, call.read(tensor)), async_op, tensor_list)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Every process's ``input_tensor`` in one, behind one another or along a new first dimension."""
    check_tensor("input_tensor", input_tensor)
    check_tensor("output_tensor", output_tensor)
    check_dtypes(output_tensor, input_tensor)
    mine = _mine("all_gather_into_tensor", group)
    if mine is None:
        return None
    if output_tensor.numel() != mine.size() * input_tensor.numel():
        raise RuntimeError(
            f"all_gather_into_tensor: output tensor size must be equal to world_size times input tensor size: expected "
            f"{mine.size() * input_tensor.numel()} elements, got {output_tensor.numel()}"
        )
    call = Call("all_gather_into_tensor", mine)
    output = call.written(output_tensor)
    begun = mine.engine.all_gather(mine.native, output, call.read(input_tensor))
    return call.begun(begun, async_op, [output_tensor])


all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Every process's ``tensor`` in ``gather_list`` of process ``dst``, 0 unless it is given."""
    check_tensor("tensor", tensor)
    mine = _mine("gather", group)
    if mine is None:
        return None
    root = place_of("gather", mine, *_first_unless(mine, dst, group_dst), "root")
    call = Call("gather", mine)
    if mine.rank() != root:
        if gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        return call.begun(mine.engine.gather(mine.native, None, call.read(tensor), root), async_op)
    if not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    check_tensors("gather_list", gather_list)
    check_dtypes(*gather_list, tensor)
    _like_each("gather", gather_list, tensor, mine)
    whole = _room(gather_list, tensor)
    output = call.written(whole)
    _apart(call, whole, gather_list)
    return call.begun(mine.engine.gather(mine.native, output, call.read(tensor), root), async_op, gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """``tensor`` becomes one of ``scatter_list`` of process ``src``, 0 unless it is given, by rank."""
    check_tensor("tensor", tensor)
    mine = _mine("scatter", group)
    if mine is None:
        return None
    root = place_of("scatter", mine, *_first_unless(mine, src, group_src), "root")
    call = Call("scatter", mine)
    if mine.rank() != root:
        if scatter_list:
            raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
        return call.begun(mine.engine.scatter(mine.native, call.written(tensor), None, root), async_op, [tensor])
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    check_tensors("scatter_list", scatter_list)
    check_dtypes(*scatter_list, tensor)
    _like_each("scatter", scatter_list, tensor, mine)
    parts = call.read(_behind(scatter_list))
    return call.begun(mine.engine.scatter(mine.native, call.written(tensor), parts, root), async_op, [tensor])


def reduce_scatter(
    output: Tensor, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """In process r what the r-th tensors of all lists combine to."""
    check_tensor("output", output)
    check_tensors("input_list", input_list)
    check_dtypes(*input_list, output)
    mine = _mine("reduce_scatter", group)
    if mine is None:
        return None
    _like_each("reduce_scatter", input_list, output, mine)
    return reduce_scatter_tensor(output, _behind(input_list), op, group, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """In each process its part of what all ``input`` combine to. Raises RuntimeError where they cannot be cut
    evenly.
    """
    check_tensor("output", output)
    check_tensor("input", input)
    check_dtypes(output, input)
    way = combined_by("reduce_scatter_tensor", op, input)
    mine = _mine("reduce_scatter_tensor", group)
    if mine is None:
        return None
    if input.numel() != mine.size() * output.numel():
        raise RuntimeError(
            f"reduce_scatter_tensor: input tensor must be the same size as output size times world size: expected "
            f"{mine.size() * output.numel()} elements, got {input.numel()}"
        )
    call = Call("reduce_scatter_tensor", mine, reduces=True)
    target = call.written(output)
    _averages(call, way, output, mine.size())
    begun = mine.engine.reduce_scatter(mine.native, target, call.read(input), _whole(way))
    return call.begun(begun, async_op, [output])


reduce_scatter_single = reduce_scatter_tensor


def _counts(name: str, tensor: Tensor, sizes: Sequence[int] | None, group: ProcessGroup) -> list[int]:
    """How many elements each process has of a tensor that is cut along its first dimension."""
    rows = tensor.size(0) if tensor.dim() else 1
    if not sizes:
        if rows % group.size():
            raise RuntimeError(
                f"{name}: Tensor's dim 0 does not divide equally across group size: {rows} by {group.size()}"
            )
        sizes = [rows // group.size()] * group.size()
    if len(sizes) != group.size():
        raise RuntimeError(f"{name}: Number of tensor splits not equal to group size: {len(sizes)}, {group.size()}")
    if sum(sizes) != rows:
        raise RuntimeError(f"{name}: Split sizes doesn't match total dim 0 size: {[*sizes]} of {rows}")
    each = tensor.numel() // rows if rows else 0
    return [size * each for size in sizes]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """A part of every process's ``input`` in each: rows by ``input_split_sizes``, as many for all unless given."""
    check_tensor("output", output)
    check_tensor("input", input)
    check_dtypes(output, input)
    mine = _mine("all_to_all_single", group)
    if mine is None:
        return None
    outs = _counts("all_to_all_single", output, output_split_sizes, mine)
    ins = _counts("all_to_all_single", input, input_split_sizes, mine)
    call = Call("all_to_all_single", mine)
    target = call.written(output)
    return call.begun(mine.engine.all_to_all(mine.native, target, outs, call.read(input), ins), async_op, [output])


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The r-th of ``input_tensor_list`` goes to process r, whose list it comes to at this process's place."""
    check_tensors("output_tensor_list", output_tensor_list)
    check_tensors("input_tensor_list", input_tensor_list)
    check_dtypes(*output_tensor_list, *input_tensor_list)
    mine = _mine("all_to_all", group)
    if mine is None:
        return None
    for word, tensors in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(tensors) != mine.size():
            raise RuntimeError(
                f"all_to_all: {word} tensor list size {len(tensors)} does not match world size {mine.size()}"
            )
    outs, ins = ([one.numel() for one in tensors] for tensors in (output_tensor_list, input_tensor_list))
    like = input_tensor_list[0].detach()
    sent = like.new_empty([sum(ins)])
    for part, one in zip(sent.split(ins), input_tensor_list, strict=True):
        part.copy_(one.detach().reshape(-1))
    got = like.new_empty([sum(outs)])
    call = Call("all_to_all", mine)
    target = call.written(got)

    def copy() -> None:
        for part, one in zip(got.split(outs), output_tensor_list, strict=True):
            one.detach().copy_(part.reshape(one.shape))

    call.then(copy)
    begun = mine.engine.all_to_all(mine.native, target, outs, call.read(sent), ins)
    return call.begun(begun, async_op, output_tensor_list)


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: datetime.timedelta | None = None
) -> Work | None:
    """Waits until every process of the group has come here."""
    mine = _mine("barrier", group)
    if mine is None:
        return None
    work = Call("barrier", mine).handle(mine.engine.barrier(mine.native))
    if async_op:
        return work
    work.wait(timeout)
    return None


def _each(begin: Callable[[Tensor], Work | None], tensors: Any, async_op: bool) -> Work | None:
    """One call a tensor, all begun before one is waited for; the last handle stands for all."""
    check_tensors("tensors", tensors)
    works = [work for work in map(begin, tensors) if work is not None]
    if async_op:
        return works[-1] if works else None
    for work in works:
        work.wait()
    return None


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors."""
    return _each(lambda one: all_reduce(one, op, group, async_op=True), tensors, async_op)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_gather` of several tensors; ``output_tensor_lists`` has a list for each process."""
    lists = iter([*zip(*output_tensor_lists, strict=True)])
    return _each(lambda one: all_gather([*next(lists)], one, group, async_op=True), input_tensor_list, async_op)
