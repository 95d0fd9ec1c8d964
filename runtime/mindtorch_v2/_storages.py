"""Storages with a dtype, as checkpoints name them, storages over files, and what is read of storages."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from . import _core
from ._core import Tensor, UntypedStorage
from ._storage_deprecation import warn_of_removal

__all__ = [
    "CUDA",
    "QUANTIZED",
    "TYPED",
    "LegacyStorage",
    "TypedStorage",
    "UntypedStorage",
    "copy_to_device",
    "copy_to_host",
    "refuse_meta",
    "storage_classes",
    "storage_from_file",
    "storage_item",
    "storage_range",
    "typed_class",
    "view_of",
]

_U8 = _core.dtypes["uint8"]


# What stands for quantized numbers: elements of these dtypes.
_INTEGERS = {
    _core.quantized_dtypes[name]: _core.dtypes[integer]
    for name, integer in (
        ("qint8", "int8"), ("quint8", "uint8"), ("qint32", "int32"), ("quint4x2", "uint8"), ("quint2x4", "uint8"),
    )
}  # fmt: skip


def view_of(storage: UntypedStorage, dtype: _core.dtype) -> Tensor:
    """A tensor of one dimension over all of a storage; of a quantized dtype, the integers."""
    dtype = _INTEGERS.get(dtype, dtype)
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
    refuse_meta(storage)
    count = storage.nbytes()
    if not isinstance(at, slice):
        if not isinstance(at, Integral):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(at).__name__}")
        if not -count <= int(at) < count:
            raise IndexError(f"index {at} out of range for storage of size {count}")
        return view_of(storage, _U8)[int(at)].item()
    first, last = storage_range(storage, at)
    if first >= last:
        return UntypedStorage(0, device=storage.device)
    part = _core.from_buffer(storage, storage.data_ptr() + first, (last - first,), (1,), _U8, storage.device)
    return part.untyped_storage()


def storage_range(storage: UntypedStorage, at: slice) -> tuple[int, int]:
    """The first byte of a slice and the one after it. Raises RuntimeError for one with a step."""
    first, last, step = at.indices(storage.nbytes())
    if step != 1:
        raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
    return first, last


def refuse_meta(storage: Any) -> None:
    """Raises NotImplementedError for a storage on meta, which has nothing to read."""
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


class TypedStorage:
    """A storage whose elements are of a dtype, as ``torch.storage.TypedStorage``."""

    dtype: _core.dtype

    def __init__(
        self,
        *size: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        """So many elements, uninitialised, a sequence of what they are to be, or the bytes of another storage.

        Raises RuntimeError and TypeError as PyTorch does for what does not go together.
        """
        if wrap_storage is not None:
            self._check_wrapped(size, wrap_storage, dtype, device)
            self.dtype, self._untyped_storage = dtype, wrap_storage
            return
        self.dtype = _core.get_default_dtype() if dtype is None else dtype
        if len(size) > 1:
            raise RuntimeError(f"{type(self).__name__}: Too many positional arguments: {len(size)} of at most one")
        given = size[0] if size else 0
        if isinstance(given, str):
            raise TypeError("new(): invalid data type 'str'")
        device = _device_of_storage(device)
        if not isinstance(given, (Integral, Sequence)):
            raise TypeError(f"{type(self).__name__}: Argument type not recognized: {type(given).__name__}")
        count = len(given) if isinstance(given, Sequence) else int(given)
        self._untyped_storage = UntypedStorage(count * self.dtype.itemsize, device=device)
        if isinstance(given, Sequence):
            for at, value in enumerate(given):
                self[at] = value

    def _check_wrapped(self, size: tuple[Any, ...], wrapped: Any, dtype: Any, device: Any) -> None:
        """Refuses what cannot be told of a storage that has its bytes."""
        name = type(self).__name__
        if size:
            raise RuntimeError(f"{name}: No positional arguments should be given when using 'wrap_storage'")
        if dtype is None:
            raise RuntimeError(f"{name}: Argument 'dtype' must be specified")
        if not isinstance(dtype, _core.dtype):
            raise TypeError(f"{name}: Argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
        if device is not None:
            raise RuntimeError(f"{name}: Argument 'device' should not be specified when 'wrap_storage' is given")
        if not isinstance(wrapped, UntypedStorage):
            raise TypeError(f"{name}: Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped).__name__}")

    @classmethod
    def _wrapped(cls, storage: UntypedStorage, dtype: _core.dtype) -> TypedStorage:
        """Those bytes as elements of a dtype."""
        return cls(wrap_storage=storage, dtype=dtype, _internal=True)

    @property
    def _dtype(self) -> _core.dtype:
        return self.dtype

    @property
    def _cdata(self) -> int:
        """A number that stands for the memory: storages over the same have the same."""
        return _core.storage_identity(self._untyped_storage)

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
        refuse_meta(self)
        values: list[Any] = view_of(self._untyped_storage, self.dtype).tolist()
        return values

    def __getitem__(self, at: int) -> Any:
        refuse_meta(self)
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
        """Gives all elements one value; returns the storage. Raises RuntimeError for a storage as value."""
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        view_of(self._untyped_storage, self.dtype).fill_(value)
        return self

    def resizable(self) -> bool:
        """Whether `resize_` is allowed."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> TypedStorage:
        """Gives the storage another number of elements, as `UntypedStorage.resize_` does; returns the storage."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def pickle_storage_type(self) -> str:
        """The name of the class of its dtype. Raises KeyError for a dtype that has none."""
        named = typed_class(self.dtype)
        if named is None:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return named.__name__

    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return self._untyped_storage.is_shared()

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
    return source._untyped_storage


class _ByDtype(type):
    """The type of the classes that a dtype has: of one is every storage with its dtype."""

    def __instancecheck__(cls, instance: Any) -> bool:
        of_cpu = cls.__module__ != "torch.cuda"  # where none is anything else
        return of_cpu and isinstance(instance, TypedStorage) and instance.dtype is vars(cls).get("_dtype")


class _DtypeOfClass:
    """The attribute ``dtype`` of a class, which warns."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        warn_of_removal(stacklevel=2)
        return owner._dtype


class LegacyStorage(TypedStorage, metaclass=_ByDtype):
    """One of the classes that a dtype has, ``torch.FloatStorage`` and the like: what they make is a `TypedStorage`."""

    _dtype: ClassVar[Any]  # of the class: what is made is of another
    dtype = _DtypeOfClass()

    def __new__(  # type: ignore[misc]  # what is made is of the base class
        cls, *size: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> TypedStorage:
        """As `TypedStorage`, with the class's dtype, on the CPU."""
        if cls is LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(f"{cls.__name__}: the keyword argument '{name}' cannot be specified")
        if wrap_storage is None:
            return TypedStorage(*size, dtype=cls._dtype, _internal=_internal)
        return TypedStorage(*size, wrap_storage=wrap_storage, dtype=cls._dtype, _internal=_internal)

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0) -> TypedStorage:
        """A copy of a buffer's bytes from ``offset`` on, whose elements are in that byte order (native, little, big).

        Raises ValueError for another order, for an offset beyond the buffer, and where it holds no whole number of
        elements, or less than ``count``.
        """
        raw, width = memoryview(buffer).cast("B"), cls._dtype.itemsize
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        if not 0 <= offset < max(raw.nbytes, 1):
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({raw.nbytes}), got {offset}"
            )
        left = raw.nbytes - offset
        if count < 0 and left % width:
            raise ValueError(f"buffer size ({left}) must be a multiple of element size ({width})")
        taken = left if count < 0 else count * width
        if taken > left:
            raise ValueError(f"buffer has only {left // width} elements after offset {offset}, but specified {count}")
        made = UntypedStorage(taken)
        copy_to_host(made)[:] = raw[offset : offset + taken]
        if byte_order not in ("native", sys.byteorder):
            made.byteswap(cls._dtype)
        if cls._dtype is _core.dtypes["bool"] and taken:
            values = view_of(made, _U8)
            values.copy_(values != 0)
        return cls(wrap_storage=made)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """A storage over so many elements of a file: `storage_from_file`."""
        return cls(wrap_storage=storage_from_file(filename, shared, int(size) * cls._dtype.itemsize))


class _CudaStorage(LegacyStorage):
    """One of the classes ``torch.cuda.FloatStorage`` and the like, of which nothing can be made, without CUDA."""

    def __new__(cls, *size: Any, **options: Any) -> TypedStorage:  # type: ignore[misc]
        """Raises AssertionError."""
        raise AssertionError("Torch not compiled with CUDA enabled")


def _not_on_cuda(name: str) -> Any:
    def refused(cls: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}: Not available for CUDA storage")

    refused.__doc__ = "Raises RuntimeError."
    return classmethod(refused)


for _name in ("from_buffer", "_new_with_weak_ptr", "_new_shared_filename"):
    setattr(_CudaStorage, _name, _not_on_cuda(_name))


def _device_of_storage(device: Any) -> Any:
    """The device that a caller names. Raises RuntimeError for none that is known."""
    try:
        return None if device is None else _core.device(device)
    except RuntimeError as error:
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {device}") from error


def _classes(base: type[LegacyStorage], module: str, dtypes: dict[str, _core.dtype]) -> dict[str, type[TypedStorage]]:
    made: dict[str, Any] = {
        name: _ByDtype(name, (base,), {"_dtype": kind, "__doc__": f"A storage of {kind.name}.", "__module__": module})
        for name, kind in dtypes.items()
    }
    return made


_DTYPES = {
    name: _core.dtypes[kind]
    for name, kind in (
        ("BoolStorage", "bool"), ("ByteStorage", "uint8"), ("CharStorage", "int8"), ("ShortStorage", "int16"),
        ("IntStorage", "int32"), ("LongStorage", "int64"), ("HalfStorage", "float16"), ("BFloat16Storage", "bfloat16"),
        ("FloatStorage", "float32"), ("DoubleStorage", "float64"), ("ComplexFloatStorage", "complex64"),
        ("ComplexDoubleStorage", "complex128"),
    )
}  # fmt: skip
# PyTorch's classes by name. Unsigned integers of 16 bits and more have none.
TYPED = _classes(LegacyStorage, "torch", _DTYPES)
CUDA = _classes(_CudaStorage, "torch.cuda", _DTYPES)
QUANTIZED = _classes(
    LegacyStorage,
    "torch",
    {
        name: _core.quantized_dtypes[kind]
        for name, kind in (
            ("QInt8Storage", "qint8"), ("QUInt8Storage", "quint8"), ("QInt32Storage", "qint32"),
            ("QUInt4x2Storage", "quint4x2"), ("QUInt2x4Storage", "quint2x4"),
        )
    },
)  # fmt: skip
_BY_DTYPE = {vars(kind)["_dtype"]: kind for kind in (TYPED | QUANTIZED).values()}


def storage_classes() -> set[type]:
    """All classes of storages."""
    return {UntypedStorage, TypedStorage, *TYPED.values(), *QUANTIZED.values(), *CUDA.values()}


def typed_class(dtype: _core.dtype) -> type[TypedStorage] | None:
    """The class of a dtype, None where PyTorch has none."""
    return _BY_DTYPE.get(dtype)
