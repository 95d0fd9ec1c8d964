"""MindSpore's primitives on our tensors, without copies; mindspore is imported at the first call.

On the CPU MindSpore runs in blocking mode: its asynchronous pipeline costs a hundred times a kernel's own time. On
Ascend it stays asynchronous.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._mindspore import in_use, mindspore
from ._native import native

__all__ = ["addmm", "calls", "matmul", "primitive"]

calls: dict[str, int] = {}  # primitive -> how often it has computed something
_one_at_a_time = threading.RLock()  # two threads inside of MindSpore 2.10 end the process
_SHARED = frozenset(
    _core.dtypes[n]
    for n in (
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    )
)


@functools.cache
def _mindspore(user: str) -> Any:
    package = mindspore(user)
    if package.get_context("device_target") == "CPU":
        package.runtime.launch_blocking()
    return package


def primitive(name: str, /, **attributes: Any) -> Callable[..., Any]:
    """The primitive ``mindspore.ops.<name>(**attributes)`` as a function of tensors.

    Tensors must be on the CPU, not empty (MindSpore leaves such results uninitialised), and of a dtype whose memory
    both sides share; a tensor that is not contiguous is copied first. Raises ImportError where mindspore is not
    installed.
    """
    _mindspore(f"MindSpore's {name}")
    operations = importlib.import_module("mindspore.ops")
    if not hasattr(operations, name):
        raise AttributeError(f"mindspore.ops has no primitive '{name}'")
    operation = getattr(operations, name)(**attributes)

    def call(*args: Any) -> Any:
        converted = [_share(name, arg) if isinstance(arg, Tensor) else arg for arg in args]
        with _one_at_a_time:
            result = operation(*converted)
            calls[name] = calls.get(name, 0) + 1
        return tuple(map(_adopt, result)) if isinstance(result, tuple) else _adopt(result)

    return call


def _share(name: str, tensor: Tensor) -> Any:
    """A MindSpore tensor over our memory."""
    import numpy as np

    if not tensor.is_cpu:
        raise RuntimeError(f"MindSpore's {name}: expected a tensor on cpu, got one on {tensor.device}")
    if tensor.dtype not in _SHARED:
        raise TypeError(f"MindSpore's {name}: memory of dtype {tensor.dtype} cannot be shared")
    if tensor.numel() == 0:
        raise RuntimeError(
            f"MindSpore's {name}: a tensor without elements, of shape {list(tensor.shape)}, gives no result"
        )
    array = np.asarray(_core.as_memoryview(tensor.contiguous()))
    return _mindspore(f"MindSpore's {name}").Tensor.from_numpy(array)


def _adopt(result: Any) -> Tensor:
    """Our tensor over a MindSpore tensor's memory, which it keeps alive."""
    array = result.asnumpy()
    strides = tuple(step // array.itemsize for step in array.strides)
    dtype = _core.dtypes[array.dtype.name]
    return _core.from_buffer((result, array), array.ctypes.data, array.shape, strides, dtype)


@functools.cache
def _product(name: str, transpose_a: bool, transpose_b: bool) -> Callable[..., Any]:
    return primitive(name, transpose_a=transpose_a, transpose_b=transpose_b)


def _is_transposed(tensor: Tensor) -> bool:
    """Whether the last two dimensions are exchanged in memory, which a primitive undoes at no cost."""
    return not tensor.is_contiguous() and tensor.transpose(-1, -2).is_contiguous()


def matmul(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two large matrices, or of two batches of them: MindSpore's where the program uses it.

    Both take as long, so that MindSpore, which needs a second and much memory to be imported, is not for their sake.
    """
    if not in_use() or self.numel() == 0 or mat2.numel() == 0:
        out = _core.alloc((*self.shape[:-1], mat2.shape[-1]), self.dtype, self.device)
        native("mt_matmul", "desc", "desc", "desc")(self, mat2, out)
        return out
    a, b = _is_transposed(self), _is_transposed(mat2)
    operation = _product("MatMul" if self.dim() == 2 else "BatchMatMul", a, b)
    result: Tensor = operation(self.transpose(-1, -2) if a else self, mat2.transpose(-1, -2) if b else mat2)
    return result


def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * mat1 @ mat2 of large matrices."""
    if not in_use() or not mat1.numel() or not mat2.numel():
        out = _core.alloc((mat1.shape[0], mat2.shape[1]), mat1.dtype, mat1.device)
        run = native("mt_addmm", "desc", "desc", "desc", "desc", "f64", "f64")
        run(self.expand(out.shape), mat1, mat2, out, float(beta), float(alpha))
        return out
    product = matmul(mat1, mat2)
    if alpha != 1:
        product.mul_(alpha)
    if beta != 0:
        product.add_(self, alpha=beta)
    return product
