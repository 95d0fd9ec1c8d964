"""New arguments for captured operators: what is captured of them, and how they are run again to update a graph.

An operator with a handler is captured as a task group, behind a wait for an event of its own: a replay does not pass it
before the event is recorded. An update runs the operator again, with new values, on a stream that keeps the tasks and
puts them in the group's place; then it records the event.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .. import _core
from .._core import OpOverload
from ..overrides import TorchDispatchMode
from . import runtime
from .errors import NpuError
from .graph_handlers import NpuGraphOpHandler, handler_of, replacement_of
from .graph_records import DispatchRecord, Payload, argument_names, qualified, tensor_names, wrapped
from .recording import (
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
    is_current_stream_capturing,
    kept_in,
)
from .streams import Event, ExternalEvent, Stream, current_stream, new_stream

__all__ = ["Updates"]

_PLAIN_ERRORS = (RuntimeError, TypeError, ValueError, OverflowError, IndexError, NotImplementedError, ZeroDivisionError)

_one_at_a_time = threading.RLock()  # allocations are recorded and played back for one operator at a time
_streams: dict[tuple[int, str], Stream] = {}


def _in_a_fork() -> None:
    """In a child nobody holds the lock, whose owner is a thread of the parent's."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()


os.register_at_fork(after_in_child=_in_a_fork)


def _stream_for(index: int, purpose: str = "updates") -> Stream:
    """A stream of its own: on one of the pool a replay might run, which waits for what is queued behind it."""
    if (index, purpose) not in _streams:
        _streams[index, purpose] = Stream._of(index, new_stream(index))
    return _streams[index, purpose]


_all: weakref.WeakSet[Updates] = weakref.WeakSet()


def _release_all() -> None:
    for updates in list(_all):
        updates.release()


runtime.at_exit.append(_release_all)


class Updates(TorchDispatchMode):
    """The updatable calls of one graph. As a mode, entered during the capture, it captures them so."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index
        self.records: list[DispatchRecord] = []
        _all.add(self)
        self.needed: list[Any] = []  # what the other tasks of the capture read from the host
        self.failure: Exception | None = None
        # Events are flags: set for the next replay before this one has cleared them, they would be set once. So an
        # update waits for the end of the replay before its own, the first of these; replays without update follow.
        self._ends: deque[Event] = deque([Event()])
        self._ahead = 0  # updates for the replay that comes next
        self._retired: deque[tuple[Event, list[Any]]] = deque()  # what replaced tasks need, up to the end of a replay

    # ---------------------------------------------------------------- capture
    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        handler = handler_of(func)
        if handler is None or not is_current_stream_capturing():
            return func(*args, **(kwargs or {}))
        return self._capture(func, handler, args, dict(kwargs or {}))

    def _capture(
        self, func: OpOverload, handler: type[NpuGraphOpHandler], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        actual, args, kwargs = _prepared(handler, func, args, kwargs)
        owner = handler if actual is func else replacement_of(handler, func, actual)
        stream = current_stream()
        record = _recorded(len(self.records), actual, owner, args, kwargs)
        record.event.wait(stream)
        record.event.reset(stream)
        _core.npu_note(stream.device_index, stream.npu_stream, f"wait for an update of {_described(record)}")
        self.needed.append(record.event)
        with _one_at_a_time:
            graph_task_group_begin(stream)
            _core.npu_tape_allocations(stream.npu_stream)
            try:
                result = actual(*args, **kwargs)
            except Exception as error:
                self.failure = RuntimeError(f"the capture of {qualified(actual)} failed: {error}")
                raise
            finally:
                record.allocations = _core.npu_end_tape()
                record.handle = self._end_group(stream)
        self.records.append(record)
        return handler.postprocess_result(result, kwargs)

    def _end_group(self, stream: Stream) -> int:
        try:
            return graph_task_group_end(stream)
        except NpuError as error:  # the capture is spoilt; its end tells why
            self.failure = self.failure or error
            return 0

    # ---------------------------------------------------------------- replays
    def waiting(self) -> str:
        """What a replay that is queued now would wait for; empty where its update was given."""
        if self._ahead or not self.records:
            return ""
        return f"NPUGraph.update of {'; '.join(map(_described, self.records[:3]))}"

    @contextmanager
    def replaying(self, stream: Stream) -> Iterator[None]:
        """What goes before and behind a replay that is queued on a stream."""
        if not self.records:
            yield
            return
        with _one_at_a_time:
            if self._ahead > 1:  # the first of several would let it through
                stream.wait_event(_stream_for(self.index).record_event())
            yield
            self._ends.append(stream.record_event())
            if self._ahead:
                self._ends.popleft()
                self._ahead = 0

    def release(self) -> None:
        """Lets the replays that wait for an update go without one, as nobody can give it any more."""
        if len(self._ends) < 2:
            return
        # The garbage collector may come here in the middle of another graph's update, whose stream is taken.
        stream = _stream_for(self.index, "releases")
        while len(self._ends) > 1:
            stream.wait_event(self._ends.popleft())
            for record in self.records:
                record.event.record(stream)

    def _forget_failed(self) -> None:
        """A replay that ended without its update waited in vain and failed: none is due to it any more."""
        while len(self._ends) > 1 and self._ends[1].query():
            self._ends.popleft()

    # ---------------------------------------------------------------- updates
    def apply(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """``NPUGraph.update``: all of it or, where it raises, nothing."""
        with _one_at_a_time:
            trials = self._trials(payloads)
            stream = _stream_for(self.index)
            device = _core.npu_set_device(self.index)
            current = _core.npu_swap_stream(self.index, stream.npu_stream)
            grad = _core.set_grad_enabled_(False)
            try:
                self._forget_failed()
                while self._retired and self._retired[0][0].query():
                    self._retired.popleft()
                stream.wait_event(self._ends[0])
                self._replace(trials, stream)
                for record in self.records:
                    record.event.record(stream)
            finally:
                _core.set_grad_enabled_(grad)
                _core.npu_swap_stream(self.index, current)
                _core.npu_set_device(device)
            if len(self._ends) > 1:
                self._ends.popleft()
            else:
                self._ahead += 1

    def _trials(self, payloads: Sequence[Mapping[str, Any]]) -> list[DispatchRecord | None]:
        """The calls with their new values; None for one that has none. Raises where a value belongs to no call."""
        if isinstance(payloads, Mapping) or not isinstance(payloads, (list, tuple)):
            raise TypeError(
                f"NPUGraph.update: expected a list of mappings of argument names to values, got {_first(payloads)!r}"
            )
        for payload in payloads:
            if not isinstance(payload, Mapping):
                raise TypeError(
                    f"NPUGraph.update: expected a list of mappings of argument names to values, got {payload!r}"
                )
        if len(payloads) not in (1, len(self.records)):
            raise ValueError(
                f"NPUGraph.update: expected 1 mapping for all {len(self.records)} updatable operators of the graph, "
                f"or one for each, got {len(payloads)}"
            )
        given = [Payload(payload) for payload in payloads]
        if len(given) == 1:
            shared = given * len(self.records)
            trials = [_tried(record, payload) for record, payload in zip(self.records, shared, strict=True)]
            _refuse_unknown(given[0], self.records)
            return trials
        trials = []
        for record, payload in zip(self.records, given, strict=True):
            trials.append(_tried(record, payload))
            _refuse_unknown(payload, [record], record)
        return trials

    def _replace(self, trials: Sequence[DispatchRecord | None], stream: Stream) -> None:
        """Runs the calls again and puts their tasks in the graph; where one fails, those before it run as before."""
        done: list[tuple[DispatchRecord, DispatchRecord, list[Any]]] = []
        for record, trial in zip(self.records, trials, strict=True):
            if trial is None:
                continue
            try:
                needed = self._run_again(record, trial, stream)
            except BaseException as error:
                for earlier, _, _ in done:
                    self._retired.append((self._ends[0], self._run_again(earlier, earlier, stream)))
                raise _named(record, trial, error) from error
            done.append((record, trial, needed))
        for record, trial, needed in done:
            if record.needed:
                self._retired.append((self._ends[0], record.needed))
            record.args, record.kwargs, record.needed = trial.args, trial.kwargs, needed

    @staticmethod
    def _run_again(record: DispatchRecord, call: DispatchRecord, stream: Stream) -> list[Any]:
        """Queues a call's tasks in the place of a record's; returns what they read from the host."""
        needed: list[Any] = []
        with kept_in(needed):
            graph_task_update_begin(stream, record.handle)
            try:
                _core.npu_play_tape(record.allocations, stream.npu_stream)
                try:
                    call.run()
                finally:
                    _core.npu_stop_tape()
            except BaseException:
                with suppress(NpuError):  # with other tasks than the group's, nothing is replaced
                    graph_task_update_end(stream)
                raise
            graph_task_update_end(stream)
        return needed


# ---------------------------------------------------------------- the parts of a capture and an update
def _prepared(
    handler: type[NpuGraphOpHandler], func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    made: Any = handler.prepare_capture(func, args, kwargs)
    if not (isinstance(made, tuple) and len(made) == 3 and callable(made[0])):
        raise TypeError(
            f"{handler.__name__}.prepare_capture for {func.name()}: expected (function, args, kwargs), got {made!r}"
        )
    return made[0], tuple(made[1]), dict(made[2])


def _recorded(
    number: int,
    function: Callable[..., Any],
    handler: type[NpuGraphOpHandler],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> DispatchRecord:
    """The record of a call. Raises TypeError where an argument cannot be copied."""
    names, tensors = argument_names(function), tensor_names(function)
    record = DispatchRecord(number, function, handler, [], {}, ExternalEvent())
    key = ""
    try:
        for index, value in enumerate(args):
            key = names[index] if index < len(names) else f"args[{index}]"
            record.args.append(wrapped(value))
        for key, value in kwargs.items():
            record.kwargs[key] = handler.record_wrap_kwarg(key, value, tensors)
    except Exception as error:
        raise TypeError(
            f"the capture of {record.name}, record {number}: `{key}` cannot be kept for later updates: "
            f"{type(error).__name__}: {error}; a handler's record_wrap_kwarg can keep it otherwise"
        ) from error
    return record


def _tried(record: DispatchRecord, payload: Payload) -> DispatchRecord | None:
    """A record with the values of an update that are its own; None where there is none."""
    if not payload:
        return None
    trial = record.trial()
    handler = record.handler
    if not handler._declared:  # what a file declares is all that may change
        for key in trial.kwargs:
            if key in payload:
                trial.kwargs[key] = payload[key]
    try:
        handler.update_args(trial, payload)
    except BaseException as error:
        raise _named(record, trial, error) from error
    changed = list(_changed(record, trial))
    for name, old, new in changed:
        if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) != len(new):
            raise ValueError(
                f"NPUGraph.update of {record.name}: record {record.number}, `{name}`: had {len(old)} values at the "
                f"capture, got {len(new)}; a graph keeps the sizes that it was captured with"
            )
    return trial if changed or handler.overrides_update_args() else None


def _refuse_unknown(payload: Payload, records: Sequence[DispatchRecord], one: DispatchRecord | None = None) -> None:
    unknown = sorted((key for key in payload if key not in payload.asked), key=str)
    if unknown:
        known = sorted({key for record in records for key in record.update_keys()})
        where, whose = ("", "the captured operators") if one is None else (f", record {one.number}", one.name)
        raise ValueError(
            f"NPUGraph.update{where}: {', '.join(map(repr, unknown))} cannot be updated; the updatable arguments of "
            f"{whose} are {', '.join(known) or 'none'} (`graph: {{update: [...]}}` in YAML, `Library.register_graph`)"
        )


def _changed(record: DispatchRecord, trial: DispatchRecord) -> Iterator[tuple[str, Any, Any]]:
    """(name, old value, new value) of each argument that was assigned to."""
    for index, new in enumerate(trial.args):
        old = record.args[index] if index < len(record.args) else None
        if new is not old:
            yield record.name_of(index), old, new
    for name, new in trial.kwargs.items():
        old = record.kwargs.get(name)
        if new is not old:
            yield name, old, new


def _named(record: DispatchRecord, trial: DispatchRecord, error: BaseException) -> BaseException:
    """An error of an update that says which operator and which arguments it was of."""
    names = ", ".join(f"`{name}`" for name, _, _ in _changed(record, trial))
    message = f"NPUGraph.update of {record.name}: record {record.number}{', ' if names else ''}{names}: {error}"
    if isinstance(error, NpuError):
        return NpuError(message, error.code)
    for kind in _PLAIN_ERRORS:
        if type(error) is kind:
            return kind(message)
    return error if not isinstance(error, RuntimeError) else RuntimeError(message)


def _described(record: DispatchRecord) -> str:
    keys = ", ".join(record.update_keys())
    return f"{record.name} ({keys})" if keys else record.name


def _first(payloads: Any) -> Any:
    return next(iter(payloads), payloads) if isinstance(payloads, Mapping) else payloads
