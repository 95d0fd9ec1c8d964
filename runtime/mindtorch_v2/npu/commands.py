"""Command buffers: what a thread has queued on an NPU, where it is committed, and runs that look ahead by one."""

from __future__ import annotations

from .. import _core
from .._core import CommandBuffer, Run, RuntimeContext
from .runtime import DeviceLike, index_of, opened

__all__ = ["CommandBuffer", "Run", "RuntimeContext", "command_buffer", "lookahead"]

Log = list[tuple[str, str, str]]


def command_buffer(device: DeviceLike = None) -> CommandBuffer:
    """The calling thread's command buffer of an NPU, by default of the current one.

    ``encode(function, *args)`` queues what the function queues, ``commit()`` ends that with a fence, and
    ``commit_and_wait()`` waits for it. ``encoded`` operations are not committed yet, of the ``bound`` that there is
    room for; a full buffer commits by itself.
    """
    opened()
    return _core.command_buffer(index_of(device))


def lookahead(log: Log | None = None) -> Run:
    """``with torch.npu.lookahead():`` operations learn what comes next without a plan, and work is committed by it.

    A kernel that asks for its context, and a delegate on an NPU, is queued when the thread's next operation arrives,
    or when it asks for the stream, copies, waits, or leaves the block; its errors come then. Other threads get tensors
    made inside when the block is left. ``log`` gets ``("encode" | "commit" | "wait", device, operation)`` as they
    happen.
    """
    opened()
    return Run(log=log)
