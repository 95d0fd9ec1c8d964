"""The CPU. Its allocator and its copies are the core's own."""

from __future__ import annotations

import ctypes
from pathlib import Path

from .. import _core
from ._backend import Backend

__all__ = ["backend", "get_cpu_capability"]

backend = Backend("cpu", key="CPU", indexed=False, autocast=("bfloat16", "float16"))


def get_cpu_capability() -> str:
    """The instruction set that the CPU kernels use: ``"DEFAULT"``, ``"AVX2"``, ``"AVX512"`` or ``"NEON"``.

    It is the best that the processor has. ``ATEN_CPU_CAPABILITY`` (``default``, ``avx2``, ``avx512``), read once, asks
    for less.
    """
    # It lies beside the compiled core, which in an editable install is not where this file is.
    library = ctypes.CDLL(str(Path(_core.__file__).parent / "lib" / "libmindtorch_cpu.so"))
    library.mt_cpu_capability.restype = ctypes.c_char_p
    name: bytes = library.mt_cpu_capability()
    return name.decode()
