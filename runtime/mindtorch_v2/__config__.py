"""``torch.__config__``: what compiled the CPU kernels, and what they run on."""

from __future__ import annotations

import os

from .backends._threads import get_num_interop_threads, get_num_threads, kernel_library
from .backends.cpu import get_cpu_capability
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """What the kernels were built with, a line each."""
    lines = (
        f"PyTorch's API {__version__} built with:",
        f"  - {kernel_library().mt_compiler().decode()}",
        "  - LAPACK is enabled (NumPy's)",
        f"  - CPU capability usage: {get_cpu_capability()}",
        f"  - Build settings: CXX_FLAGS={_cxx_flags()}",
    )
    return "\n".join(lines) + "\n"


def _cxx_flags() -> str:
    """The options that the kernels were compiled with."""
    flags: bytes = kernel_library().mt_cxx_flags()
    return flags.decode()


def parallel_info() -> str:
    """How many threads there are for kernels and operators, and what of the environment says so."""
    lines = (
        "Parallel:",
        f"\tget_num_threads() : {get_num_threads()}",
        f"\tget_num_interop_threads() : {get_num_interop_threads()}",
        f"hardware concurrency : {os.cpu_count()}",
        "Environment variables:",
        f"\tOMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}",
        "parallel backend: native thread pool",
    )
    return "\n".join(lines) + "\n"
