"""Gradients of several processes, averaged a bucket at a time while backward goes on.

A bucket is a run of memory for the gradients of some parameters, of one dtype and device. Backward fills buckets in
about the reverse of the order in which parameters were registered; each is sent when it is full and those before it
were, so that all processes send in one order.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._core import Tensor, dtypes
from ..._creation import zeros
from ...autograd import no_grad
from ...autograd.graph import get_gradient_edge
from ...distributed._collectives import all_reduce
from ...distributed._groups import ProcessGroup
from ...distributed._reduce_op import ReduceOp
from ...distributed._work import Work

__all__ = ["Reducer"]

_FIRST = 2**20  # bytes of the first bucket, which is to leave early


@dataclass
class _Bucket:
    places: list[int]  # of its parameters, among all
    memory: Tensor
    views: dict[int, Tensor]
    waiting: set[int] = field(default_factory=set)
    work: Work | None = None


def _runs(params: Sequence[Tensor], limit: int) -> Iterator[list[int]]:
    """The numbers of parameters that share a bucket."""
    open_runs: dict[Any, tuple[list[int], int]] = {}
    size_limit = min(_FIRST, limit)
    for place in reversed(range(len(params))):
        param = params[place]
        key = param.dtype, param.device
        run, size = open_runs.pop(key, ([], 0))
        run, size = [*run, place], size + param.numel() * param.element_size()
        if size >= size_limit:
            size_limit = limit
            yield run
        else:
            open_runs[key] = run, size
    yield from (run for run, _ in open_runs.values())


def _bucket(params: Sequence[Tensor], run: list[int]) -> _Bucket:
    first = params[run[0]]
    memory = first.detach().new_zeros([sum(params[place].numel() for place in run)])
    parts = memory.split([params[place].numel() for place in run])
    return _Bucket(run, memory, {p: part.view(params[p].shape) for p, part in zip(run, parts, strict=True)})


class Reducer:
    """Averages the gradients of ``params``, by name, once a backward pass that `expect` was called for.

    A parameter whose gradient no process computed keeps what it has. With ``as_views`` gradients are the buckets'
    memory.
    """

    def __init__(self, params: Mapping[str, Tensor], group: ProcessGroup, limit: int, as_views: bool) -> None:
        self.names, self.params = [*params], list[Tensor](params.values())
        self.group, self.as_views = group, as_views
        self.buckets = [_bucket(self.params, run) for run in _runs(self.params, limit)]
        self._of = {place: bucket for bucket in self.buckets for place in bucket.places}
        self._expecting = False  # a backward pass is to come, or is under way
        self._begun = False  # its first gradient is there
        self._unused: set[int] | None = None  # parameters that it will not reach; None: it reaches all
        self._next = 0  # the bucket that is sent next
        self._handles = [
            param.register_post_accumulate_grad_hook(functools.partial(self._arrived, place))
            for place, param in enumerate(self.params)
        ]

    def detach(self) -> None:
        """Takes the hooks back."""
        for handle in self._handles:
            handle.remove()

    def expect(self, outputs: Sequence[Tensor] | None) -> None:
        """The next backward pass is averaged; with the outputs it starts from, it may leave out parameters."""
        self._expecting, self._begun, self._next = True, False, 0
        self._unused = None if outputs is None else self._unreachable(outputs)
        for bucket in self.buckets:
            bucket.waiting, bucket.work = set(bucket.places), None

    def expect_none(self) -> None:
        """The next backward pass adds to gradients here alone."""
        self._expecting = False

    def check_finished(self) -> None:
        """Raises RuntimeError, with the parameters' names, where the last backward pass left out some."""
        if not (self._expecting and self._begun):
            return
        missing = [self.names[place] for bucket in self.buckets for place in sorted(bucket.waiting)]
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error "
            "indicates "
            "that your module has parameters that were not used in producing loss. You can enable unused parameter "
            "detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs "
            "participate "
            "in calculating loss. Parameters which did not receive grad for rank "
            f"{self.group.ranks[self.group.rank()]}: "
            f"{', '.join(missing)}"
        )

    def _unreachable(self, outputs: Sequence[Tensor]) -> set[int]:
        seen: set[Any] = set()
        left = [get_gradient_edge(one).node for one in outputs if one.requires_grad]
        while left:
            node = left.pop()
            if node not in seen:
                seen.add(node)
                left += [following for following, _ in node.next_functions if following is not None]
        return {
            place
            for place, param in enumerate(self.params)
            if not param.requires_grad or get_gradient_edge(param).node not in seen
        }

    def _arrived(self, place: int, _: Tensor) -> None:
        if not self._expecting:
            return
        bucket = self._of[place]
        if place not in bucket.waiting:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: the gradient of {self.names[place]} came again. "
                "Either the "
                "parameter is shared by several backward passes of one forward (reentrant checkpoints), or it was said "
                "to be unused"
            )
        with no_grad():
            if not self._begun:
                self._begun = True
                for one in self._unused or ():
                    self._of[one].views[one].zero_()
                    self._of[one].waiting.discard(one)
            grad = self.params[place].grad
            if grad is not None and grad is not bucket.views[place]:
                bucket.views[place].copy_(grad)
            bucket.waiting.discard(place)
            self._send()
            if self._next == len(self.buckets):
                self._finish()

    def _send(self) -> None:
        """Sends the buckets that are due, and lets those that are under way get on."""
        for bucket in self.buckets[: self._next]:
            if bucket.work is not None and not bucket.work.is_completed():
                break
        while self._next < len(self.buckets) and not self.buckets[self._next].waiting:
            bucket = self.buckets[self._next]
            bucket.memory.div_(self.group.size())
            bucket.work = all_reduce(bucket.memory, group=self.group, async_op=True)
            self._next += 1

    def _finish(self) -> None:
        """Waits for all buckets, and gives parameters their gradients."""
        self._expecting = False
        used = self._used_anywhere()
        for bucket in self.buckets:
            if bucket.work is not None:
                bucket.work.wait()
            for place in bucket.places:
                if used[place]:
                    self._give(self.params[place], bucket.views[place])

    def _used_anywhere(self) -> list[bool]:
        if self._unused is None:
            return [True] * len(self.params)
        used = zeros([len(self.params)], dtype=dtypes["uint8"])
        for place in {*range(len(self.params))} - self._unused:
            used[place] = 1
        all_reduce(used, ReduceOp.MAX, self.group)
        return [bool(one) for one in used.tolist()]

    def _give(self, param: Tensor, mean: Tensor) -> None:
        if self.as_views:
            param.grad = mean
        elif param.grad is None:
            param.grad = mean.clone()
        else:
            param.grad.detach().copy_(mean)
