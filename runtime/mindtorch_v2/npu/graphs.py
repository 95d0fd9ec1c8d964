"""Graphs: work that is captured once and replayed, in private memory: ``torch.npu.NPUGraph``, ``torch.npu.graph``."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from .. import _core
from .._managers import not_entered
from . import acl
from .errors import MEANINGS, NpuError
from .graph_handlers import _NPU_GRAPH_OP_HANDLERS, NpuGraphOpHandler, register_npu_graph_handler
from .graph_pictures import write_picture
from .graph_pools import Pool, checked_pool, graph_pool_handle, release_pool, use_pool
from .graph_records import DispatchRecord, WeakTensor
from .graph_update import Updates
from .graphed_callables import graphed
from .memory import empty_cache
from .recording import is_current_stream_capturing, kept_in, model_of
from .runtime import on_device, opened, synchronize
from .streams import Stream, StreamContext, current_stream

__all__ = [
    "_NPU_GRAPH_OP_HANDLERS",
    "DispatchRecord",
    "NPUGraph",
    "NpuGraphOpHandler",
    "WeakTensor",
    "graph",
    "graph_pool_handle",
    "make_graphed_callables",
    "register_npu_graph_handler",
]

_STREAM_CAPTURED, _WRONG_STREAM, _WRONG_THREAD = 107027, 107036, 107038


# ---------------------------------------------------------------- captured graphs
class _Captured:
    """A captured graph of the library, and what has to live as long as it may run."""

    def __init__(self, index: int, model: int, pool: int, updates: Updates) -> None:
        self.index, self.model, self.pool, self.updates = index, model, pool, updates

    def destroyed(self) -> bool:
        """Destroys the graph and gives its memory up; False while it is queued or running."""
        with on_device(self.index):
            code = opened().functions["aclmdlRIDestroy"](self.model)
        if code == acl.MODEL_RUNNING:
            opened().recent_message()  # takes the library's message, which is not to be told with a later error
            return False
        release_pool(self.pool)
        return True


_dropped: list[_Captured] = []  # not needed any more, but still running when they were dropped


def _drop(captured: _Captured) -> None:
    _dropped.append(captured)
    _dropped[:] = [each for each in _dropped if not each.destroyed()]


class NPUGraph:
    """Work captured from a stream, to be run again at the cost of one launch.

    Memory allocated in the capture is the graph's own until ``reset`` or its end: every replay writes to it again, so
    results are read from the tensors of the capture, and new inputs are copied into those that it read. Tensors made
    before the capture must stay alive for as long as it is replayed.
    """

    # Of the class, so that an object whose `__init__` failed can be dropped.
    _captured: _Captured | None = None
    _capture: ExitStack | None = None  # undone at the end of the capture

    def __init__(self) -> None:
        self._stream: Stream | None = None
        self._pool: Pool | None = None
        self._updates: Updates | None = None
        self._log: list[tuple[int, str]] | None = None  # what was queued, where debug mode is on
        self._debug = False

    def capture_begin(
        self, pool: Pool | None = None, capture_error_mode: str = "global", auto_dispatch_capture: bool = False
    ) -> None:
        """Captures what the current stream gets from now on, instead of running it.

        ``pool`` is that of another graph (``pool()``) or of ``graph_pool_handle()``, to share memory with graphs that
        never run at the same time. ``capture_error_mode``: in which threads synchronous calls are refused meanwhile,
        ``"global"`` (all), ``"thread_local"`` (this one) or ``"relaxed"`` (none). With ``auto_dispatch_capture``
        operators whose declaration names updatable arguments get new values for each replay, by ``update``.
        """
        if self._captured is not None or self._capture is not None:
            raise RuntimeError(
                "this NPUGraph instance already owns a captured graph; reset() it, or make a new one to capture another"
            )
        if capture_error_mode not in acl.CAPTURE_MODES:
            raise RuntimeError(
                f"capture_error_mode must be one of {', '.join(map(repr, acl.CAPTURE_MODES))}, "
                f"got {capture_error_mode!r}"
            )
        stream, number = current_stream(), checked_pool(pool)[1]
        # From before the capture on no freed memory waits for the stream, as what the garbage collector frees does.
        _core.npu_begin_recording(0, 0)
        try:
            with on_device(stream.device_index):
                opened().call("aclmdlRICaptureBegin", stream.npu_stream, acl.CAPTURE_MODES[capture_error_mode])
            model = model_of(stream)
            use_pool(number)
            _core.npu_begin_recording(model, number)
        finally:
            _core.npu_end_recording(0)
        self._stream, self._pool, self._updates = stream, (0, number), Updates(stream.device_index)
        self._capture = ExitStack()
        self._capture.callback(_core.npu_end_recording, model)
        self._capture.enter_context(_core.span("capture", f"on npu:{stream.device_index}"))
        self._capture.enter_context(kept_in(self._updates.needed))
        if auto_dispatch_capture:
            self._capture.enter_context(self._updates)
        if self._debug:
            _core.npu_log_launches()
            self._capture.callback(self._end_log)

    def _end_log(self) -> None:
        self._log = _core.npu_end_log()

    def capture_end(self) -> None:
        """Ends the capture, on the thread that began it. Raises ``NpuError`` and keeps nothing where it is no graph."""
        if self._capture is None or self._stream is None or self._pool is None or self._updates is None:
            raise RuntimeError("NPUGraph.capture_end: no capture is under way; capture_begin starts one")
        stream, model, library = self._stream, ctypes.c_void_p(), opened()
        with on_device(stream.device_index):
            code = library.functions["aclmdlRICaptureEnd"](stream.npu_stream, ctypes.byref(model))
        error = library.error(code, "NPUGraph.capture_end") if code else self._updates.failure
        if code in (_WRONG_STREAM, _WRONG_THREAD) and error is not None:
            raise error  # the capture goes on
        self._capture.close()
        self._capture = None
        captured = _Captured(stream.device_index, model.value or 0, self._pool[1], self._updates)
        if code:
            release_pool(captured.pool)
        else:
            self._captured = captured
        if error is not None:
            self.reset()
            raise error

    def replay(self) -> None:
        """Queues the captured work on the current stream."""
        captured = self._require_captured("replay")
        if not captured.updates.records:  # nothing that it waits for
            _core.npu_replay(captured.model)
            return
        stream = current_stream()
        missing = captured.updates.waiting()
        what = f"a captured graph, which waits for {missing}" if missing else "a captured graph"
        with captured.updates.replaying(stream), on_device(stream.device_index):
            opened().call("aclmdlRIExecuteAsync", captured.model, stream.npu_stream)
        _core.npu_note(stream.device_index, stream.npu_stream, what)

    def update(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """Gives the next replay new values for arguments of captured operators.

        One mapping of argument names to values for all operators that were captured as updatable, or one for each, in
        the order of their capture. A replay waits for this call wherever such an operator begins, so there is one for
        each replay, before it or after; of several before one replay the last counts. Raises ValueError for a name that
        cannot be updated, and ``NpuError`` where an operator queues other tasks than in the capture; then the replay
        still waits, for another ``update``.
        """
        self._require_captured("update").updates.apply(cpu_update_input)

    def reset(self) -> None:
        """Forgets the graph. Its memory becomes free as soon as no replay of it is under way.

        Replays that wait for an update go without one.
        """
        captured, self._captured = self._captured, None
        self._updates = None
        if captured is not None:
            captured.updates.release()
            _drop(captured)

    @property
    def model(self) -> int:
        """The library's handle of the captured graph. Raises RuntimeError where nothing was captured."""
        return self._require_captured("model").model

    def pool(self) -> Pool:
        """A token of this graph's memory pool, for other graphs to share."""
        if self._pool is None:
            raise RuntimeError("NPUGraph.pool: nothing was captured yet")
        return self._pool

    def enable_debug_mode(self) -> None:
        """Makes the next capture remember what it queued, for ``debug_dump``."""
        self._debug = True

    def debug_dump(self, debug_path: str) -> None:
        """Writes what was captured, stream by stream: a picture (.svg), a track for Perfetto (.json), or DOT.

        Raises RuntimeError where ``enable_debug_mode`` was not called before the capture.
        """
        if self._log is None:
            raise RuntimeError("NPUGraph.debug_dump: call enable_debug_mode() before the capture")
        write_picture(self._log, Path(debug_path))

    def _require_captured(self, what: str) -> _Captured:
        if self._captured is None:
            raise RuntimeError(f"NPUGraph.{what}: there is no captured graph; capture one first")
        return self._captured

    def __del__(self) -> None:
        if self._capture is not None:
            with suppress(RuntimeError):
                self.capture_end()
        self.reset()


class graph:  # noqa: N801  (a context manager, named as PyTorch names it)
    """``with torch.npu.graph(g):`` captures a block into an ``NPUGraph``, on a side stream.

    The arguments are those of ``NPUGraph.capture_begin``; ``stream`` is the side stream, by default one that all
    captures share. Where the block raises, the capture is dropped and all is as before.
    """

    default_capture_stream: ClassVar[dict[int, Stream]] = {}

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: Pool | None = None,
        stream: Stream | None = None,
        capture_error_mode: str = "global",
        auto_dispatch_capture: bool = False,
    ) -> None:
        self.npu_graph = npu_graph
        self._options = (pool, capture_error_mode, auto_dispatch_capture)
        self._stream = stream
        self._context: StreamContext | None = None

    def __enter__(self) -> None:
        if is_current_stream_capturing():
            raise NpuError(f"npu.graph inside of another capture: {MEANINGS[_STREAM_CAPTURED]}", _STREAM_CAPTURED)
        index = current_stream().device_index if self._stream is None else self._stream.device_index
        if self._stream is None:
            self._stream = self.default_capture_stream.get(index)
        if self._stream is None:
            self._stream = self.default_capture_stream.setdefault(index, Stream(index))
        synchronize(index)
        empty_cache()
        self._context = StreamContext(self._stream)
        self._context.__enter__()
        try:
            self.npu_graph.capture_begin(*self._options)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._context is None:
            raise not_entered(self)
        try:
            self.npu_graph.capture_end()
        except RuntimeError:
            if error is None:
                raise  # else what the block raised says more
        finally:
            self._context.__exit__(kind, error, trace)
        if error is not None:
            self.npu_graph.reset()


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Pool | None = None,
) -> Any:
    """Functions or modules whose forward, and backward, is one replay of a graph.

    ``callables`` is one, or a tuple in the order in which they run, with a tuple of ``sample_args`` each: tensors on an
    NPU, of the shapes, dtypes and ``requires_grad`` of those that come later. The graphs share a pool. What is returned
    takes the place of what was passed, in a training loop too, once differentiable; a module keeps its own forward for
    the other of ``train()`` and ``eval()``. Results are the graph's memory, which the next call writes to again.
    Raises RuntimeError for a module with hooks or with buffers that require a gradient, or where an input is not used
    and ``allow_unused_input`` is False.
    """
    return graphed(callables, sample_args, num_warmup_iters, allow_unused_input, pool, lambda: (NPUGraph(), graph))
