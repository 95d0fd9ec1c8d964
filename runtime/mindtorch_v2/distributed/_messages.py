"""Messages between two processes: ``torch.distributed.send``, ``recv`` and what begins them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from .._core import Tensor, dtypes
from .._creation import empty
from ._calls import Call, check_tensor
from ._collectives import place_of
from ._groups import ProcessGroup, member_of
from ._work import DistBackendError, Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "monitored_barrier", "recv", "send"]


def _begin_send(name: str, tensor: Tensor, mine: ProcessGroup, place: int, tag: int) -> Work:
    if place == mine.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    call = Call(name, mine)
    return call.handle(mine.engine.send(mine.native, call.read(tensor), place, tag))


def _begin_receive(name: str, tensor: Tensor, mine: ProcessGroup, place: int | None, tag: int) -> Work:
    call = Call(name, mine)
    data = call.written(tensor)
    return call.handle(mine.engine.receive(mine.native, data, place, tag), [tensor])


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begins to send a tensor to process ``dst``; it is not changed until the handle's `wait` has returned."""
    check_tensor("tensor", tensor)
    mine = member_of(group)
    if mine is None:
        return None
    return _begin_send("isend", tensor, mine, place_of("isend", mine, dst, group_dst, "destination"), tag)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begins to receive into a tensor from process ``src``, or from whoever sends; the handle knows from whom."""
    check_tensor("tensor", tensor)
    mine = member_of(group)
    if mine is None:
        return None
    anyone = src is None and group_src is None
    place = None if anyone else place_of("irecv", mine, src, group_src, "source")
    return _begin_receive("irecv", tensor, mine, place, tag)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Sends a tensor to process ``dst``. Raises ValueError for this process itself, or one that there is not."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receives into a tensor from process ``src``, or from whoever sends: returns its number, -1 outside the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank() if src is None else src


class P2POp:
    """A message of several that `batch_isend_irecv` begins: ``op`` is `isend` or `irecv`."""

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor("tensor", tensor)
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, {self.tensor.shape}, {self.tensor.dtype})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begins several messages; none waits for another. Raises ValueError for what is no list of `P2POp`."""
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``, and one "
            "there to be"
        )
    works = [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]
    return [work for work in works if work is not None]


_ARRIVED, _GO_ON = 2**15 - 2, 2**15 - 1  # tags; MPI allows up to 2^15 - 1


def monitored_barrier(
    group: Any = None, timeout: datetime.timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that names who did not come: the first process hears from each, and then lets all go on.

    Raises DistBackendError in the first process after ``timeout``, with the ranks that did not come.
    """
    mine = member_of(group)
    if mine is None:
        return
    limit = timeout or mine.timeout
    if mine.rank() != 0:
        for begin, tag in ((_begin_send, _ARRIVED), (_begin_receive, _GO_ON)):
            begin("monitored_barrier", empty([1], dtype=dtypes["uint8"]), mine, 0, tag).wait(limit * 2)
        return
    words = {
        place: _begin_receive("monitored_barrier", empty([1], dtype=dtypes["uint8"]), mine, place, _ARRIVED)
        for place in range(1, mine.size())
    }
    missing: list[int] = []
    for place, work in words.items():
        try:
            work.wait(datetime.timedelta(0) if missing and not wait_all_ranks else limit)
        except DistBackendError:
            missing.append(mine.ranks[place])
    if missing:
        seconds = limit.total_seconds()
        raise DistBackendError(
            f"monitored_barrier: ranks {', '.join(map(str, missing))} failed to come to the barrier in {seconds:.1f} s"
        )
    for place in words:
        _begin_send("monitored_barrier", empty([1], dtype=dtypes["uint8"]), mine, place, _GO_ON).wait(limit)
