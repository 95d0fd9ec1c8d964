"""Memory that several processes see: mapped files without names, and tensors over them."""

from __future__ import annotations

import ctypes
import os
from typing import Any
from weakref import ReferenceType, WeakValueDictionary, ref

from . import _core
from ._core import Tensor, UntypedStorage, dtypes

__all__ = [
    "Segment",
    "empty_shared",
    "is_shared",
    "segment_of",
    "share_memory_",
    "storage_is_shared",
    "tensor_over",
]

_READ_WRITE, _SHARED = 3, 1  # PROT_READ | PROT_WRITE, MAP_SHARED
_U8 = dtypes["uint8"]


def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library


class Segment:
    """``nbytes`` of a file, mapped for all who have the file; unmapped and closed with the last tensor over it.

    Takes the descriptor over. Raises OSError where the file cannot be mapped.
    """

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.descriptor, self.nbytes, self.address = descriptor, nbytes, 0
        self._libc, self._close = _libc(), os.close
        address = self._libc.mmap(None, nbytes, _READ_WRITE, _SHARED, descriptor, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            number = ctypes.get_errno()
            raise OSError(number, f"cannot map {nbytes} bytes of shared memory: {os.strerror(number)}")
        self.address = address
        _segments[address] = self
        self._storage: ReferenceType[UntypedStorage] | None = None

    @classmethod
    def of_size(cls, nbytes: int) -> Segment:
        """A new one, of zeros."""
        descriptor = os.memfd_create("mindtorch_shared", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, nbytes)
        return cls(descriptor, nbytes)

    @classmethod
    def of_file(cls, descriptor: int, nbytes: int) -> Segment:
        """That of a file which another process sent: mapped once, however often it is sent."""
        file = _file_of(descriptor)
        known = _by_file.get(file)
        if known is not None and known.nbytes == nbytes:
            os.close(descriptor)
            return known
        _by_file[file] = made = cls(descriptor, nbytes)
        return made

    def sent(self) -> int:
        """The descriptor, for another process: what comes back from there is this one again."""
        _by_file.setdefault(_file_of(self.descriptor), self)
        return self.descriptor

    def storage(self) -> UntypedStorage:
        """The storage over all of it: the same one for all tensors in this process."""
        found = self._storage() if self._storage is not None else None
        if found is None:
            found = _core.from_buffer(self, self.address, (self.nbytes,), (1,), _U8).untyped_storage()
            self._storage = ref(found)
        return found

    def take(self, storage: UntypedStorage) -> None:
        """Moves what a storage of the CPU holds here, and with it all tensors over it. Nothing else may lie here."""
        _core.move_storage(storage, self.storage())
        self._storage = ref(storage)

    def __del__(self) -> None:
        if self.address:
            self._libc.munmap(self.address, self.nbytes)
        self._close(self.descriptor)


_segments: WeakValueDictionary[int, Segment] = WeakValueDictionary()  # by address
_by_file: WeakValueDictionary[tuple[int, int], Segment] = WeakValueDictionary()  # those that travel


def _file_of(descriptor: int) -> tuple[int, int]:
    about = os.fstat(descriptor)
    return about.st_dev, about.st_ino


def tensor_over(
    segment: Segment, dtype: _core.dtype, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    """A tensor over a segment's memory; the offset counts elements."""
    return _core.set_to_part(_core.alloc((0,), dtype, "cpu"), segment.storage(), offset, shape, stride)


def empty_shared(shape: Any, dtype: _core.dtype) -> Tensor:
    """An uninitialised contiguous CPU tensor in shared memory."""
    likeness = _core.alloc(shape, dtype, "meta")
    if likeness.nbytes == 0:
        return _core.alloc(shape, dtype, "cpu")
    return tensor_over(Segment.of_size(likeness.nbytes), dtype, 0, tuple(likeness.shape), likeness.stride())


def segment_of(storage: UntypedStorage) -> Segment | None:
    """The segment that a storage lies in, None where its memory is the process's own."""
    return _segments.get(storage.data_ptr()) if storage.device.type == "cpu" and storage.nbytes() else None


def share_memory_(self: Tensor) -> Tensor:
    """Moves the tensor's whole storage, and with it all tensors over it, to memory that other processes see, too.

    Returns the tensor. Nothing happens where it is there, has no elements, or is on a device whose memory is not the
    host's. Memory whose address NumPy or another holds stays with them, and with other tensors over it: this tensor
    alone moves. Raises RuntimeError for one that an operation made and that requires grad.
    """
    if self.device.type != "cpu" or self.untyped_storage().nbytes() == 0 or is_shared(self):
        return self
    if self.requires_grad and not self.is_leaf:
        raise RuntimeError("share_memory_(): the tensor has a history, which is not shared: share `tensor.detach()`")
    storage = self.untyped_storage()
    segment = Segment.of_size(storage.nbytes())
    if _core.is_movable(storage):
        segment.take(storage)
        return self
    data = self.detach()
    ctypes.memmove(segment.address, storage.data_ptr(), segment.nbytes)
    self.data = tensor_over(segment, data.dtype, data.storage_offset(), tuple(data.shape), tuple(data.stride()))
    return self


def is_shared(self: Tensor) -> bool:
    """Whether other processes see the tensor's memory."""
    return storage_is_shared(self.untyped_storage())


def storage_is_shared(storage: UntypedStorage) -> bool:
    """Whether other processes see a storage's memory."""
    return segment_of(storage) is not None


_core.install_storage_method("is_shared", storage_is_shared)
