"""Copies between memory of the CPU and of other devices, of any layout, by a backend's copies of runs of bytes."""

from __future__ import annotations

from .. import _core
from .._core import Tensor, device
from .._ops import find
from ._backend import Copies, backend_of

__all__ = ["copy_", "copy_bytes", "mirror", "put_back", "span", "to_cpu"]


def copy_(destination: Tensor, source: Tensor) -> Tensor:
    """Copies values between devices, at least one of them not the CPU, converting dtype and broadcasting as there.

    Contiguous tensors of one shape and dtype are copied as bytes, those of one device and dtype as the device can.
    Anything else passes through the CPU.
    """
    if (
        destination.shape == source.shape
        and destination.dtype is source.dtype
        and destination.is_contiguous()
        and source.is_contiguous()
    ):
        copy_bytes(destination, source, source.nbytes)
        return destination
    if destination.is_cpu:
        destination.copy_(to_cpu(source))
        return destination
    if (
        destination.device == source.device
        and destination.dtype is source.dtype
        and _copies_of(source.device).strided(destination, _core.expanded(source, destination.shape))
    ):
        return destination
    staged = (
        mirror(destination)
        if not destination.is_contiguous()
        else _core.alloc(destination.shape, destination.dtype, "cpu")
    )
    staged.copy_(to_cpu(source))
    copy_bytes(destination, staged, span(destination))
    return destination


def to_cpu(tensor: Tensor) -> Tensor:
    """The tensor itself where it is on the CPU, else a CPU tensor with its values, dtype, shape and strides."""
    return tensor if tensor.is_cpu else mirror(tensor)


def put_back(tensor: Tensor, mirrored: Tensor) -> None:
    """Writes what has become of a tensor's mirror to it; elements that share memory are not told apart."""
    if mirrored.stride() == tensor.stride() and mirrored.dtype is tensor.dtype:
        copy_bytes(tensor, mirrored, span(tensor))
    else:
        copy_(tensor, mirrored)


def mirror(tensor: Tensor) -> Tensor:
    """A CPU tensor of the same geometry over a copy of the memory that a tensor elsewhere spans."""
    nbytes = span(tensor)
    flat = _core.alloc((nbytes // tensor.itemsize,), tensor.dtype, "cpu")
    copy_bytes(flat, tensor, nbytes)
    return _core.as_strided(flat, tuple(tensor.shape), tensor.stride(), 0)


def span(tensor: Tensor) -> int:
    """Bytes from the first element to the end of the last."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.itemsize


def copy_bytes(destination: Tensor, source: Tensor, nbytes: int) -> None:
    """Copies what lies from the source's first element on to where the destination's lies."""
    if nbytes == 0:
        return
    if destination.is_cpu:
        _copies_of(source.device).to_host(destination, source, nbytes)
    elif source.is_cpu:
        _copies_of(destination.device).to_device(destination, source, nbytes)
    elif destination.device == source.device:
        _copies_of(destination.device).within(destination, source, nbytes)
    else:  # devices need not reach each other's memory
        copy_bytes(destination, mirror(source), nbytes)


def _copies_of(where: device) -> Copies:
    backend = backend_of(where)
    if backend.copies is not None:
        return backend.copies()
    if not find("aten::_copy_from").has_kernel(backend.key):
        raise NotImplementedError(
            f"no memory is copied to or from {backend.name} devices: their backend has no copies, and the operator "
            f"aten::_copy_from no kernel for {backend.key}"
        )
    return Copies(_by_operator, _by_operator, _by_operator)


def _by_operator(destination: Tensor, source: Tensor, nbytes: int) -> None:
    """Copies bytes by the kernel of `_copy_from` of a device from outside."""
    find("aten::_copy_from")(_bytes_of(source, nbytes), _bytes_of(destination, nbytes))


def _bytes_of(tensor: Tensor, nbytes: int) -> Tensor:
    """The memory from a tensor's first element on, as bytes."""
    return _core.from_buffer(tensor, tensor.data_ptr(), (nbytes,), (1,), _core.dtypes["uint8"], tensor.device)


_core.hooks.fill(copy_elsewhere=copy_)
