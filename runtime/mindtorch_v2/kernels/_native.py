"""The C++ CPU kernels, for kernels in Python that prepare their arguments."""

from __future__ import annotations

import functools

from .. import _core
from ..npu.launcher import KernelLauncher

__all__ = ["native"]

_LIBRARY = KernelLauncher("libmindtorch_cpu.so")


@functools.cache
def native(name: str, *types: str) -> _core.Kernel:
    """The C function ``name`` of libmindtorch_cpu.so; ``types`` names its C types (``desc``, ``f64``, ...)."""
    return _LIBRARY.bind(name, tuple(_core.c_types[t] for t in types), abi="c")
