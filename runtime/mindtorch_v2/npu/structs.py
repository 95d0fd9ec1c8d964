"""Tiling data: structs packed by C's rules, and their upload to a device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Union

from .. import _core
from .._core import CType, Tensor, dtypes
from .._core import device as Device
from . import acl
from .copies import copy_
from .recording import PinnedBytes, keep, records
from .runtime import on_device, opened

__all__ = ["Struct", "struct", "tiling_struct", "upload", "upload_to"]


FieldType = Union[CType, tuple[CType, int], "Struct"]


class Struct:
    """A C struct. Called with the values, by position or by name, it returns the packed bytes.

    A field's type is a scalar C type; such a type and a length, for an array, whose value is a sequence; or another
    ``Struct``, whose value is bytes, and which starts at a multiple of 8 bytes.
    """

    def __init__(self, fields: tuple[tuple[str, FieldType], ...]) -> None:
        if not isinstance(fields, tuple) or not all(isinstance(f, tuple) and len(f) == 2 for f in fields):
            raise TypeError(f"npu.Struct: expected a tuple of (name, C type) pairs, got {fields!r}")
        self.fields = fields
        self.offsets: tuple[int, ...] = ()
        self.alignment, end = 1, 0
        for name, of in fields:
            size, alignment = _layout(name, of)
            start = _aligned(end, alignment)
            self.offsets += (start,)
            self.alignment, end = max(self.alignment, alignment), start + size
        self.size = _aligned(end, self.alignment)

    def __call__(self, *values: Any, **named: Any) -> bytes:
        """The packed bytes; raises TypeError or OverflowError naming the field where a value does not fit."""
        names = [name for name, _ in self.fields]
        if len(values) > len(names):
            raise TypeError(f"struct: expected {len(names)} values ({', '.join(names)}), got {len(values)}")
        given = dict(zip(names, values, strict=False))
        for name in named:
            if name not in names or name in given:
                raise TypeError(
                    f"struct: field {name!r} is {'given twice' if name in given else 'not one of its fields'}"
                )
        given.update(named)
        packed = bytearray(self.size)
        for (name, of), start in zip(self.fields, self.offsets, strict=True):
            if name not in given:
                raise TypeError(f"struct: no value for field {name!r}")
            value = _packed(name, of, given[name])
            packed[start : start + len(value)] = value
        return bytes(packed)

    def __repr__(self) -> str:
        return f"npu.struct({', '.join(f'({name!r}, {ctype!r})' for name, ctype in self.fields)})"


def struct(*fields: tuple[str, FieldType]) -> Struct:
    """A C struct: ``struct(("n", npu.u32), ("scale", npu.f32))(1024, 0.5)`` gives its bytes, padded as C pads."""
    return Struct(fields)


def tiling_struct(path: str | os.PathLike[str], name: str) -> Struct:
    """A tiling struct that an operator's host header or source declares: called with its fields, it gives their bytes.

    An array's value is a sequence, that of a struct within it bytes, as its own ``tiling_struct`` gives them::

        Tiling = npu.tiling_struct("op_host/add_tiling.h", "AddTiling")
        npu.upload(Tiling(length=1024, shape=[32, 32]))

    Raises ``BuildError`` where the file declares no such struct.
    """
    from .host_tiling import read_struct  # imported here, as most programs read no host files

    return read_struct(Path(path), name)


def upload(packed: bytes | bytearray | memoryview, device: Any = "npu") -> Tensor:
    """A uint8 tensor on a device with a copy of the bytes, for tiling data in global memory."""
    try:
        data = bytes(memoryview(packed))
    except TypeError:
        raise TypeError(
            f"upload(): argument 'packed' (position 1) must be bytes, not {type(packed).__name__}"
        ) from None
    if data and records() and Device(device).type == "npu":
        return _copy_later(_core.alloc((len(data),), dtypes["uint8"], device), data)
    staged = _core.alloc((len(data),), dtypes["uint8"], "cpu")
    if data:
        _core.as_memoryview(staged)[:] = data
    target = _core.alloc((len(data),), dtypes["uint8"], device)
    return staged if target.is_cpu else copy_(target, staged)


def upload_to(target: Tensor, data: bytes) -> Tensor:
    """Copies bytes to the memory of a tensor that has room for them, and returns it; as a task, if work is recorded."""
    if records():
        return _copy_later(target, data)
    staged = _core.alloc((len(data),), dtypes["uint8"], "cpu")
    _core.as_memoryview(staged)[:] = data
    copy_(_core.from_buffer(None, target.data_ptr(), (len(data),), (1,), dtypes["uint8"], target.device), staged)
    return target


def _copy_later(target: Tensor, data: bytes) -> Tensor:
    """The copy where the stream is recorded: a task of the graph, which so reads memory that stays."""
    index, source = target.get_device(), PinnedBytes(data)
    stream = _core.npu_current_stream(index)
    with on_device(index):
        copy = (target.data_ptr(), len(data), source.address, len(data), acl.HOST_TO_DEVICE, stream)
        opened().call("aclrtMemcpyAsync", *copy)
    keep(source)
    return target


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _layout(name: str, of: FieldType) -> tuple[int, int]:
    """A field's size and alignment."""
    if isinstance(of, Struct):
        return of.size, max(8, of.alignment)
    ctype, count = of if isinstance(of, tuple) else (of, 1)
    if not isinstance(ctype, CType) or ctype.name in ("ptr", "host", "desc"):
        raise TypeError(f"struct field {name!r}: expected a scalar C type such as npu.u32, got {ctype!r}")
    return ctype.size * count, ctype.size


def _packed(name: str, of: FieldType, value: Any) -> bytes:
    if isinstance(of, Struct):
        if not isinstance(value, bytes) or len(value) != of.size:
            raise TypeError(f"struct field {name!r}: expected the {of.size} bytes of a struct, got {value!r}")
        return value
    if not isinstance(of, tuple):
        return _bits(name, of, value)
    ctype, count = of
    try:
        values = list(value)
    except TypeError:
        raise TypeError(f"struct field {name!r}: expected {count} values, got {value!r}") from None
    if len(values) != count:
        raise TypeError(f"struct field {name!r}: expected {count} values, got {len(values)}")
    return b"".join(_bits(f"{name}[{i}]", ctype, item) for i, item in enumerate(values))


def _bits(name: str, ctype: CType, value: Any) -> bytes:
    try:
        return ctype.bits(value).to_bytes(ctype.size, "little")
    except (TypeError, OverflowError) as error:
        raise type(error)(f"struct field {name!r}, {error}") from None
