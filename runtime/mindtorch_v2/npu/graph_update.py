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
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _core
from .._core import OpOverload
from ..overrides import TorchDispatchMode, of_numbers
from . import runtime
from .errors import NpuError
from .graph_handlers import NpuGraphOpHandler, handler_of, replacement_of
from .graph_records import DispatchRecord, Payload, argument_names, qualified, tensor_names, wrapped
from .recording import (
    graph_task_group_begin,
    graph_task_group_end,
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
        func = of_numbers(func, args)
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
        if self._ahead > 1:  # the first of several would let it through
            stream.wait_event(_stream_for(self.index).record_event())
        yield
        end = (
            stream.record_event()
        )  # without the lock: where the queue is full, it waits for an update of another thread
        with _one_at_a_time:
            self._ends.append(end)
            if self._ahead:
                self._ends.popleft()
                self._ahead = 0

    def release(self) -> None:
        """Lets the replays that wait for an update go without one, as nobody can give it any more."""
        if len(self._ends) < 2 or runtime.opened().forked:
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
            changes = self._changes(payloads)
            stream = _stream_for(self.index).npu_stream
            device = _core.npu_set_device(self.index)
            current = _core.npu_swap_stream(self.index, stream)
            grad = _core.set_grad_enabled_(False)
            try:
                if len(self._ends) > 1:
                    self._forget_failed()
                while self._retired and self._retired[0][0].query():
                    self._retired.popleft()
                if end := self._ends[0].npu_event:
                    _core.npu_wait_event(stream, end)
                self._replace(changes, stream)
                for record in self.records:
                    _core.npu_record_event(record.event.npu_event, stream)
            finally:
                _core.set_grad_enabled_(grad)
                _core.npu_swap_stream(self.index, current)
                _core.npu_set_device(device)
            if len(self._ends) > 1:
                self._ends.popleft()
            else:
                self._ahead += 1

    def _changes(self, payloads: Sequence[Mapping[str, Any]]) -> list[_Change | None]:
        """What the calls get; None for one that stays as it is. Raises where a value belongs to no call."""
        if not isinstance(payloads, (list, tuple)):
            raise _no_mappings(next(iter(payloads), payloads) if isinstance(payloads, Mapping) else payloads)
        for payload in payloads:
            if type(payload) is not dict and not isinstance(payload, Mapping):
                raise _no_mappings(payload)
        records = self.records
        if len(payloads) not in (1, len(records)):
            raise ValueError(
                f"NPUGraph.update: expected 1 mapping for all {len(records)} updatable operators of the graph, "
                f"or one for each, got {len(payloads)}"
            )
        known: set[str] = set()
        if len(payloads) == 1:
            changes = [_changed(record, payloads[0], known) for record in records]
            _refuse_unknown(payloads[0], known, records)
            return changes
        changes = []
        for record, payload in zip(records, payloads, strict=True):
            known.clear()
            changes.append(_changed(record, payload, known))
            _refuse_unknown(payload, known, [record])
        return changes

    def _replace(self, changes: Sequence[_Change | None], stream: int) -> None:
        """Runs the calls again and puts their tasks in the graph; where one fails, those before it run as before."""
        done: list[tuple[DispatchRecord, _Change, list[Any]]] = []
        for record, change in zip(self.records, changes, strict=True):
            if change is None:
                continue
            try:
                needed = _run_again(record, change, stream)
            except BaseException as error:
                for earlier, _, _ in done:
                    before = _Change(earlier.args, earlier.kwargs, ())
                    self._retired.append((self._ends[0], _run_again(earlier, before, stream)))
                raise _named(record, change.names, error) from error
            done.append((record, change, needed))
        for record, change, needed in done:
            if record.needed:
                self._retired.append((self._ends[0], record.needed))
            record.args, record.kwargs, record.needed = change.args, change.kwargs, needed


class _Change(NamedTuple):
    """What a call gets in an update, and which of its arguments are other than before."""

    args: list[Any]
    kwargs: dict[str, Any]
    names: Sequence[str]


def _run_again(record: DispatchRecord, change: _Change, stream: int) -> list[Any]:
    """Queues a call's tasks in the place of a record's; returns what they read from the host."""
    needed: list[Any] = []
    with kept_in(needed):
        _core.npu_replace_tasks(stream, record.handle, record.allocations, record.run, change.args, change.kwargs)
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


def _no_mappings(value: Any) -> TypeError:
    return TypeError(f"NPUGraph.update: expected a list of mappings of argument names to values, got {value!r}")


def _changed(record: DispatchRecord, payload: Mapping[str, Any], known: set[str]) -> _Change | None:
    """A call with the values of an update that are its own, None where there are none; ``known`` gets its keys."""
    if record.by_code and payload:
        return _changed_by_code(record, payload, known)
    args, kwargs, names, listed = list(record.args), dict(record.kwargs), [], False
    if not record.handler._declared:  # what a file declares is all that may change
        known.update(kwargs)
        names = _assigned_by_name(kwargs, payload)
        listed = bool(names)
    for _, where, key in record.specs:
        known.add(key)
        if key in payload:
            value = payload[key]
            names.append(record.assign(args, kwargs, where, value))
            listed = listed or isinstance(value, (list, tuple))
    if listed:
        _check_lengths(record, args, kwargs)
    return _Change(args, kwargs, names) if names else None


def _changed_by_code(record: DispatchRecord, payload: Mapping[str, Any], known: set[str]) -> _Change:
    """The same where the handler's own code assigns the values: what it looks for is what it knows."""
    trial, watched = record.trial(), Payload(payload)
    known.update(trial.kwargs)
    _assigned_by_name(trial.kwargs, payload)
    try:
        record.handler.update_args(trial, watched)
    except BaseException as error:
        raise _named(record, list(_differing(record, trial.args, trial.kwargs)), error) from error
    known |= watched.asked
    _check_lengths(record, trial.args, trial.kwargs)
    return _Change(trial.args, trial.kwargs, list(_differing(record, trial.args, trial.kwargs)))


def _assigned_by_name(kwargs: dict[str, Any], payload: Mapping[str, Any]) -> list[str]:
    names = [name for name in kwargs if name in payload]
    for name in names:
        kwargs[name] = payload[name]
    return names


def _pairs(record: DispatchRecord, args: list[Any], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name, value of the record, value) of every argument."""
    for index, new in enumerate(args):
        yield record.name_of(index), record.args[index] if index < len(record.args) else None, new
    for name, new in kwargs.items():
        yield name, record.kwargs.get(name), new


def _differing(record: DispatchRecord, args: list[Any], kwargs: dict[str, Any]) -> Iterator[str]:
    for name, old, new in _pairs(record, args, kwargs):
        if new is not old and not (type(new) is type(old) is list and new == old):
            yield name


def _check_lengths(record: DispatchRecord, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raises ValueError for a list of another length than at the capture, whose memory and tasks a graph keeps."""
    for index, (old, new) in enumerate(zip(record.args, args, strict=False)):
        if new is not old and _of_other_length(old, new):
            raise _other_length(record, record.name_of(index), old, new)
    for name, new in kwargs.items():
        old = record.kwargs.get(name)
        if new is not old and _of_other_length(old, new):
            raise _other_length(record, name, old, new)


def _of_other_length(old: Any, new: Any) -> bool:
    return isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)) and len(old) != len(new)


def _other_length(record: DispatchRecord, name: str, old: Any, new: Any) -> ValueError:
    return ValueError(
        f"NPUGraph.update of {record.name}: record {record.number}, `{name}`: had {len(old)} values at the capture, "
        f"got {len(new)}; a graph keeps the sizes that it was captured with"
    )


def _refuse_unknown(payload: Mapping[str, Any], known: set[str], records: Sequence[DispatchRecord]) -> None:
    """Raises ValueError for a key that none of the records takes, with those that they take."""
    if not payload.keys() <= known:
        unknown = sorted(payload.keys() - known, key=str)
        takes: dict[tuple[str, str], list[int]] = {}
        for record in records:
            takes.setdefault((record.name, ", ".join(record.update_keys()) or "none"), []).append(record.number)
        shown = [f"{keys} of {name} ({_counted(numbers)})" for (name, keys), numbers in takes.items()]
        raise ValueError(
            f"NPUGraph.update: {', '.join(map(repr, unknown))} cannot be updated; the arguments that can be are "
            f"{'; '.join(shown) or 'none'} (`graph: {{update: [...]}}` in YAML, `Library.register_graph`)"
        )


def _counted(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"record {numbers[0]}"
    few = ", ".join(map(str, numbers[:5]))
    return f"records {few}{', ...' if len(numbers) > 5 else ''}"


def _named(record: DispatchRecord, names: Sequence[str], error: BaseException) -> BaseException:
    """An error of an update that says which operator and which arguments it was of."""
    of = "".join(f", `{name}`" for name in names)
    message = f"NPUGraph.update of {record.name}: record {record.number}{of}: {error}"
    if isinstance(error, NpuError):
        return NpuError(message, error.code)
    for kind in _PLAIN_ERRORS:
        if type(error) is kind:
            return kind(message)
    return error if not isinstance(error, RuntimeError) else RuntimeError(message)


def _described(record: DispatchRecord) -> str:
    keys = ", ".join(record.update_keys())
    return f"{record.name} ({keys})" if keys else record.name
