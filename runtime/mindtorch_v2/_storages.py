"""Storages with a dtype, as checkpoints name them, storages over files, and what is read of storages."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

from . import _core
from ._core import Tensor, UntypedStorage

__all__ = [
    "TYPED",
    "TypedStorage",
    "UntypedStorage",
    "copy_to_device",
    "copy_to_host",
    "storage_from_file",
    "storage_item",
    "typed_class",
    "view_of",
]

_U8 = _core.dtypes["uint8"]


def view_of(storage: UntypedStorage, dtype: _core.dtype) -> Tensor:
    """A tensor of one dimension over all of a storage."""
    count = storage.nbytes() // dtype.itemsize
    result: Tensor = _core.alloc((0,), dtype, storage.device)
    return _core.set_to_part(result, storage, 0, (count,), (1,))


def copy_to_host(storage: UntypedStorage) -> memoryview:
    """The bytes of a storage: its own on the CPU, else a copy of them."""
    count = storage.nbytes()
    if count == 0 or storage.data_ptr() == 0:
        return memoryview(b"")
    if storage.device.type != "cpu":
        return _core.as_memoryview(view_of(storage, _U8).cpu())
    return _core.as_memoryview(_core.from_buffer(storage, storage.data_ptr(), (count,), (1,), _U8))


def copy_to_device(storage: UntypedStorage, where: Any) -> UntypedStorage:
    """A storage's bytes on a device; the storage itself where it is there already."""
    device = _core.device(where)
    if storage.device.type == device.type and device.index in (None, storage.device.index):
        return storage
    if device.type == "meta" or storage.device.type == "meta":
        return UntypedStorage(storage.nbytes(), device=device)
    moved: UntypedStorage = view_of(storage, _U8).to(device).untyped_storage()
    return moved


def storage_from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """A storage over a file's first bytes, which are read as they are used.

    With ``shared`` what is written goes to the file, which is made, or made longer, where it must be; else it stays in
    memory. Without ``nbytes`` it is the whole file. Raises RuntimeError for a file that is shorter, and not shared.
    """
    path = Path(os.fsdecode(filename))
    count = int(nbytes)
    if count < 0:
        raise RuntimeError(f"from_file(): expected a number of bytes, got {count}")
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    handle = os.open(path, flags, 0o600)
    try:
        size = os.fstat(handle).st_size
        count = count or size
        if count > size and not shared:
            raise RuntimeError(f"unable to map {count} bytes of file <{path}>, which has {size}")
        if count > size:
            os.ftruncate(handle, count)
        if count == 0:
            return UntypedStorage(0)
        mapped = mmap.mmap(handle, count, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(handle)
    held = (ctypes.c_char * count).from_buffer(mapped)  # which keeps the map from being closed
    return _core.from_buffer(held, ctypes.addressof(held), (count,), (1,), _U8).untyped_storage()


def storage_item(storage: UntypedStorage, at: Any) -> Any:
    """A byte of a storage; of a slice a storage over the same memory, as it is on the CPU."""
    count = storage.nbytes()
    if not isinstance(at, slice):
        if not isinstance(at, Integral):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(at).__name__}")
        if not -count <= int(at) < count:
            raise IndexError(f"index {at} out of range for storage of size {count}")
        return view_of(storage, _U8)[int(at)].item()
    first, last, step = at.indices(count)
    if step != 1:
        raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
    if first >= last:
        return UntypedStorage(0, device=storage.device)
    part = _core.from_buffer(storage, storage.data_ptr() + first, (last - first,), (1,), _U8, storage.device)
    return part.untyped_storage()


class TypedStorage:
    """A storage whose elements are of a dtype, as ``torch.storage.TypedStorage``."""

    dtype: _core.dtype

    def __init__(
        self, *size: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None
    ) -> None:
        """So many elements, uninitialised, or a sequence of what they are to be."""
        if dtype is not None:
            self.dtype = dtype
        elif not hasattr(self, "dtype"):
            self.dtype = _core.get_default_dtype()
        values = size[0] if size and isinstance(size[0], Sequence) else None
        count = len(values) if values is not None else size[0] if size else 0
        made = UntypedStorage(count * self.dtype.itemsize, device=device) if wrap_storage is None else wrap_storage
        self._untyped_storage = made
        for at, value in enumerate(values or ()):
            self[at] = value

    def untyped(self) -> UntypedStorage:
        """The storage as bytes."""
        return self._untyped_storage

    @property
    def device(self) -> _core.device:
        """Where it is."""
        return self._untyped_storage.device

    def __len__(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return len(self)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        values: list[Any] = view_of(self._untyped_storage, self.dtype).tolist()
        return values

    def __getitem__(self, at: int) -> Any:
        if isinstance(at, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(at, Integral):
            raise TypeError(f"can't index a {type(self).__name__} with {type(at).__name__}")
        if not -len(self) <= at < len(self):
            raise IndexError(f"index {at} out of range for storage of size {len(self)}")
        return view_of(self._untyped_storage, self.dtype)[int(at)].item()

    def __setitem__(self, at: Any, value: Any) -> None:
        view_of(self._untyped_storage, self.dtype)[at] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Gives all elements one value; returns the storage."""
        view_of(self._untyped_storage, self.dtype).fill_(value)
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Gives the storage another number of elements, as `UntypedStorage.resize_` does; returns the storage."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def __repr__(self) -> str:
        return f"[{type(self).__name__}(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def bytes_for(dtype: _core.dtype, source: Any) -> Any:
    """A storage with a dtype as bytes; anything else as it is. Raises RuntimeError for another dtype than that."""
    if not isinstance(source, TypedStorage):
        return source
    if source.dtype is not dtype:
        wanted, got = (_core.scalar_types[kind.name] for kind in (dtype, source.dtype))
        raise RuntimeError(
            f"Expected a Storage of type {wanted} or an UntypedStorage, but got type {got} for argument 1 'storage'"
        )
    return source.untyped()


class _Legacy(TypedStorage):
    """One of the classes that a dtype has: ``torch.FloatStorage`` and the like."""

    by_dtype: ClassVar[dict[_core.dtype, type[TypedStorage]]] = {}


def _typed(name: str, dtype: str) -> type[TypedStorage]:
    made = type(
        name, (_Legacy,), {"dtype": _core.dtypes[dtype], "__doc__": f"A storage of {dtype}.", "__module__": "torch"}
    )
    made.__module__ = __name__
    _Legacy.by_dtype[_core.dtypes[dtype]] = made
    return made


# PyTorch's classes by name. Unsigned integers of 16 bits and more have none.
TYPED = {
    name: _typed(name, dtype)
    for name, dtype in (
        ("BoolStorage", "bool"), ("ByteStorage", "uint8"), ("CharStorage", "int8"), ("ShortStorage", "int16"),
        ("IntStorage", "int32"), ("LongStorage", "int64"), ("HalfStorage", "float16"), ("BFloat16Storage", "bfloat16"),
        ("FloatStorage", "float32"), ("DoubleStorage", "float64"), ("ComplexFloatStorage", "complex64"),
        ("ComplexDoubleStorage", "complex128"),
    )
}  # fmt: skip


def typed_class(dtype: _core.dtype) -> type[TypedStorage] | None:
    """The class of a dtype, None where PyTorch has none."""
    return _Legacy.by_dtype.get(dtype)
