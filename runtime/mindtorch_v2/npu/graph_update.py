"""New arguments for captured operators: what is captured of them, and how they are run again to update a graph.

An operator with updatable arguments is captured as a task group, behind a wait for an event of its own: a replay does
not pass it before the event is recorded. An update runs the operator again, with new values, on a stream that keeps the
tasks and puts them in the group's place; then it records the event.
"""

from __future__ import annotations

import copy
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._core import OpOverload, Tensor
from ..autograd import no_grad
from ..overrides import TorchDispatchMode
from . import runtime
from .errors import NpuError
from .graph_specs import UPDATE_SPECS
from .recording import (
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
    is_current_stream_capturing,
    kept_in,
)
from .streams import Event, ExternalEvent, Stream, StreamContext, current_stream, new_stream

__all__ = ["Updates"]

_Payload = Mapping[str, Any]

_one_at_a_time = threading.RLock()  # allocations are recorded and played back for one operator at a time
_update_streams: dict[int, Stream] = {}


def _update_stream(index: int) -> Stream:
    """A stream of its own: on one of the pool a replay might run, which waits for what is queued behind it."""
    if index not in _update_streams:
        _update_streams[index] = Stream._of(index, new_stream(index))
    return _update_streams[index]


_all: weakref.WeakSet[Updates] = weakref.WeakSet()


def _release_all() -> None:
    for updates in list(_all):
        updates.release()


runtime.at_exit.append(_release_all)


@dataclass
class _Dispatch:
    """A captured call: enough to make it again."""

    op: OpOverload
    updatable: tuple[str, ...]
    arguments: dict[str, Any]
    event: ExternalEvent
    group: int
    allocations: list[tuple[int, int]]
    needed: list[Any] = field(default_factory=list)  # what the newest tasks read from the host

    def run(self, values: _Payload) -> None:
        """Calls the operator with new values of some arguments, in the memory that it had when it was captured."""
        arguments = {**self.arguments, **values}
        positional = [argument.name for argument in self.op._schema.arguments if not argument.kwarg_only]
        keywords = {name: value for name, value in arguments.items() if name not in positional}
        with no_grad():
            self.op(*(arguments[name] for name in positional if name in arguments), **keywords)


class Updates(TorchDispatchMode):
    """The updatable calls of one graph. As a mode, entered during the capture, it captures them so."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index
        self.calls: list[_Dispatch] = []
        _all.add(self)
        self.needed: list[Any] = []  # what the other tasks of the capture read from the host
        self.failure: Exception | None = None
        # Events are flags: set for the next replay before this one has cleared them, they would be set once. So an
        # update waits for the end of the replay before its own, the first of these; replays without update follow.
        self._ends: deque[Event] = deque([Event()])
        self._early: Event | None = None  # the end of the latest update, where the replay it is for was not queued yet
        self._retired: deque[tuple[Event, list[Any]]] = deque()  # what replaced tasks need, up to the end of a replay

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        updatable = UPDATE_SPECS.get(func.name())
        if updatable is None or not is_current_stream_capturing():
            return func(*args, **(kwargs or {}))
        return self._capture(func, updatable, args, kwargs or {})

    def _capture(
        self, op: OpOverload, updatable: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        stream, event = current_stream(), ExternalEvent()
        named = dict(zip((argument.name for argument in op._schema.arguments), args, strict=False)) | kwargs
        arguments = {name: _without_owner(value) for name, value in named.items()}
        event.wait(stream)
        event.reset(stream)
        self.needed.append(event)
        with _one_at_a_time:
            graph_task_group_begin(stream)
            _core.npu_tape_allocations(stream.npu_stream)
            try:
                result = op(*args, **kwargs)
            except Exception as error:
                self.failure = RuntimeError(f"the capture of {op.name()} failed: {error}")
                raise
            finally:
                allocations = _core.npu_end_tape()
                group = self._end_group(stream)
        self.calls.append(_Dispatch(op, updatable, arguments, event, group, allocations))
        return result

    def _end_group(self, stream: Stream) -> int:
        try:
            return graph_task_group_end(stream)
        except NpuError as error:  # the capture is spoilt; its end tells why
            self.failure = self.failure or error
            return 0

    @contextmanager
    def replaying(self, stream: Stream) -> Iterator[None]:
        """What goes before and behind a replay that is queued on a stream."""
        if not self.calls:
            yield
            return
        if self._early is not None:  # of several updates for this replay the first would let it through
            stream.wait_event(self._early)
        yield
        self._ends.append(stream.record_event())
        if self._early is not None:
            self._ends.popleft()
            self._early = None

    def apply(self, payloads: Sequence[_Payload]) -> None:
        """``NPUGraph.update``."""
        plan = self._plan(payloads)
        stream = _update_stream(self.index)
        while self._retired and self._retired[0][0].query():
            self._retired.popleft()
        with _one_at_a_time:
            stream.wait_event(self._ends[0])
            for call, values in zip(self.calls, plan, strict=True):
                if values:
                    self._update(call, values, stream)
                call.event.record(stream)
            if len(self._ends) > 1:
                self._ends.popleft()
            else:
                self._early = stream.record_event()

    def release(self) -> None:
        """Lets the replays that wait for an update go without one."""
        stream = _update_stream(self.index)
        while len(self._ends) > 1:
            stream.wait_event(self._ends.popleft())
            for call in self.calls:
                call.event.record(stream)

    def _plan(self, payloads: Sequence[_Payload]) -> list[_Payload]:
        """The new values of each call. Raises ValueError where some belong to none."""
        for payload in payloads:
            if not isinstance(payload, Mapping):
                raise TypeError(
                    f"NPUGraph.update: expected a list of mappings of argument names to values, got {payload!r}"
                )
        if len(payloads) == 1:
            known = {name for call in self.calls for name in call.updatable}
            _refuse_unknown(payloads[0], known, "the captured operators")
            return [
                {name: value for name, value in payloads[0].items() if name in call.updatable} for call in self.calls
            ]
        if len(payloads) != len(self.calls):
            raise ValueError(
                f"NPUGraph.update: expected 1 mapping for all {len(self.calls)} updatable operators of the graph, "
                f"or one for each, got {len(payloads)}"
            )
        for call, payload in zip(self.calls, payloads, strict=True):
            _refuse_unknown(payload, set(call.updatable), call.op.name())
        return list(payloads)

    def _update(self, call: _Dispatch, values: _Payload, stream: Stream) -> None:
        needed: list[Any] = []
        with StreamContext(stream), kept_in(needed):
            graph_task_update_begin(stream, call.group)
            try:
                _core.npu_play_tape(call.allocations, stream.npu_stream)
                try:
                    call.run(values)
                except BaseException:
                    _give_up_update(stream)
                    raise
                finally:
                    _core.npu_stop_tape()
                graph_task_update_end(stream)
            except NpuError as error:
                raise NpuError(f"NPUGraph.update of {call.op.name()}: {error}", error.code) from None
        self._retired.append((self._ends[0], call.needed))
        call.needed = needed
        call.arguments.update(values)


def _give_up_update(stream: Stream) -> None:
    """Ends an update whose operator raised: with other tasks than the group's, nothing is replaced."""
    with suppress(NpuError):
        graph_task_update_end(stream)


def _refuse_unknown(payload: _Payload, known: set[str], whose: str) -> None:
    unknown = sorted(set(payload) - known)
    if unknown:
        raise ValueError(
            f"NPUGraph.update: {', '.join(map(repr, unknown))} cannot be updated; the updatable arguments of {whose} "
            f"are {', '.join(sorted(known)) or 'none'} (`graph: {{update: [...]}}` in YAML, `Library.register_graph`)"
        )


def _without_owner(value: Any) -> Any:
    """A copy of an argument that keeps no device memory alive: that belongs to the graph, or to who captures."""
    if isinstance(value, Tensor):
        if value.is_npu:
            return _core.from_buffer(None, value.data_ptr(), value.shape, value.stride(), value.dtype, value.device)
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(_without_owner(item) for item in value)
    return copy.deepcopy(value)
