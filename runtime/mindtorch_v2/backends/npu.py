"""Ascend NPUs, through the ACL library: CANN's or the simulator's, opened when memory is first allocated."""

from __future__ import annotations

import functools

from .. import _core
from ._backend import Backend, Copies, Memory, Streams


def _start() -> None:
    from ..npu import runtime  # the library is opened on first use

    runtime.init()


@functools.cache
def _copies() -> Copies:
    from ..npu import copies, strided_copies

    return Copies(copies.across, copies.across, copies.within, strided_copies.copy_strided)


@functools.cache
def _pinned() -> Memory:
    from ..npu import memory

    return Memory(memory.allocate_host, memory.free_host)


@functools.cache
def _streams() -> Streams:
    from ..npu import streams

    return Streams(streams.Stream, streams.Event, streams.current_stream)


backend = Backend(
    "npu",
    key="NPU",
    start=_start,  # which gives the core the library's allocator, ordered by streams
    copies=_copies,
    pinned=_pinned,
    streams=_streams,
    current_device=_core.npu_current_device,
    check_index=_core.npu_check_index,
    generator="npu",
    autocast=("float16", "bfloat16"),
    abi="ascendc",
    fallback="cpu",
)
