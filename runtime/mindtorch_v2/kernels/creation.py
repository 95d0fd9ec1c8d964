"""Tensors made from sizes and numbers, and copies of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, device, dtype
from ._native import native

__all__ = [
    "arange",
    "arange_start",
    "arange_step",
    "clone",
    "contiguous",
    "copy_meta",
    "copy_npu",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "local_scalar_dense",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "ones",
    "ones_like",
    "rand_like",
    "randn_like",
    "refuse_meta",
    "scalar_tensor",
    "to_copy",
    "to_copy_fake",
    "zeros",
    "zeros_like",
]

_I64 = _core.dtypes["int64"]
_BOOL = _core.dtypes["bool"]
_INTEGERS = frozenset(_core.dtypes[n] for n in ("uint8", "int8", "int16", "int32", "int64"))


def empty(size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor of the given size with whatever its memory holds."""
    return _core.alloc(size, dtype, device)


def full(
    size: Sequence[int], fill_value: Any, *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """A tensor of the given size filled with a number; of its kind of dtype unless one is given."""
    result = _core.alloc(size, dtype or _core.result_type(fill_value), device)
    return _fill(result, fill_value)


def zeros(size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor of the given size filled with 0."""
    return _fill(_core.alloc(size, dtype, device), 0)


def ones(size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor of the given size filled with 1."""
    return _fill(_core.alloc(size, dtype, device), 1)


def scalar_tensor(s: Any, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor without dimensions that holds a number; of the number's own dtype unless one is given."""
    return _fill(_core.alloc((), dtype or _core.result_type(s), device), s)


def empty_like(self: Tensor, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor of self's size, and of its dtype and device unless others are given."""
    return _core.alloc(self.shape, dtype or self.dtype, device or self.device)


def zeros_like(self: Tensor, **options: Any) -> Tensor:
    """A tensor of self's size filled with 0."""
    return _fill(empty_like(self, **options), 0)


def ones_like(self: Tensor, **options: Any) -> Tensor:
    """A tensor of self's size filled with 1."""
    return _fill(empty_like(self, **options), 1)


def full_like(self: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """A tensor of self's size filled with a number."""
    return _fill(empty_like(self, **options), fill_value)


def rand_like(self: Tensor, **options: Any) -> Tensor:
    """A tensor of self's size of random numbers from [0, 1)."""
    result: Tensor = empty_like(self, **options).uniform_()
    return result


def randn_like(self: Tensor, **options: Any) -> Tensor:
    """A tensor of self's size of normally distributed random numbers."""
    result: Tensor = empty_like(self, **options).normal_()
    return result


def new_empty(
    self: Tensor, size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """A tensor of the given size, and of self's dtype and device unless others are given."""
    return _core.alloc(size, dtype or self.dtype, device or self.device)


def new_zeros(self: Tensor, size: Sequence[int], **options: Any) -> Tensor:
    """As `new_empty`, filled with 0."""
    return _fill(new_empty(self, size, **options), 0)


def new_ones(self: Tensor, size: Sequence[int], **options: Any) -> Tensor:
    """As `new_empty`, filled with 1."""
    return _fill(new_empty(self, size, **options), 1)


def new_full(self: Tensor, size: Sequence[int], fill_value: Any, **options: Any) -> Tensor:
    """As `new_empty`, filled with a number."""
    return _fill(new_empty(self, size, **options), fill_value)


def arange(end: Any, **options: Any) -> Tensor:
    """0, 1, 2, ... below ``end``."""
    return arange_step(0, end, 1, **options)


def arange_start(start: Any, end: Any, **options: Any) -> Tensor:
    """start, start + 1, ... below ``end``."""
    return arange_step(start, end, 1, **options)


def arange_step(
    start: Any, end: Any, step: Any, *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """start, start + step, ... up to but without ``end``; int64 where all three are integers."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(value, int) for value in (start, end, step))
    target = dtype or (_I64 if whole else _core.get_default_dtype())
    count = _arange_count(start, end, step, whole)
    name, kind = ("mt_arange_i64", "i64") if whole and target in _INTEGERS else ("mt_arange", "f64")
    return _on_cpu((count,), target, device, lambda out: native(name, "desc", kind, kind)(out, start, step))


def _arange_count(start: Any, end: Any, step: Any, whole: bool) -> int:
    """How many numbers there are from start on, step apart, before end."""
    if whole:
        return int(-((start - end) // step))
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"arange: unsupported range: {start} -> {end}; both ends must be finite")
    count: float = (end - start) / step
    if not abs(count) < 2**63:
        raise RuntimeError(
            f"arange: invalid size, possible overflow? There are {count} steps of {step} from {start} to {end}"
        )
    return math.ceil(count)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    target = dtype or _core.get_default_dtype()
    result = _on_cpu((steps,), target, device, lambda out: native("mt_arange", "desc", "f64", "f64")(out, start, step))
    if steps > 1:
        _fill(_core.as_strided(result, (), (), steps - 1), end)
    return result


def eye(n: int, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """The identity matrix of n rows."""
    if n < 0:
        raise RuntimeError(f"eye: n must be greater or equal to 0, got {n}")
    result = zeros((n, n), dtype=dtype, device=device)
    _fill(_core.as_strided(result, (n,), (n + 1,), 0), 1)
    return result


def copy_npu(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """``src`` written into self, where either is on an NPU."""
    from ..npu import copies

    return copies.copy_(self, src)


def copy_meta(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """``src`` written into self, where either is on meta: nothing to do, but that the values would have to be there."""
    if not self.is_meta:
        refuse_meta(src)
    shape = _core.broadcast_shapes(src.shape, self.shape)
    if shape != self.shape:
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}")
    return self


def refuse_meta(tensor: Tensor) -> None:
    """Raises NotImplementedError where a tensor whose values are read has none."""
    if tensor.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


def clone(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with memory of its own; dense strides of any order are kept."""
    result = _alloc_dense(self)
    return _copy(result, self)


def contiguous(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Self where it is contiguous, else a contiguous copy."""
    if self.is_contiguous():
        return self
    result: Tensor = self.new_empty(self.shape).copy_(self)
    return result


def to_copy_fake(self: Tensor, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """The result of `to_copy` without its values, which only a tensor on meta has not either."""
    if device is not None and device.type != "meta":
        refuse_meta(self)
    return _core.alloc(self.shape, dtype or self.dtype, device or self.device)


def to_copy(self: Tensor, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A copy in another dtype or on another device."""
    target = _core.alloc(self.shape, dtype or self.dtype, device or self.device)
    return _copy(target, self)


def local_scalar_dense(self: Tensor) -> Any:
    """The value of a tensor of one element as a Python number; waits for the device."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    if self.is_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    on_cpu = self if self.is_cpu else to_copy(self, device=_core.device("cpu"))
    if on_cpu.dtype is _core.dtypes["bfloat16"]:
        on_cpu = to_copy(on_cpu, dtype=_core.dtypes["float32"])
    view = _core.as_memoryview(_core.as_strided(on_cpu, (), ()))
    if view.format in ("e", "Zf", "Zd"):  # formats that a memoryview does not read itself
        import numpy as np

        return np.asarray(view).item()
    return view[()]


def _alloc_dense(self: Tensor) -> Tensor:
    """Uninitialised memory with self's strides if those are a permutation of row-major ones, else contiguous."""
    if self.is_contiguous() or self.is_meta:
        return _core.alloc(self.shape, self.dtype, self.device)
    order = sorted(range(self.dim()), key=self.stride().__getitem__, reverse=True)
    strides, step = [0] * self.dim(), 1
    for d in reversed(order):
        strides[d] = step
        step *= self.shape[d]
    if any(self.shape[d] > 1 and self.stride(d) != strides[d] for d in order):
        return _core.alloc(self.shape, self.dtype, self.device)
    return _core.as_strided(_core.alloc((self.numel(),), self.dtype, self.device), self.shape, strides)


def _copy(target: Tensor, source: Tensor) -> Tensor:
    if target.is_meta:
        return target
    refuse_meta(source)
    if target.is_cpu and source.is_cpu:
        native("mt_copy", "desc", "desc")(source, target)
        return target
    return copy_npu(target, source, False)


def _fill(target: Tensor, value: Any) -> Tensor:
    """Writes a number into fresh memory."""
    if target.is_meta:
        return target
    if not target.is_cpu:
        filled: Tensor = target.fill_(value)
        return filled
    if target.is_complex():
        import numpy as np

        np.asarray(_core.as_memoryview(target))[...] = value
    elif isinstance(value, int) and target.dtype in _INTEGERS:
        native("mt_fill_i64", "desc", "i64")(target, int(value))
    else:
        native("mt_fill", "desc", "f64")(target, value)
    return target


def _on_cpu(shape: Sequence[int], target: dtype, where: device | None, fill: Any) -> Tensor:
    """A tensor that ``fill`` writes on the CPU, moved to where it is wanted."""
    wanted = where or _core.get_default_device()
    if wanted.type == "meta":
        return _core.alloc(shape, target, wanted)
    result = _core.alloc(shape, target, _core.device("cpu"))
    fill(result)
    return result if wanted.type == "cpu" else to_copy(result, device=wanted)
