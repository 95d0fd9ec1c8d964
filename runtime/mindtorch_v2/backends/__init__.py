"""Devices: a device type is one file here, or one `Backend` from outside; nothing else lists them."""

from __future__ import annotations

from .._core import from_buffer
from . import cpu, cuda, meta, mps, npu
from . import cudnn as cudnn  # settings that programs keep there
from . import mha as mha
from . import mkldnn as mkldnn
from ._backend import Backend, Copies, Memory, Streams, all_backends, backend_of
from ._fallback import FallbackWarning, cpu_fallback, fallback_report, reset_fallback_report
from ._registration import register

__all__ = [
    "Backend",
    "Copies",
    "FallbackWarning",
    "Memory",
    "Streams",
    "all_backends",
    "backend_of",
    "cpu_fallback",
    "fallback_report",
    "from_buffer",
    "register",
    "reset_fallback_report",
]

for _module in (cpu, cuda, mps, npu, meta):
    register(_module.backend)
