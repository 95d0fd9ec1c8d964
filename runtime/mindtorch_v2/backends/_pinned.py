"""Pinned host memory: CPU tensors in memory that a device reaches by itself."""

from __future__ import annotations

import sys
from typing import Any

from .. import _core
from .._core import Tensor, device
from ._backend import Backend, Memory, all_backends, backend_of

__all__ = ["empty_pinned", "is_pinned", "pin_memory"]

_pinned: dict[int, str] = {}  # addresses of blocks in use -> the device type that each is for


class _Block:
    """A run of pinned memory, which goes with the last storage over it."""

    def __init__(self, name: str, memory: Memory, address: int, nbytes: int) -> None:
        self.memory, self.address, self.nbytes = memory, address, nbytes
        _pinned[address] = name

    def __del__(self) -> None:
        if not sys.is_finalizing():  # then the device's library may be gone
            _pinned.pop(self.address, None)
            self.memory.free(self.address, self.nbytes, 0)


def empty_pinned(size: Any, dtype: Any = None, where: device | str | None = None) -> Tensor:
    """An uninitialised contiguous CPU tensor in pinned memory. Raises RuntimeError where no device has any."""
    likeness = _core.alloc(size, dtype, "meta")
    backend, memory = _having(where)
    nbytes = likeness.nbytes
    if nbytes == 0:
        return _core.alloc(size, dtype, "cpu")
    block = _Block(backend.name, memory, memory.allocate(nbytes, 0), nbytes)
    cpu = device("cpu")
    return _core.from_buffer(block, block.address, tuple(likeness.shape), likeness.stride(), likeness.dtype, cpu)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in pinned host memory: itself where it is there, else a copy; for the accelerator unless one is given.

    Raises RuntimeError for a tensor that is not on the CPU, and where the device has no pinned memory.
    """
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin a tensor on {self.device}: only dense CPU tensors can be pinned")
    if is_pinned(self, device):
        return self
    copied: Tensor = empty_pinned(self.shape, self.dtype, device).copy_(self)
    return copied


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor is in pinned host memory (for a device type, if one is given)."""
    wanted = None if device is None else backend_of(device).name  # one that is none is refused wherever the tensor is
    if not self.is_cpu:
        return False
    found = _pinned.get(self.untyped_storage().data_ptr())
    return found is not None and wanted in (None, found)


def _having(where: device | str | None) -> tuple[Backend, Memory]:
    """The backend that has pinned memory, a given one or the last of all, and how it gives some."""
    for backend in reversed(all_backends() if where is None else [backend_of(where)]):
        if backend.pinned is not None:
            return backend, backend.pinned()
    raise RuntimeError(
        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available "
        f"{'on this system' if where is None else f'for {where}'}."
    )
