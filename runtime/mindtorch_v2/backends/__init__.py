"""Devices: a device type is one file here, or one `Backend` from outside; nothing else lists them."""

from __future__ import annotations

from . import cpu, cuda, meta, mps, npu
from ._backend import Backend, Copies, Memory, all_backends, backend_of, register

__all__ = ["Backend", "Copies", "Memory", "all_backends", "backend_of", "register"]

for _module in (cpu, cuda, mps, npu, meta):
    register(_module.backend)
