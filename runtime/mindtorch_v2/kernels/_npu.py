"""How the built-in operators' AscendC kernels are launched: compiled at the first launch, on contiguous memory.

What a kernel does not take goes by way of the CPU (`run_on_cpu`), as operators without an NPU kernel do.
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import Tensor
from .._core import dtype as DType
from ..npu.built_in import MOST_BLOCKS, blocks, kernel

__all__ = [
    "FLOAT32",
    "MOST_BLOCKS",
    "SUFFIXES",
    "blocks",
    "fits",
    "in_rows",
    "kernel",
    "result_like",
    "run",
    "together",
    "whole",
]

FLOAT32 = _core.dtypes["float32"]
SUFFIXES = {FLOAT32: "f32", _core.dtypes["float16"]: "f16"}  # of the kernels' names


def in_rows(*tensors: Tensor) -> bool:
    """Whether kernels of elements take these as they mostly are: with their elements in rows."""
    return _core.lie_alike(*tensors) and tensors[0].dtype in SUFFIXES and 0 < tensors[0].numel() < 2**32


def fits(*tensors: Tensor) -> bool:
    """Whether kernels of elements take these together: of one shape, dtype and layout without gaps, not empty."""
    if in_rows(*tensors):
        return True
    first = tensors[0]
    return (
        first.dtype in SUFFIXES
        and 0 < first.numel() < 2**32
        and (first.is_contiguous() or result_like(first).stride() == first.stride())
        and all(
            t.device == first.device
            and t.dtype is first.dtype
            and t.shape == first.shape
            and t.stride() == first.stride()
            for t in tensors[1:]
        )
    )


def result_like(t: Tensor) -> Tensor:
    """An uninitialised tensor of the layout that results of each element have: that of t, without gaps."""
    return _core.alloc_like(t) if t.is_contiguous() else torch.empty_like(t)


def whole(t: Tensor) -> Tensor:
    """The tensor with its elements in a row, if kernels take its dtype: what is seen in another layout is copied."""
    if t.is_contiguous() or t.dtype not in SUFFIXES or not 0 < t.numel() < 2**32:
        return t
    if any(t.stride()):
        in_a_row: Tensor = t.contiguous()
        return in_a_row
    out, n = _core.alloc_like(t), t.numel()  # one element as many, as the gradient of a sum is
    expand = kernel("elementwise", f"expand_{SUFFIXES[t.dtype]}", "ptr", "ptr", "u32")
    expand(blocks(n), _core.as_strided(t, (1,), (1,), t.storage_offset()), out, n)
    return out


def together(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors as kernels of elements take them, in the shape that they have together, where one dtype is of all.

    The first says the layout, as it does on the CPU; others, and itself where it has gaps, are copied to it.
    """
    if in_rows(*tensors):
        return tensors
    first = tensors[0]
    alike = all(t.dtype is first.dtype and t.device == first.device for t in tensors)
    if not alike or first.dtype not in SUFFIXES or not first.numel():
        return tensors
    shape = _core.broadcast_shapes(*(t.shape for t in tensors))
    seen = [_core.expanded(t, shape) for t in tensors]
    like = result_like(seen[0]) if all(seen[0].stride()) else None  # of what is expanded the elements in a row
    if like is None or like.is_contiguous():
        return tuple(whole(t) for t in seen)
    return tuple(t if t.stride() == like.stride() else torch.empty_like(like).copy_(t) for t in seen)


def run(file: str, name: str, *args: Any) -> None:
    """Launches the kernel of elements for the first tensor's dtype, in the order of memory; numbers go as float."""
    first = args[0]
    n = first.numel()
    bound = _elementwise.get((file, name, first.dtype)) or _bind(file, name, args)
    if not first.is_contiguous():
        args = tuple(_core.tensor_ptr(arg) if isinstance(arg, Tensor) else arg for arg in args)
    bound(blocks(n), *args, n)


_elementwise: dict[tuple[str, str, DType], _core.Kernel] = {}  # those that have run, by file, name and dtype


def _bind(file: str, name: str, args: tuple[Any, ...]) -> _core.Kernel:
    dtype = args[0].dtype
    types = ["ptr" if isinstance(arg, Tensor) else "f32" for arg in args]
    bound = _elementwise[file, name, dtype] = kernel(file, f"{name}_{SUFFIXES[dtype]}", *types, "u32")
    return bound
