"""Copies between CPU and NPU memory, ordered with the current stream."""

from __future__ import annotations

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor
from ..backends import _copies
from . import acl
from .runtime import on_device, opened

__all__ = ["across", "copy_", "within"]


@names_wrong_types
def copy_(destination: Tensor, source: Tensor) -> Tensor:
    """Copies values between CPU and NPUs, converting dtype and broadcasting as on the CPU; returns ``destination``.

    Contiguous tensors of one shape and dtype are copied as bytes. Anything else passes through the CPU. A copy to or
    from the CPU waits for the current stream; one within an NPU is queued on it.
    """
    if destination.is_cpu and source.is_cpu:
        destination.copy_(source)
        return destination
    return _copies.copy_(destination, source)


def across(destination: Tensor, source: Tensor, nbytes: int) -> None:
    """Copies bytes between an NPU and the CPU, once the work that is queued on the current stream is done."""
    to_device = destination.is_npu
    index = (destination if to_device else source).get_device()
    kind = acl.HOST_TO_DEVICE if to_device else acl.DEVICE_TO_HOST
    with on_device(index):
        library = opened()
        # Work queued on the stream may still write the source or read the destination.
        if not _core.host_waits(index):
            code = library.wait(_core.npu_current_stream(index))
            if code != 0:
                raise library.error(code, "aclrtSynchronizeStream")
        library.call("aclrtMemcpy", destination.data_ptr(), nbytes, source.data_ptr(), nbytes, kind)


def within(destination: Tensor, source: Tensor, nbytes: int) -> None:
    """Queues a copy of bytes within an NPU on the current stream."""
    _core.npu_copy_within(destination, source, nbytes)
