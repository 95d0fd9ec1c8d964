"""``torch.profiler.profile``: a profiler that follows a schedule over a program's steps."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from ..autograd import profiler as prof
from ..autograd.profiler import kineto_available
from ..autograd.profiler_util import EventList
from ._actions import ProfilerAction, ProfilerActivity, Schedule, record_always, supported_activities

__all__ = ["kineto_available", "profile", "tensorboard_trace_handler"]

NONE, WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
RECORD, SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
RECORDING = (RECORD, SAVE)
# Steps that follow one another though no schedule should have it so.
UNUSUAL = {(WARMUP, NONE): "WARMUP followed by NONE", (RECORD, NONE): "RECORD followed by NONE"}
UNUSUAL[RECORD, WARMUP] = "RECORD followed by WARMUP"


def _activities(given: Iterable[Any] | None) -> set[ProfilerActivity]:
    if given is None:
        return supported_activities()
    found: set[ProfilerActivity] = set()
    for item in given:
        if not isinstance(item, ProfilerActivity):
            raise TypeError(f"Expected ProfilerActivity, got {type(item)}")
        if item in found:
            raise ValueError(f"Activity {item} specified more than once")
        found.add(item)
    if not found:
        raise AssertionError("No valid profiler activities found")
    return found


class profile:  # noqa: N801  (PyTorch's name)
    """``with torch.profiler.profile() as p:`` records what the block's thread calls, and what NPUs run of it.

    ``activities`` are of `supported_activities`; without ProfilerActivity.CPU events are those of devices alone.
    With a ``schedule`` (see `schedule`) the program says `step` after each of its steps, and ``on_trace_ready(p)`` gets
    the profiler at the end of each cycle; without one at the end of the block. ``record_shapes``, ``profile_memory``,
    ``with_stack`` and ``with_flops`` are as for ``torch.autograd.profiler.profile``. With ``acc_events`` events of all
    cycles are kept. ``with_modules`` is about TorchScript's modules, of which there are none.

    One profiler records at a time: RuntimeError where another does, or where this one is entered twice.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        prof.refuse_experiments(experimental_config)
        self.activities = _activities(activities)
        if use_cuda is not None:
            message = "`use_cuda` is deprecated, use `activities` argument instead"
            warnings.warn(message, FutureWarning, stacklevel=2)
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.acc_events, self.custom_trace_id_callback = acc_events, custom_trace_id_callback
        self.use_device = "npu" if ProfilerActivity.PrivateUse1 in self.activities else None
        self.schedule, self.record_steps = (schedule, True) if schedule else (record_always, False)
        self.on_trace_ready = on_trace_ready
        self.profiler: prof.profile | None = None
        self.step_num = 0
        self.step_rec_fn: prof.record_function | None = None
        self.current_action = self._action(0)
        self._metadata: dict[str, Any] = {}
        self._started = False

    def _action(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action == ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
                "user-provided schedule"
            )
        return action

    # ---------------------------------------------------------------- from step to step
    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except RuntimeError:
            if error is None:
                raise  # else what the block raised says more

    def start(self) -> None:
        """Begins, as ``with`` does. Raises RuntimeError where it has begun, or while another profiler records."""
        if self._started:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._pass_to(NONE, self.current_action)
        self._started = True
        self._begin_step()

    def stop(self) -> None:
        """Ends, as leaving ``with`` does; a cycle that is not over is handed over as it is."""
        if not self._started:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._started = False
        self._end_step()
        if self.current_action in RECORDING:
            self._stop_recording()
            self._trace_ready()

    def step(self) -> None:
        """Says that the program's next step begins."""
        self._end_step()
        before, self.current_action = self.current_action, self._action(self.step_num + 1)
        self.step_num += 1
        if self._started:
            self._pass_to(before, self.current_action)
            self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _pass_to(self, before: ProfilerAction, after: ProfilerAction) -> None:
        if (before, after) in UNUSUAL:
            warnings.warn(f"Incorrect schedule: {UNUSUAL[before, after]}", stacklevel=4)
        if before in RECORDING and not (before == RECORD and after in RECORDING):
            self._stop_recording()
            if before == SAVE:
                self._trace_ready()
            before = NONE
        if after in RECORDING and before not in RECORDING:
            self._start_recording()

    def _start_recording(self) -> None:
        if self.profiler is None or not self.acc_events:
            self.profiler = prof.profile(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_kineto=True,
                use_device=self.use_device,
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
            )
        self.profiler._prepare_trace()
        self.profiler._start_trace()

    def _stop_recording(self) -> None:
        self._recorded("stopping trace").__exit__(None, None, None)

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---------------------------------------------------------------- what was recorded
    def _recorded(self, what: str) -> prof.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last cycle, one a call, in the order in which they began."""
        return self._recorded("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """An average for each name: ``p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)``."""
        recorded = self._recorded("getting key averages")
        return recorded.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | os.PathLike[str], use_python_export: bool = False) -> None:
        """Writes the last cycle's trace, for Perfetto or ``chrome://tracing``; compressed for ``.gz``."""
        self._recorded("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes where the time went, a stack a line, for flame graphs."""
        self._recorded("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the traces that are written from now on."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """The same with a value in JSON; what is none is kept as text."""
        try:
            self._metadata[key] = json.loads(value)
        except (TypeError, ValueError):
            self._metadata[key] = value

    preset_metadata_json = add_metadata_json

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets what names the traces of the next cycles."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The last trace's name; None before there is one."""
        return None if self.profiler is None else self.profiler.trace_id


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes each trace into a folder, as ``<worker>.<time>.pt.trace.json``.

    The worker is ``<host>_<process>`` where none is named. Raises RuntimeError where the folder cannot be made.
    """

    def write(profiler: profile) -> None:
        try:
            Path(dir_name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        profiler.export_chrome_trace(Path(dir_name) / name, use_python_export)

    return write
