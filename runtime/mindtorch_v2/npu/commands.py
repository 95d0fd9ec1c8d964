"""Command buffers: what a thread has queued on an NPU, where it is committed, and runs that look ahead by one."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .. import _core
from .._core import CommandBuffer, Course, Run, RuntimeContext
from .._managers import not_entered
from .runtime import DeviceLike, index_of, opened

__all__ = ["CommandBuffer", "Following", "RuntimeContext", "command_buffer", "lookahead"]

Log = list[tuple[str, str, str]]


def command_buffer(device: DeviceLike = None) -> CommandBuffer:
    """The calling thread's command buffer of an NPU, by default of the current one.

    ``encode(function, *args)`` queues what the function queues, ``commit()`` ends that with a fence, and
    ``commit_and_wait()`` waits for it. ``encoded`` operations are not committed yet, of the ``bound`` that there is
    room for; a full buffer commits by itself.
    """
    opened()
    return _core.command_buffer(index_of(device))


class Following:
    """``with``: the thread's operations are those of one run, whose end commits and waits."""

    def __init__(self, course: Course | None = None, plan: Any = None, log: Log | None = None) -> None:
        self._made = course, plan, log
        self._run: Run | None = None

    def __enter__(self) -> Run:
        if self._run is not None:
            raise RuntimeError("this block is entered already: make another one for each `with`")
        opened()
        run = Run(*self._made)
        run.begin()
        self._run = run
        return run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is None:
            raise not_entered(self)
        run, self._run = self._run, None
        try:
            run.end()
        except RuntimeError:
            if error is None:
                raise  # else what the block raised says more
        if error is None:
            self._ended(run)

    def _ended(self, run: Run) -> None:
        """Judges a run that raised nothing."""


def lookahead(log: Log | None = None) -> Following:
    """``with torch.npu.lookahead():`` operations learn what comes next without a plan, and work is committed by it.

    A kernel that asks for its context, and a delegate on an NPU, is queued when the thread's next operation arrives,
    or when it asks for the stream, copies, waits, or leaves the block; its errors come then. Other threads get tensors
    made inside when the block is left. ``log`` gets ``("encode" | "commit" | "wait", device, operation)`` as they
    happen.
    """
    return Following(log=log)
