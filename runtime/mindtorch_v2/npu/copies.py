"""Copies between CPU and NPU memory, ordered with the current stream."""

from __future__ import annotations

from .. import _core
from .._argument_types import names_wrong_types
from .._core import Tensor, device
from . import acl
from .runtime import on_device, opened

_CPU = device("cpu")


@names_wrong_types
def copy_(destination: Tensor, source: Tensor) -> Tensor:
    """Copies values between CPU and NPUs, converting dtype and broadcasting as on the CPU; returns ``destination``.

    Contiguous tensors of one shape and dtype are copied as bytes. Anything else passes through the CPU. A copy to or
    from the CPU waits for the current stream; one within an NPU is queued on it.
    """
    if (
        destination.shape == source.shape
        and destination.dtype is source.dtype
        and destination.is_contiguous()
        and source.is_contiguous()
    ):
        _copy_bytes(destination, source, source.nbytes)
        return destination
    if not destination.is_npu:
        destination.copy_(to_cpu(source))
        return destination
    staged = (
        mirror(destination)
        if not destination.is_contiguous()
        else _core.alloc(destination.shape, destination.dtype, _CPU)
    )
    staged.copy_(to_cpu(source))
    _copy_bytes(destination, staged, _span(destination))
    return destination


def to_cpu(tensor: Tensor) -> Tensor:
    """The tensor itself where it is on the CPU, else a CPU tensor with its values, dtype, shape and strides."""
    return mirror(tensor) if tensor.is_npu else tensor


def put_back(tensor: Tensor, mirrored: Tensor) -> None:
    """Writes what has become of the mirror of an NPU tensor to it; elements that share memory are not told apart."""
    if mirrored.stride() == tensor.stride() and mirrored.dtype is tensor.dtype:
        _copy_bytes(tensor, mirrored, _span(tensor))
    else:
        copy_(tensor, mirrored)


def mirror(tensor: Tensor) -> Tensor:
    """A CPU tensor of the same geometry over a copy of the memory that the NPU tensor spans."""
    nbytes = _span(tensor)
    flat = _core.alloc((nbytes // tensor.itemsize,), tensor.dtype, _CPU)
    _copy_bytes(flat, tensor, nbytes)
    return _core.as_strided(flat, tuple(tensor.shape), tensor.stride(), 0)


def _span(tensor: Tensor) -> int:
    """Bytes from the first element to the end of the last."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.itemsize


def _copy_bytes(destination: Tensor, source: Tensor, nbytes: int) -> None:
    if nbytes == 0:
        return
    if destination.is_npu and source.is_npu:
        if destination.device == source.device:
            _copy_within(destination, source, nbytes)
        else:  # NPUs need not reach each other's memory
            _copy_bytes(destination, mirror(source), nbytes)
        return
    index = (destination if destination.is_npu else source).get_device()
    kind = acl.HOST_TO_DEVICE if destination.is_npu else acl.DEVICE_TO_HOST
    with on_device(index):
        library = opened()
        # Work queued on the stream may still write the source or read the destination.
        code = library.wait(_core.npu_current_stream(index))
        if code != 0:
            raise library.error(code, "aclrtSynchronizeStream")
        library.call("aclrtMemcpy", destination.data_ptr(), nbytes, source.data_ptr(), nbytes, kind)


def _copy_within(destination: Tensor, source: Tensor, nbytes: int) -> None:
    index = destination.get_device()
    with on_device(index):
        stream = _core.npu_current_stream(index)
        kind = acl.DEVICE_TO_DEVICE
        opened().call("aclrtMemcpyAsync", destination.data_ptr(), nbytes, source.data_ptr(), nbytes, kind, stream)
    _core.npu_record_stream(destination, stream)
    _core.npu_record_stream(source, stream)
