"""Kernels on MindSpore's tensors and on its stream: ``mindtorch_v2.npu.mindspore``.

On Ascend MindSpore queues through a pipeline of its own, so a launch from outside waits until the pipeline has queued
what makes its arguments, goes to MindSpore's current stream, and keeps the arguments until the stream has passed it::

    with npu.mindspore.stream():
        kernel(block_dim, npu.mindspore.tensor(x), npu.mindspore.tensor(out), 2.0, n)

MindSpore's CPU package has no device streams; what concerns them follows its documentation and was not run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Tensor
from .._core import device as Device
from .._mindspore import mindspore as package
from .streams import Event, ExternalStream, Stream
from .streams import stream as _current

__all__ = ["stream", "tensor"]

_DEVICES = {"CPU": "cpu", "Ascend": "npu"}


class _Uses(threading.local):
    """The MindSpore tensors that launches of this thread read or write."""

    def __init__(self) -> None:
        self.block: list[Any] | None = None  # those of the `with` block under way
        self.in_flight: deque[tuple[Event, list[Any]]] = deque()  # those of blocks that the device may not have passed


_uses = _Uses()


def tensor(source: Any) -> Tensor:
    """A tensor over a MindSpore tensor's memory, which it keeps alive; what one writes, the other has.

    Waits until MindSpore has queued what makes the tensor, not until it was run. Raises TypeError for anything but a
    MindSpore tensor on the CPU or on Ascend, and for a dtype that is not ours.
    """
    kind, _, index = str(getattr(source, "device", None)).partition(":")
    if kind not in _DEVICES or not hasattr(source, "data_ptr"):
        raise TypeError(
            f"npu.mindspore.tensor: expected a MindSpore tensor on CPU or Ascend, got {type(source).__name__} on {kind}"
        )
    name = str(source.dtype).lower()
    if name not in _core.dtypes:
        raise TypeError(f"npu.mindspore.tensor: the dtype {source.dtype} has no counterpart here")
    source.wait_pipeline()
    where = Device(f"npu:{index or 0}") if kind == "Ascend" else Device("cpu")
    if _uses.block is not None:
        _uses.block.append(source)
    pointer, shape, strides = source.data_ptr(), tuple(source.shape), tuple(source.stride())
    return _core.from_buffer(source, pointer, shape, strides, _core.dtypes[name], where)


@contextmanager
def stream() -> Iterator[Stream]:
    """Makes MindSpore's current stream the current one for launches in a ``with`` block.

    The MindSpore tensors that ``tensor`` was given in the block are kept until the device has passed its end. Raises
    RuntimeError where MindSpore has no device streams, as on the CPU, and ImportError where it is not installed.
    """
    current = _mindspore_stream()
    while _uses.in_flight and _uses.in_flight[0][0].query():
        _uses.in_flight.popleft()
    outer, used = _uses.block, list[Any]()
    _uses.block = used
    try:
        with _current(current):
            yield current
    finally:
        _uses.block = outer
        _uses.in_flight.append((current.record_event(), used))


def _mindspore_stream() -> Stream:
    mindspore = package("npu.mindspore.stream")
    found = mindspore.runtime.current_stream() if mindspore.get_context("device_target") == "Ascend" else None
    if found is None:
        raise RuntimeError(
            "npu.mindspore.stream: MindSpore has no device streams here; its target is "
            f"{mindspore.get_context('device_target')}, mindspore.set_device('Ascend') chooses NPUs"
        )
    return ExternalStream(found.stream_ptr(), mindspore.get_context("device_id"))
