"""A device called ``slate``, in one file: its memory is a ``bytearray`` each, which its kernels reach as NumPy arrays.

``import slate`` adds it. What it has no kernel for runs on the CPU.
"""

from __future__ import annotations

import ctypes
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mindtorch_v2 as torch
from mindtorch_v2.backends import cpu_fallback, from_buffer
from mindtorch_v2.library import Library, get_kernel

NAME, KEY, DEVICES = "slate", "PrivateUse1", 2
IS_VIEW = ("view", "as_strided", "_reshape_alias")
IS_CHANGE = ("resize_", "set_.source_Tensor", "set_.source_Storage", "set_.source_Storage_storage_offset")

torch.utils.rename_privateuse1_backend(NAME)
aten = Library("aten", "IMPL", KEY)
every = Library("_", "IMPL", KEY)
live = 0  # bytes in use


# ---------------------------------------------------------------- memory
class Block:
    """A run of bytes of the device."""

    def __init__(self, nbytes: int) -> None:
        global live
        self.bytes = b""  # until there is room for it
        self.bytes = bytearray(max(nbytes, 1))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        live += len(self.bytes)

    def __del__(self) -> None:
        global live
        live -= len(self.bytes)


def kernel(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as the device's kernel of a built-in operator."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        aten.impl(name, function)
        return function

    return register


@kernel("empty.memory_format")
def empty(size: Sequence[int], *, dtype: Any = None, device: Any = None, **options: Any) -> torch.Tensor:
    """Memory on the device, row-major."""
    strides = [math.prod(size[i + 1 :]) for i in range(len(size))]
    return empty_strided(size, strides, dtype=dtype, device=device)


@kernel("empty_strided")
def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None, **options: Any
) -> torch.Tensor:
    """Memory on the device, from its first element to behind its last."""
    kind = dtype or torch.get_default_dtype()
    reach = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    block = Block(reach * kind.itemsize)
    return from_buffer(block, block.address, size, stride, kind, torch.device(device or NAME))


# ---------------------------------------------------------------- what touches no elements is the CPU's
def borrow(name: str) -> None:
    """Registers the CPU's kernel of an operator, which works on shapes and storages alone."""
    borrowed, keys = get_kernel(f"aten::{name}", "CPU"), torch._C.DispatchKeySet(KEY)
    aten.impl(name, lambda *args, **kwargs: borrowed.call_boxed(keys, *args, **kwargs))


for operator in (*IS_VIEW, *IS_CHANGE):
    borrow(operator)


# ---------------------------------------------------------------- copies
def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the tensor's memory: this device's can be reached from there."""
    if tensor.is_cpu:
        return tensor
    return from_buffer(tensor, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, torch.device("cpu"))


@kernel("_copy_from")
def copy_from(self: torch.Tensor, dst: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Self written into ``dst``, converted and broadcast; one is on the device, or both are."""
    on_host(dst).copy_(on_host(self))
    return dst


@kernel("_copy_from_and_resize")
def copy_from_and_resize(self: torch.Tensor, dst: torch.Tensor) -> torch.Tensor:
    """As `copy_from`, with ``dst`` given self's shape first."""
    return copy_from(self, dst.resize_(self.shape))


@kernel("_local_scalar_dense")
def local_scalar_dense(self: torch.Tensor) -> Any:
    """The first element, as a number."""
    return torch.ops.aten._local_scalar_dense(on_host(self))


# ---------------------------------------------------------------- kernels of its own
def array(tensor: torch.Tensor) -> NDArray[Any]:
    """The tensor's elements as an array over the same memory."""
    return on_host(tensor).numpy()


@kernel("neg")
def neg(self: torch.Tensor) -> torch.Tensor:
    """The negative of each element."""
    out = torch.empty_like(self)
    np.negative(array(self), out=array(out))
    return out


# ---------------------------------------------------------------- all others
every.fallback(cpu_fallback)


# ---------------------------------------------------------------- the module torch.slate
class Module(types.ModuleType):
    """What ``torch.slate`` is."""

    current = 0

    @staticmethod
    def is_available() -> bool:
        """Whether there is such a device."""
        return True

    @staticmethod
    def device_count() -> int:
        """How many there are."""
        return DEVICES

    def current_device(self) -> int:
        """The index that ``device="slate"`` means."""
        return self.current

    def set_device(self, index: int) -> None:
        """Makes another one the current one."""
        self.current = torch.device(NAME, index).index

    @staticmethod
    def synchronize() -> None:
        """Waits for its kernels: all have run when they return."""

    @staticmethod
    def get_amp_supported_dtype() -> list[Any]:
        """What autocast lowers to, the default first."""
        return [torch.bfloat16, torch.float16]

    @staticmethod
    def memory_allocated() -> int:
        """Bytes in use."""
        return live


torch._register_device_module(NAME, Module(f"torch.{NAME}"))
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
