"""A device type from outside by its `Backend` alone: ``import tests.runtime.brick`` adds it.

Each block is mapped twice: the address that tensors have cannot be read or written, copies go by the other. Whatever
touches the device's memory as if it were the CPU's ends the process.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
import os
import threading
import types

import mindtorch_v2 as torch
from mindtorch_v2.backends import Backend, Copies, Memory, register

_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_lock = threading.Lock()
blocks: dict[int, tuple[int, int, int]] = {}  # address -> size, the other address, index of the device
LIMIT = 1 << 30


def allocate(nbytes: int, index: int) -> int:
    if nbytes > LIMIT:
        raise MemoryError(f"brick:{index} has no {nbytes} bytes")
    size = max(1, -(-nbytes // mmap.PAGESIZE)) * mmap.PAGESIZE
    file = os.memfd_create("brick")
    os.ftruncate(file, size)
    address, other = (_libc.mmap(None, size, access, mmap.MAP_SHARED, file, 0) for access in (0, 3))
    os.close(file)
    with _lock:
        blocks[address] = size, other, index
    return address


def free(address: int, nbytes: int, index: int) -> None:
    with _lock:
        size, other, of = blocks.pop(address)
    assert of == index
    _libc.munmap(address, size)
    _libc.munmap(other, size)


def reachable(address: int) -> int:
    """Where the memory at an address of the device can be reached."""
    with _lock:
        bases = sorted(blocks)
        base = bases[bisect.bisect_right(bases, address) - 1]
        size, other, _ = blocks[base]
    assert address < base + size
    return other + address - base


def up(destination: torch.Tensor, source: torch.Tensor, nbytes: int) -> None:
    ctypes.memmove(reachable(destination.data_ptr()), source.data_ptr(), nbytes)


def down(destination: torch.Tensor, source: torch.Tensor, nbytes: int) -> None:
    ctypes.memmove(destination.data_ptr(), reachable(source.data_ptr()), nbytes)


def within(destination: torch.Tensor, source: torch.Tensor, nbytes: int) -> None:
    ctypes.memmove(reachable(destination.data_ptr()), reachable(source.data_ptr()), nbytes)


class Module(types.ModuleType):
    @staticmethod
    def device_count() -> int:
        return 2


register(
    Backend(
        "brick",
        key="PrivateUse2",
        memory=Memory(allocate, free),
        copies=lambda: Copies(up, down, within),
        autocast=("bfloat16",),
        fallback="cpu",
    )
)
torch._register_device_module("brick", Module("brick"))
