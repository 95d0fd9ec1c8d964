"""Checkpoints as PyTorch wrote them before 1.6: pickles one after the other, then the storages' bytes."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

from .. import _core
from .._core import UntypedStorage
from .._storages import TypedStorage, copy_to_host, view_of
from ._locations import Restore
from ._names import StoredDtype
from ._pickler import Storages, pickler_class

__all__ = ["checked_count", "kind_of", "load_legacy", "location_of", "save_legacy"]

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_SYSTEM = {"protocol_version": _PROTOCOL, "little_endian": sys.byteorder == "little",
           "type_sizes": {"short": 2, "int": 4, "long": 4}}  # fmt: skip

ReadPickle = Callable[[bytes, int, Callable[[Any], Any]], tuple[Any, int]]


def save_legacy(obj: Any, f: IO[bytes], base: Any, protocol: int) -> None:
    """Writes a checkpoint."""
    storages = Storages()
    for head in (_MAGIC, _PROTOCOL, _SYSTEM):
        f.write(pickle.dumps(head, protocol))
    kinds: dict[str, Any] = {}

    def name(stored: StoredDtype) -> tuple[Any, ...]:
        words = storages.name(stored)
        kinds[words[2]] = stored
        return (*words, None)

    text = io.BytesIO()
    pickler_class(base)(text, protocol, name).dump(obj)
    f.write(text.getvalue())
    keys = [str(i) for i in range(len(storages.all))]
    f.write(pickle.dumps(keys, protocol))
    for key, storage in zip(keys, storages.all, strict=True):
        stored = kinds[key]
        f.write(struct.pack("<q", storage.nbytes() // (stored.dtype.itemsize if stored.is_typed else 1)))
        f.write(copy_to_host(storage))


def load_legacy(data: bytes, read: ReadPickle, restore: Restore) -> tuple[Any, int]:
    """Reads a checkpoint; and where it ends. Raises RuntimeError for what is none, EOFError for one that is cut off."""
    at = 0

    def part(storage_of: Callable[[Any], Any]) -> Any:
        nonlocal at
        value, at = read(data, at, storage_of)
        return value

    if part(_no_storage) != _MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = part(_no_storage)
    if version != _PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = part(_no_storage)
    if isinstance(system, dict) and system.get("little_endian") is False:
        raise RuntimeError("this checkpoint was saved on a big-endian machine in the old format: save it anew there")
    made: dict[str, tuple[UntypedStorage, int]] = {}
    typed: dict[Any, TypedStorage] = {}  # the same object for the same one

    def storage_of(name: Any) -> TypedStorage:
        if len(name) not in (5, 6):
            raise RuntimeError(f"a checkpoint names a storage by {len(name)} words: expected 5 or 6")
        _, kind, key, location, count = name[:5]
        dtype = kind_of(kind)
        if key not in made:
            size = checked_count(count, dtype.itemsize, len(data))
            made[key] = restore(UntypedStorage(size), location_of(location)), dtype.itemsize
        part = name[5] if len(name) == 6 else None
        if (key, part, dtype) not in typed:
            typed[key, part, dtype] = TypedStorage._wrapped(_part_of(made[key][0], dtype, part), dtype)
        return typed[key, part, dtype]

    result = part(storage_of)
    keys = part(_no_storage)
    if not isinstance(keys, list):
        raise RuntimeError(f"a checkpoint lists its storages: expected a list, got {type(keys).__name__}")
    for key in keys:
        if key not in made:
            raise RuntimeError(f"a checkpoint has bytes of the storage {key!r}, which nothing names")
        storage, itemsize = made[key]
        if at + 8 > len(data):
            raise EOFError("Ran out of input: the file ends before its storages do")
        (count,) = struct.unpack_from("<q", data, at)
        at += 8
        size = storage.nbytes()
        if count * itemsize != size or at + size > len(data):
            raise RuntimeError(f"storage has wrong byte size: expected {size} got {count * itemsize}")
        _fill(storage, memoryview(data)[at : at + size])
        at += size
    return result, at


def _no_storage(name: Any) -> Any:
    raise pickle.UnpicklingError("the head of a checkpoint has a storage: the file is damaged")


def _part_of(storage: UntypedStorage, dtype: _core.dtype, part: Any) -> UntypedStorage:
    """The part of a storage that a view of it is: (key, offset, count)."""
    if part is None:
        return storage
    _, offset, count = part
    if storage.device.type != "cpu":
        raise RuntimeError("a checkpoint has views of storages, as PyTorch wrote them before 0.4: load it on the CPU")
    start = checked_count(offset, dtype.itemsize, storage.nbytes())
    size = checked_count(count, dtype.itemsize, storage.nbytes() - start)
    if not size:
        return UntypedStorage(0)
    view = _core.from_buffer(storage, storage.data_ptr() + start, (size,), (1,), _core.dtypes["uint8"])
    return view.untyped_storage()


def kind_of(kind: Any) -> _core.dtype:
    """The dtype by which a storage is named; of bytes for one without."""
    if kind is UntypedStorage:
        return _core.dtypes["uint8"]
    if isinstance(kind, type) and issubclass(kind, TypedStorage) and "_dtype" in vars(kind):
        dtype: _core.dtype = vars(kind)["_dtype"]
        return dtype
    raise pickle.UnpicklingError(f"expected the class of a storage, got {kind!r}")


def location_of(location: Any) -> str:
    """The device that a storage is of, as text: of Python 2, or as the caller asks, it is bytes."""
    return location.decode("ascii", "replace") if isinstance(location, bytes) else str(location)


def checked_count(count: Any, itemsize: int, available: int) -> int:
    """The bytes of so many elements, which a file of that size can hold."""
    if type(count) is not int or not 0 <= count * itemsize <= available:
        raise RuntimeError(f"a checkpoint has a storage of {count} elements, which is more than the file holds")
    return count * itemsize


def _fill(storage: UntypedStorage, raw: memoryview) -> None:
    if not len(raw) or storage.device.type == "meta":
        return
    if storage.device.type == "cpu":
        copy_to_host(storage)[:] = raw
        return
    there = view_of(storage, _core.dtypes["uint8"])
    here = UntypedStorage(len(raw))
    copy_to_host(here)[:] = raw
    there.copy_(view_of(here, _core.dtypes["uint8"]))
