"""The C++ CPU kernels, for kernels in Python that prepare their arguments."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from .. import _core

__all__ = ["native"]


@functools.cache
def native(name: str, *types: str) -> _core.Kernel:
    """The C function ``name`` of libmindtorch_cpu.so; ``types`` are names of C types (``desc``, ``f64``, ``u64``, ...)."""
    return _core.Kernel(name, lambda: _address(name), tuple(_core.c_types[t] for t in types), abi="c")


def _address(name: str) -> int:
    address = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert address is not None  # noqa: S101  (getattr has raised where there is no such symbol)
    return address


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(_core.__file__).parent / "lib" / "libmindtorch_cpu.so"))
