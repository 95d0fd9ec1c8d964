"""The CPU kernel library at the level of C: descriptors over NumPy arrays, called through ctypes."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch_v2 import _core

CODES = {
    "?": 0,
    "B": 1,
    "b": 2,
    "h": 3,
    "i": 4,
    "l": 5,
    "e": 6,
    "f": 8,
    "d": 9,
    "F": 10,
    "D": 11,
    "H": 12,
    "I": 13,
    "L": 14,
}


class Descriptor(ctypes.Structure):
    """``mt_tensor`` of mindtorch_kernel.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("dtype", ctypes.c_int32),
        ("itemsize", ctypes.c_int32),
    ]


def descriptor(array: np.ndarray) -> Descriptor:
    dims = max(array.ndim, 1)
    shape = (ctypes.c_int64 * dims)(*array.shape)
    strides = (ctypes.c_int64 * dims)(*(s // array.itemsize for s in array.strides))
    return Descriptor(array.ctypes.data, array.ndim, shape, strides, CODES[array.dtype.char], array.itemsize)


def load() -> ctypes.CDLL:
    # Beside the compiled core, which in an editable install is not beside the Python sources.
    return ctypes.CDLL(str(Path(_core.__file__).parent / "lib" / "libmindtorch_cpu.so"))


class Kernels:
    """``Kernels()("mt_add", x, y, out, 1.0)``: arrays go as descriptors, floats as double, ints as int64."""

    def __init__(self) -> None:
        self.library = load()

    def status(self, name: str, *args: Any) -> int:
        converted: list[Any] = []
        for arg in args:
            if isinstance(arg, np.ndarray):
                converted.append(ctypes.byref(descriptor(arg)))
            elif isinstance(arg, float):
                converted.append(ctypes.c_double(arg))
            else:
                converted.append(None if arg is None else ctypes.c_int64(arg))
        return int(getattr(self.library, name)(*converted))

    def __call__(self, name: str, *args: Any) -> None:
        status = self.status(name, *args)
        assert status == 0, f"{name} returned {status}"
