"""The CPU. Its allocator and its copies are the core's own."""

from __future__ import annotations

from ._backend import Backend
from ._threads import kernel_library

__all__ = ["backend", "get_cpu_capability"]

backend = Backend("cpu", key="CPU", indexed=False, autocast=("bfloat16", "float16"))


def get_cpu_capability() -> str:
    """The instruction set that the CPU kernels use: ``"DEFAULT"``, ``"AVX2"``, ``"AVX512"`` or ``"NEON"``.

    It is the best that the processor has. ``ATEN_CPU_CAPABILITY`` (``default``, ``avx2``, ``avx512``), read once, asks
    for less.
    """
    name: bytes = kernel_library().mt_cpu_capability()
    return name.decode()
