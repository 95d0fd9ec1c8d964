"""What is read of storages, written to them and made of them: methods of those of bytes and those with a dtype."""

from __future__ import annotations

import os
from collections.abc import Callable
from numbers import Integral
from typing import Any

from . import _core
from ._core import UntypedStorage
from ._shared_memory import Segment, segment_of
from ._storage_deprecation import deprecated, quiet
from ._storages import (
    QUANTIZED,
    TYPED,
    LegacyStorage,
    TypedStorage,
    copy_to_device,
    copy_to_host,
    refuse_meta,
    storage_range,
    typed_class,
    view_of,
)

__all__ = ["dtype_names"]

_U8 = _core.dtypes["uint8"]
# Conversions by name.
_CONVERSIONS = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "char": "int8", "complex_double": "complex128",
    "complex_float": "complex64", "double": "float64", "float": "float32", "half": "float16", "int": "int32",
    "long": "int64", "short": "int16",
}  # fmt: skip


def dtype_names() -> dict[_core.dtype, str]:
    """The names of the classes of storages by dtype."""
    return {vars(kind)["_dtype"]: name for name, kind in (TYPED | QUANTIZED).items()}


def _dtype_of(storage: Any) -> _core.dtype:
    return storage.dtype if isinstance(storage, TypedStorage) else _U8


def _bytes_of(storage: Any) -> UntypedStorage:
    """A storage of either kind as bytes."""
    bare: UntypedStorage = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
    return bare


def _like(storage: Any, made: UntypedStorage) -> Any:
    """Those bytes as a storage of the same kind."""
    return storage._wrapped(made, storage.dtype) if isinstance(storage, TypedStorage) else made


def clone(self: Any) -> Any:
    """A copy, in memory of its own."""
    held = _bytes_of(self)
    made = UntypedStorage(held.nbytes(), device=held.device)
    view_of(made, _U8).copy_(view_of(held, _U8))
    return _like(self, made)


def copy_(self: Any, source: Any, non_blocking: bool | None = None) -> Any:
    """Takes the bytes of another storage of the same size; returns the storage.

    Raises TypeError for what is no storage, RuntimeError for another size, NotImplementedError for one on meta.
    """
    if not isinstance(source, (UntypedStorage, TypedStorage)):
        raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type(source).__name__}")
    to, given = _bytes_of(self), _bytes_of(source)
    if to.nbytes() != given.nbytes():
        raise RuntimeError(f"size does not match, self was {to.nbytes()} bytes but src was {given.nbytes()} bytes")
    _readable(given, elsewhere=to.device.type)
    view_of(to, _U8).copy_(view_of(given, _U8), bool(non_blocking))
    return self


def _readable(storage: UntypedStorage, elsewhere: str) -> None:
    if storage.device.type == "meta" != elsewhere:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


def cpu(self: Any) -> Any:
    """The storage on the CPU: itself, where it is there. Raises NotImplementedError for one on meta."""
    held = _bytes_of(self)
    _readable(held, elsewhere="cpu")
    moved = copy_to_device(held, "cpu")
    return self if moved is held else _like(self, moved)


def tolist(self: UntypedStorage) -> list[int]:
    """The bytes as ints. Raises NotImplementedError on meta."""
    refuse_meta(self)
    values: list[int] = view_of(self, _U8).tolist()
    return values


def fill_(self: UntypedStorage, value: Any) -> UntypedStorage:
    """Gives all bytes one value, the lowest eight bits of an int; returns the storage."""
    if not isinstance(value, Integral):
        raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
    view_of(self, _U8).fill_(int(value) & 0xFF)
    return self


def set_storage_item(storage: UntypedStorage, at: Any, value: Any) -> None:
    """Sets a byte of a storage, or those of a slice, to the lowest eight bits of an int."""
    if not isinstance(value, Integral):
        raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
    if isinstance(at, slice):
        first, last = storage_range(storage, at)
        view_of(storage, _U8)[first:last] = int(value) & 0xFF
    elif isinstance(at, Integral):
        if not 0 <= int(at) < storage.nbytes():
            raise RuntimeError("out of bounds")
        view_of(storage, _U8)[int(at)] = int(value) & 0xFF
    else:
        raise RuntimeError(f"can't index a torch.UntypedStorage with {type(at).__name__}")


def byteswap(self: UntypedStorage, dtype: _core.dtype) -> None:
    """Reverses the bytes of every element, of the parts of complex ones. Raises RuntimeError for what is no dtype."""
    if not isinstance(dtype, _core.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if width > 1:
        items = view_of(self, _U8)[: self.nbytes() // width * width].reshape(-1, width)
        items.copy_(items.flip(1))


def share_memory_(self: Any) -> Any:
    """Moves the bytes, and with them all tensors over them, to memory that other processes see; returns the storage.

    Raises RuntimeError where it is not on the CPU, and where others hold its address.
    """
    storage = _bytes_of(self)
    if storage.device.type != "cpu":
        raise RuntimeError("_share_fd_: only available on CPU")
    if storage.nbytes() and segment_of(storage) is None:
        Segment.of_size(storage.nbytes()).take(storage)
    return self


def share_by_descriptor(self: Any) -> tuple[int, int]:
    """As `share_memory_`: the descriptor of the file that the memory is, to be closed by the caller, and its bytes."""
    segment = _segment(self)
    return os.dup(segment.descriptor), segment.nbytes


def share_by_name(self: Any) -> tuple[bytes, bytes, int]:
    """As `share_memory_`: no manager, a name of the file while this process has the storage, and its bytes."""
    segment = _segment(self)
    return b"", f"/proc/{os.getpid()}/fd/{segment.descriptor}".encode(), segment.nbytes


def _segment(storage: Any) -> Segment:
    segment = segment_of(_bytes_of(share_memory_(storage)))
    if segment is None:
        raise RuntimeError("a storage of no bytes has no memory to share")
    return segment


def write_file(self: Any, file: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
    """Writes the bytes to a file, with ``save_size`` after the number of elements, eight bytes of it, little-endian."""
    held = _bytes_of(self)
    _readable(held, elsewhere="cpu")
    if save_size:
        file.write((held.nbytes() // element_size).to_bytes(8, "little"))
    file.write(bytes(copy_to_host(held)))


def converted(self: Any, dtype: _core.dtype) -> TypedStorage:
    """The elements in a dtype, in a storage with it; the storage itself where it has that dtype."""
    if isinstance(self, TypedStorage) and self.dtype is dtype:
        return self
    values = view_of(_bytes_of(self), _dtype_of(self)).to(dtype)
    return TypedStorage._wrapped(values.untyped_storage(), dtype)


def kind(self: Any, dtype: Any = None) -> Any:
    """Without ``dtype`` the name of the class, else the storage with the dtype of that class, by name or itself."""
    if dtype is None:
        named = typed_class(self.dtype) if isinstance(self, TypedStorage) else None
        return "torch.storage." + type(self).__name__ if named is None else f"torch.{named.__name__}"
    wanted = TYPED.get(dtype.removeprefix("torch.")) if isinstance(dtype, str) else dtype
    if isinstance(wanted, type) and issubclass(wanted, TypedStorage):
        wanted = vars(wanted).get("_dtype")
    if not isinstance(wanted, _core.dtype):
        raise RuntimeError(f"type(): expected the dtype of a storage, its class or its name, got {dtype!r}")
    return converted(self, wanted)


def new(self: UntypedStorage) -> UntypedStorage:
    """An empty storage on the same device."""
    return UntypedStorage(0, device=self.device)


def size_in_memory(self: Any) -> int:
    """What ``sys.getsizeof`` counts: the object, and its bytes."""
    return object.__sizeof__(self) + _bytes_of(self).nbytes()


def deepcopy(self: Any, memo: dict[Any, Any]) -> Any:
    """A copy, the same one for one ``memo``."""
    known = memo.setdefault("torch", {})
    held = _bytes_of(self)
    if id(held) not in known:
        known[id(held)] = clone(held), held  # which is kept: no other one gets its id meanwhile
    return _like(self, known[id(held)][0])


def _conversion(name: str, dtype: _core.dtype) -> Callable[[Any], TypedStorage]:
    def convert(self: Any) -> TypedStorage:
        return converted(self, dtype)

    convert.__name__, convert.__doc__ = name, f"The elements in {dtype}."
    return convert


_SHARED: dict[str, Any] = {
    **{name: _conversion(name, _core.dtypes[dtype]) for name, dtype in _CONVERSIONS.items()},
    "__copy__": clone,
    "__deepcopy__": deepcopy,
    "__sizeof__": size_in_memory,
    "clone": clone,
    "copy_": copy_,
    "cpu": cpu,
    "is_cuda": property(lambda self: self.device.type == "cuda", doc="Whether it is on a GPU."),
    "is_sparse": False,
    "_share_fd_cpu_": share_by_descriptor,
    "_share_filename_cpu_": share_by_name,
    "_write_file": write_file,
    "share_memory_": share_memory_,
    "type": kind,
}
_OF_BYTES: dict[str, Any] = {
    "_cdata": property(_core.storage_identity, doc="A number that stands for the memory."),
    "_fix_weakref": lambda self: None,  # what a weak reference gives is the storage itself
    "byteswap": byteswap,
    "element_size": lambda self: 1,
    "fill_": fill_,
    "new": new,
    "size": UntypedStorage.nbytes,
    "tolist": tolist,
}
# What those with a dtype have beside, without a word about their end: what the package itself calls.
_QUIET = {
    "__deepcopy__": "_deepcopy", "__getitem__": "_getitem", "__setitem__": "_setitem", "data_ptr": "_data_ptr",
    "element_size": "_element_size", "is_shared": "_is_shared", "nbytes": "_nbytes", "resize_": "_resize_",
    "pickle_storage_type": "_pickle_storage_type", "share_memory_": "_share_memory_", "size": "_size",
}  # fmt: skip
for _name, _value in _SHARED.items():
    setattr(TypedStorage, _name, _value)
for _name, _value in [*vars(TypedStorage).items()]:
    if _name in _QUIET:
        setattr(TypedStorage, _QUIET[_name], quiet(_value))
    if _name.startswith("_") and _name not in ("__init__", "__len__", "__repr__", "__copy__", *_QUIET):
        continue
    if callable(_value):
        setattr(TypedStorage, _name, deprecated(_value))
    elif isinstance(_value, property) and _value.fget is not None:
        setattr(TypedStorage, _name, property(deprecated(_value.fget), doc=_value.__doc__))
LegacyStorage.__new__ = staticmethod(deprecated(LegacyStorage.__new__))  # type: ignore[method-assign]
for _name in ("from_buffer", "from_file"):
    setattr(LegacyStorage, _name, classmethod(deprecated(vars(LegacyStorage)[_name].__func__)))
for _name, _value in {**_SHARED, **_OF_BYTES}.items():
    _core.install_storage_method(_name, _value)
_core.hooks.fill(set_storage_item=set_storage_item)
