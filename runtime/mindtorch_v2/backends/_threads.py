"""How many threads the CPU kernels use: ``torch.set_num_threads`` and its siblings."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

from .. import _core

__all__ = ["get_num_interop_threads", "get_num_threads", "set_num_interop_threads", "set_num_threads"]

_INT = 2**31  # what the C type of a number of threads does not hold


@functools.cache
def kernel_library() -> ctypes.CDLL:
    """The library of the CPU kernels. It lies beside the compiled core, which in an editable install is not here."""
    library = ctypes.CDLL(str(Path(_core.__file__).parent / "lib" / "libmindtorch_cpu.so"))
    for text in (library.mt_cpu_capability, library.mt_compiler, library.mt_cxx_flags):
        text.restype = ctypes.c_char_p
    library.mt_get_num_threads.restype = ctypes.c_int64
    library.mt_set_num_threads.argtypes = (ctypes.c_int64,)
    return library


def _checked(name: str, count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{name} expects an int, but got {type(count).__name__}")
    if count >= _INT or count < -_INT:
        raise ValueError(f"{name}: Overflow when unpacking long: {count} is no 32-bit number")
    if count < 1:
        raise RuntimeError(f"{name} expects a positive integer, but got {count}")
    return count


def get_num_threads() -> int:
    """How many threads a CPU kernel may use, the one that calls it among them.

    At first ``OMP_NUM_THREADS`` says so, or there is one for each processor that the program may run on.
    """
    count: int = _counted()()
    return count


@functools.cache
def _counted() -> Any:
    return kernel_library().mt_get_num_threads


def set_num_threads(count: Any, /) -> None:
    """Lets CPU kernels use up to ``count`` threads, which they share; one that is not positive raises RuntimeError."""
    kernel_library().mt_set_num_threads(_checked("set_num_threads", count))


_interop: list[int] = []  # the number that was set, once


def get_num_interop_threads() -> int:
    """How many operators may run side by side: a number that is kept for programs that ask, as none do so here."""
    return _interop[0] if _interop else len(os.sched_getaffinity(0))


def set_num_interop_threads(count: Any, /) -> None:
    """Sets what `get_num_interop_threads` returns. A second call raises RuntimeError."""
    checked = _checked("set_num_interop_threads", count)
    if _interop:
        raise RuntimeError("set_num_interop_threads: cannot set the number of interop threads twice")
    _interop.append(checked)
