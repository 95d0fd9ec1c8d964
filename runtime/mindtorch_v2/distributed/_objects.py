"""Python objects between processes: pickled, and sent as bytes behind their length.

What arrives is unpickled, which runs code that the sender chose: the processes of a program trust one another.
"""

from __future__ import annotations

import pickle
from typing import Any

from .._core import Tensor, dtypes
from .._creation import empty, frombuffer, tensor
from ._collectives import all_gather, broadcast, gather, place_of, scatter
from ._groups import member_of
from ._messages import recv, send

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _packed(value: Any) -> Tensor:
    return frombuffer(bytearray(pickle.dumps(value)), dtype=dtypes["uint8"])


def _unpacked(data: Tensor, length: int) -> Any:
    return pickle.loads(bytes(data[:length].tolist()))


def _bytes(count: int) -> Tensor:
    return empty([count], dtype=dtypes["uint8"])


def _filled(data: Tensor, count: int) -> Tensor:
    room = _bytes(count)
    room[: data.numel()].copy_(data)
    return room


def _lengths(count: int) -> Tensor:
    return empty([count], dtype=dtypes["int64"])


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Every process's ``obj`` in ``object_list``, by rank."""
    mine = member_of(group)
    if mine is None:
        return
    data = _packed(obj)
    lengths = [_lengths(1) for _ in mine.ranks]
    all_gather(lengths, tensor([data.numel()]), group)
    most = max(int(one.item()) for one in lengths)
    parts = [_bytes(most) for _ in mine.ranks]
    all_gather(parts, _filled(data, most), group)
    for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        object_list[i] = _unpacked(part, int(length.item()))


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Every process's ``obj`` in the list of process ``dst``, 0 unless it is given."""
    mine = member_of(group)
    if mine is None:
        return
    root = 0 if dst is None and group_dst is None else place_of("gather_object", mine, dst, group_dst, "root")
    here = mine.rank() == root
    if here != bool(object_gather_list):
        word = "be specified on destination rank" if here else "NOT be specified on non-destination ranks"
        raise ValueError(f"Argument ``gather_list`` must {word}.")
    data = _packed(obj)
    lengths = [_lengths(1) for _ in mine.ranks]
    all_gather(lengths, tensor([data.numel()]), group)
    most = max(int(one.item()) for one in lengths)
    parts = [_bytes(most) for _ in mine.ranks] if here else None
    gather(_filled(data, most), parts, group=group, group_dst=root)
    if object_gather_list and parts:
        for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
            object_gather_list[i] = _unpacked(part, int(length.item()))


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """``object_list`` becomes that of process ``src``, 0 unless it is given, element by element."""
    if not isinstance(object_list, list) or not object_list:
        raise ValueError(
            "broadcast_object_list: expected a list of one object or more, the same number in all processes"
        )
    mine = member_of(group)
    if mine is None:
        return
    root = 0 if src is None and group_src is None else place_of("broadcast_object_list", mine, src, group_src, "root")
    here = mine.rank() == root
    packed = [_packed(one) for one in object_list] if here else []
    lengths = tensor([one.numel() for one in packed]) if here else _lengths(len(object_list))
    broadcast(lengths, group=group, group_src=root)
    counts = [int(count) for count in lengths.tolist()]
    whole = _bytes(sum(counts))
    for part, one in zip(whole.split(counts), packed, strict=False):
        part.copy_(one)
    broadcast(whole, group=group, group_src=root)
    if not here:
        object_list[:] = [_unpacked(part, part.numel()) for part in whole.split(counts)]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """The first element of the output list becomes one of process ``src``'s input list, by rank."""
    mine = member_of(group)
    if mine is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = 0 if src is None and group_src is None else place_of("scatter_object_list", mine, src, group_src, "root")
    here = mine.rank() == root
    if here and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    packed = [_packed(one) for one in scatter_object_input_list or ()] if here else []
    lengths = tensor([one.numel() for one in packed]) if here else _lengths(mine.size())
    broadcast(lengths, group=group, group_src=root)
    counts = [int(count) for count in lengths.tolist()]
    part = _bytes(max(counts))
    parts = [_filled(one, max(counts)) for one in packed] if here else None
    scatter(part, parts, group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(part, counts[mine.rank()])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends objects to process ``dst``, which calls `recv_object_list` with a list of as many."""
    packed = [_packed(one) for one in object_list]
    send(tensor([one.numel() for one in packed]), dst, group, group_dst=group_dst)
    for one in packed:
        send(one, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives objects into the list, from process ``src`` or whoever sends: returns its number."""
    lengths = _lengths(len(object_list))
    sender = recv(lengths, src, group, group_src=group_src)
    if sender < 0:
        return sender
    for i, length in enumerate(lengths.tolist()):
        data = _bytes(int(length))
        recv(data, sender, group)
        object_list[i] = _unpacked(data, int(length))
    return sender
