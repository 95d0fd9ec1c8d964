"""PyTorch's ``torch.autograd.profiler``: `record_function` labels a block, `profile` records one thread's calls.

`torch.profiler` is the newer face of it, `torch.npu.profile` the one that writes a timeline of a whole program.
"""

from __future__ import annotations

import functools
import os
import uuid
import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar

from .. import _core
from . import _chrome_trace
from ._profiler_events import events_of
from ._recording import Recorder, Recording
from ._recording import is_recording as _profiler_enabled  # noqa: F401  (PyTorch's name)
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, MemRecordsAcc

__all__ = [
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "profile",
    "record_function",
]

F = TypeVar("F", bound=Callable[..., Any])
Error = type[BaseException] | None


def kineto_available() -> bool:
    """Whether traces are PyTorch's own library's work; here they never are."""
    return False


class record_function:  # noqa: N801  (PyTorch's name)
    """A label for a block, or as a decorator for each call of a function, in profiles and traces.

    Where no profiler runs it does nothing. ``args`` is kept beside the name.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.record: int | None = None

    def __enter__(self) -> record_function:
        if not isinstance(self.name, str):
            raise RuntimeError(
                f"record_function: expected a value of type 'str' for argument 'name' but instead found type "
                f"'{type(self.name).__name__}'"
            )
        self.record = _core.open_span("user_annotation", self.name)
        return self

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.record is None:
            raise AssertionError("Expected record to be set")
        _core.close_span(self.record)

    def __call__(self, function: F) -> F:
        """A function that is recorded whenever it is called."""

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded  # type: ignore[return-value]


def refuse_experiments(config: Any) -> None:
    """Raises NotImplementedError for options of PyTorch's own library, which would do nothing here."""
    if config is not None:
        raise NotImplementedError(
            "experimental_config has options of PyTorch's Kineto, which records nothing here: leave it out"
        )


class profile:  # noqa: N801
    """``with torch.autograd.profiler.profile() as p:`` records the calls of the block's thread.

    ``record_shapes`` keeps the shapes of arguments, ``with_stack`` where in Python each call is, ``profile_memory``
    what memory each took and gave back, ``with_flops`` the operations of matrix products and the like.
    ``use_device="npu"`` adds what ran on NPUs. With ``acc_events`` events of one block after another are kept.
    Raises RuntimeError where it is entered a second time, or while another profiler runs.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.enabled = enabled
        refuse_experiments(experimental_config)
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        if use_device == "cuda":
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
            use_device = None
        elif use_device not in (None, "npu"):
            warnings.warn(f"The {use_device} is not a valid device option.", stacklevel=2)
            use_device = None
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        if not use_cpu and use_device is None:
            raise AssertionError("No activities specified for the profiler")
        self.use_device, self.use_cpu = use_device, use_cpu
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.record_shapes |= with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.acc_events, self.custom_trace_id_callback = acc_events, custom_trace_id_callback
        self.trace_id = ""
        self.entered = False
        self._recorder: Recorder | None = None
        self._recording: Recording | None = None
        self._events: EventList | None = None
        self._kept: list[Any] = []

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        named = self.custom_trace_id_callback
        self.entered, self.trace_id = True, named() if named is not None else f"{uuid.uuid4().int:032X}"

    def _start_trace(self) -> None:
        recorder = Recorder(
            shapes=self.record_shapes,
            stacks=self.with_stack,
            memory=self.profile_memory,
            device=self.use_device is not None,
        )
        recorder.begin()
        self._recorder = recorder

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> Literal[False]:
        if not self.enabled or self._recorder is None:
            return False
        if self.acc_events and self._recording is not None:
            self._kept = list(self.function_events)
        recorder, self._recorder = self._recorder, None
        self._recording, self._events = recorder.end(), None
        if self._recording is not None and self._recording.failure is not None and kind is None:
            raise self._recording.failure
        return False

    @property
    def function_events(self) -> EventList:
        """The events, in the order in which they began; none while the block runs."""
        if self._events is None:
            if self._recording is None:
                return self._list([])
            events = events_of(self._recording, self.use_device, self.profile_memory, self.with_flops)
            if not self.use_cpu:
                events[:] = [event for event in events if event.device_type.name != "CPU"]
            self._events = self._list([*self._kept, *events])
        return self._events

    def _list(self, events: list[Any]) -> EventList:
        found = EventList(
            events, use_device=self.use_device, profile_memory=self.profile_memory, with_flops=self.with_flops
        )
        found._tree_built = True
        return found

    def __repr__(self) -> str:
        return repr(self.function_events) if self._recording is not None else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._recording is not None else "<unfinished torch.autograd.profile>"

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a table; see `EventList.table`."""
        return self.function_events.table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
        )

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """An average for each name; see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all events' own times, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(
        self, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None, use_python_export: bool = False
    ) -> None:
        """Writes the last block's trace, for Perfetto or ``chrome://tracing``; compressed for ``.gz``.

        The file is put in place once it is whole. Raises OSError where that fails, RuntimeError where nothing was
        recorded.
        """
        if self._recording is None:
            raise RuntimeError("export_chrome_trace: nothing was recorded: leave the profile's block first")
        settings = {"record_shapes": self.record_shapes, "profile_memory": self.profile_memory}
        settings |= {"with_stack": self.with_stack}
        flags = {name: 1 for name, value in settings.items() if value}
        trace = _chrome_trace.trace_of(
            self._recording, os.fspath(path), {"trace_id": self.trace_id, **flags, **(metadata or {})}
        )
        _chrome_trace.write(path, trace)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes where the time went, a stack a line; see `EventList.export_stacks`."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


class _Emit:
    """What announces calls to another profiler, none of which hears of them here."""

    _annotations = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self) -> None:
        if not self.enabled:
            return
        if self.entered:
            raise RuntimeError(f"{self._annotations} annotation context manager is not reentrant")
        self.entered = True
        self._refuse()

    def _refuse(self) -> None:
        raise RuntimeError(
            f"{self._annotations} functions not installed: no such profiler hears of calls; use torch.profiler.profile"
        )

    def __exit__(self, kind: Error, error: BaseException | None, trace: TracebackType | None) -> None:
        pass


class emit_itt(_Emit):  # noqa: N801
    """Announces calls to Intel's VTune: RuntimeError, as in a PyTorch without ITT, but with ``enabled=False``."""

    _annotations = "ITT"


class emit_nvtx(_Emit):  # noqa: N801
    """Announces calls to NVIDIA's profilers: AssertionError, as without CUDA, but with ``enabled=False``."""

    _annotations = "NVTX"

    def _refuse(self) -> None:
        raise AssertionError("Torch not compiled with CUDA enabled")


class EnforceUnique:
    """Raises RuntimeError for a key that is seen twice."""

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Notes a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Steps of a program, counted by who takes part in them; the program's step is the furthest of theirs."""

    _current_step = 0
    _steps: dict[str, int] = {}  # noqa: RUF012  (PyTorch's, one for the process)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Counts somebody from the current step on."""
        cls._steps[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Counts somebody no more; whether it was."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """A step of somebody's; the program's."""
        cls._steps[requester] = cls._steps.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, *cls._steps.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The program's step."""
        return cls._current_step
