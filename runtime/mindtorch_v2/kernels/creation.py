"""Tensors made from sizes and numbers, and copies of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, copied_to, device, dtype, zeros
from .._narrow_dtypes import is_narrow, widened
from .._numbers import as_element, refuse_too_big, to_word, wrapped
from .._ops import ops
from ..backends._copies import copy_ as copy_between
from ..backends._copies import to_cpu
from ..backends._new_memory import resize_, settled
from ..backends._pinned import empty_pinned
from ._native import native

__all__ = [
    "arange",
    "arange_start",
    "arange_step",
    "copy_and_resize",
    "copy_and_resize_meta",
    "copy_elsewhere",
    "copy_from",
    "copy_from_meta",
    "copy_meta",
    "copy_npu",
    "empty",
    "empty_like",
    "empty_strided",
    "eye_of",
    "fill_",
    "linspace",
    "local_scalar_dense",
    "new_empty",
    "new_zeros_with_same_feature_meta",
    "refuse_meta",
    "resize_",
    "scalar_tensor",
    "set_to_part_of_tensor",
    "write",
]

_I64 = _core.dtypes["int64"]
_F32, _F64 = _core.dtypes["float32"], _core.dtypes["float64"]
_BOOL = _core.dtypes["bool"]
_C32, _C64 = _core.dtypes["complex32"], _core.dtypes["complex64"]
_CPU = _core.device("cpu")
_SMALL = 65504  # what every floating-point dtype holds
_LAST = (1 << 63) - 1  # of the integers that a signed word holds


def empty(size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor of the given size with whatever its memory holds."""
    if options.get("pin_memory"):
        if device is not None and device.type != "cpu":
            raise RuntimeError(f"Only dense CPU tensors can be pinned, not one on {device}")
        return empty_pinned(size, dtype)
    return settled(_core.alloc_in_format(size, dtype, device, options.get("memory_format")))


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: dtype | None = None,
    device: device | None = None,
    **options: Any,
) -> Tensor:
    """A tensor of the given size and strides with whatever its memory holds."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    reach = 0
    if all(n > 0 for n in size) and all(step >= 0 for step in stride):  # of others `as_strided` says what is wrong
        reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return _core.as_strided(settled(_core.alloc((reach,), dtype, device)), size, stride, 0)


def scalar_tensor(s: Any, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """A tensor without dimensions that holds a number; of the default dtype unless one is given."""
    return _fill(_core.alloc((), dtype, device), s)


def empty_like(
    self: Tensor,
    *,
    dtype: dtype | None = None,
    device: device | None = None,
    memory_format: Any = None,
    **options: Any,
) -> Tensor:
    """A tensor of self's size, in the order of its dimensions unless a format is given; by default of its dtype."""
    return settled(_core.alloc_in_format_of(self, dtype, device, memory_format))


def new_empty(
    self: Tensor, size: Sequence[int], *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """A tensor of the given size, and of self's dtype and device unless others are given."""
    return settled(_core.alloc(size, dtype or self.dtype, device or self.device))


def new_zeros_with_same_feature_meta(self: Tensor, other: Tensor, *, self_num_batch_dims: int = 0) -> Tensor:
    """Zeros laid out as ``other`` in a storage as large as its; in front the first dimensions of ``self``, of each
    sample a storage after another."""
    batch = tuple(self.shape[:self_num_batch_dims])
    step = other.untyped_storage().nbytes() // other.dtype.itemsize
    strides: tuple[int, ...] = ()
    for size in reversed(batch):
        strides, step = (step, *strides), step * size
    memory = ops.aten.zeros([step], dtype=other.dtype, device=other.device)
    made: Tensor = memory.as_strided((*batch, *other.shape), (*strides, *other.stride()), other.storage_offset())
    return made


def arange(end: Any, **options: Any) -> Tensor:
    """0, 1, 2, ... below ``end``."""
    return arange_step(0, end, 1, **options)


def arange_start(start: Any, end: Any, **options: Any) -> Tensor:
    """start, start + 1, ... below ``end``."""
    return arange_step(start, end, 1, **options)


def arange_step(
    start: Any, end: Any, step: Any, *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """start, start + step, ... up to but without ``end``; int64 where all three are integers.

    An integer dtype takes the whole part of each number, before anything is computed.
    """
    plain = type(start) is int and type(end) is int and type(step) is int and (dtype is None or dtype is _I64)
    if plain and -_LAST <= start <= end <= _LAST and 0 < step <= _LAST:  # the common case: nothing to convert
        return _arange(-((start - end) // step), _I64, device, start, step)
    bounds = start, end, step = tuple(as_element(n, _F64) if isinstance(n, complex) else n for n in (start, end, step))
    integers = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    target = dtype or (_I64 if integers else _core.get_default_dtype())
    if target is _BOOL or target.is_complex or is_narrow(target):
        raise NotImplementedError(f'"arange_cpu" not implemented for {target}')
    if not integers and not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    whole = not target.is_floating_point
    if target.itemsize == 2 and not whole and (device or _core.get_default_device()).type != "meta":
        for number in (start, step):  # which are computed with in float32
            as_element(number, _F32)
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    as_given = integers and max(map(abs, bounds)) <= _LAST
    first, last, by = bounds if as_given or not whole else (as_element(n, _I64) for n in bounds)
    if target is not _I64:  # PyTorch counts the elements with the whole parts for int64 only
        count = _arange_count(float(start), float(end), step)
    elif by == 0:
        raise ValueError(f"step must be nonzero: {step} has no whole part, and dtype is int64")
    else:
        count = -((first - last) // by)
    return _arange(count, target, device, first, by)


def _arange(count: int, target: dtype, device: device | None, first: Any, by: Any) -> Tensor:
    name, kind = ("mt_arange", "f64") if target.is_floating_point else ("mt_arange_i64", "i64")
    return _on_cpu((count,), target, device, lambda out: native(name, "desc", kind, kind)(out, first, by))


def _arange_count(start: float, end: float, step: float) -> int:
    """How many numbers there are from start on, step apart, before end."""
    count: float = (end - start) / step
    if not abs(count) < 2**63:
        raise RuntimeError(
            f"arange: invalid size, possible overflow? There are {count} steps of {step} from {start} to {end}"
        )
    return math.ceil(count)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: dtype | None = None, device: device | None = None, **options: Any
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included (of integers, their whole parts)."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    inferred = _core.common_dtype(float(steps), *(n for n in (start, end) if isinstance(n, complex)))
    if inferred.is_complex and dtype is not None and not dtype.is_complex:
        wanted, got = _core.scalar_types[inferred.name], _core.scalar_types[dtype.name]
        raise RuntimeError(f"torch.linspace(): inferred dtype {wanted} can't be safely cast to passed dtype {got}")
    target = dtype or inferred
    if target is _BOOL or is_narrow(target):
        raise NotImplementedError(f"\"linspace_cpu\" not implemented for '{_core.scalar_types[target.name]}'")
    first = as_element(start, target) if steps else 0
    last = as_element(end, target) if steps > 1 else first
    if target.is_complex:
        return _complex_line(first, last, steps, target, device)
    if not target.is_floating_point:
        first, last = wrapped(first, target), wrapped(last, target)
    return _on_cpu((steps,), target, device, lambda out: native("mt_linspace", "desc", "f64", "f64")(out, first, last))


def _complex_line(first: complex, last: complex, steps: int, target: dtype, where: device | None) -> Tensor:
    def fill(out: Tensor) -> None:
        import numpy as np

        at = np.arange(steps)
        step = (last - first) / max(steps - 1, 1)
        from_start = (at < steps // 2) | (steps == 1)
        np.asarray(_core.as_memoryview(out))[...] = np.where(
            from_start, first + step * at, last - step * (steps - 1 - at)
        )

    return _on_cpu((steps,), target, where, fill)


def eye_of(n: int, m: int, *, dtype: dtype | None = None, device: device | None = None, **options: Any) -> Tensor:
    """The identity matrix of n rows and m columns."""
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"eye: {name} must be greater or equal to 0, got {size}")
    if dtype is _C32:
        raise NotImplementedError("\"eye\" not implemented for 'ComplexHalf'")
    result = zeros((n, m), dtype=dtype, device=device)
    write(_core.as_strided(result, (min(n, m),), (m + 1,), 0), 1)
    return result


def fill_(self: Tensor, value: Any) -> Tensor:
    """Every element set to a number, which must fit the dtype."""
    return _fill(self, value)


def copy_npu(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """``src`` written into self, where either is on an NPU."""
    return copy_between(self, src)


def copy_elsewhere(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """``src`` written into self, where either is on a device from outside: its kernel of `_copy_from` does it."""
    if not self.is_cpu and not src.is_cpu and self.device.type != src.device.type:
        src = to_cpu(src)
    ops.aten._copy_from(src, self, non_blocking)
    return self


def copy_from(self: Tensor, dst: Tensor, non_blocking: bool) -> Tensor:
    """Self written into ``dst``, where either is on a device whose backend says how bytes are copied."""
    return copy_between(dst, self)


def copy_from_meta(self: Tensor, dst: Tensor, non_blocking: bool) -> Tensor:
    """Self written into ``dst``, where either is on meta."""
    return copy_meta(dst, self, non_blocking)


def copy_and_resize(self: Tensor, dst: Tensor) -> Tensor:
    """As `copy_from`, with ``dst`` given self's shape first."""
    return copy_between(_core.resize_(dst, self.shape), self)


def copy_and_resize_meta(self: Tensor, dst: Tensor) -> Tensor:
    """As `copy_from_meta`, with ``dst`` given self's shape first."""
    return copy_meta(_core.resize_(dst, self.shape), self, False)


def set_to_part_of_tensor(
    self: Tensor, source: Tensor, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """Self made to show a part of ``source``'s memory, from where it begins."""
    if not source.is_contiguous():
        raise RuntimeError("passed in tensor to be used as storage must be contiguous")
    result: Tensor = self.set_(source.untyped_storage(), storage_offset + source.storage_offset(), size, stride)
    return result


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


def local_scalar_dense(self: Tensor) -> Any:
    """The value of a tensor's first element as a Python number; waits for the device."""
    if self.numel() == 0:
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    if self.is_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    first = _core.as_strided(self, (), ())
    on_cpu = first if self.is_cpu else copied_to(first, device=_core.device("cpu"))
    if on_cpu.dtype is _core.dtypes["bfloat16"]:
        on_cpu = copied_to(on_cpu, dtype=_core.dtypes["float32"])
    on_cpu = widened(on_cpu)
    view = _core.as_memoryview(on_cpu)
    if view.format in ("e", "Zf", "Zd"):  # formats that a memoryview does not read itself
        import numpy as np

        return np.asarray(view).item()
    return view[()]


def _fill(target: Tensor, value: Any) -> Tensor:
    """Writes a number into all of a tensor. Raises RuntimeError where its dtype cannot hold the number.

    As in PyTorch, a single element takes the nearest of a narrow floating-point dtype, which may be infinite.
    """
    if target.is_meta:
        if isinstance(value, int):
            refuse_too_big(value)
        return target
    kept = target.dtype
    if target.numel() == 1:
        if kept.is_floating_point and kept.itemsize < 4:
            return write(target, as_element(value, _F64))
    elif kept is _C32:
        kept = _C64
    return write(target, as_element(value, kept))


def write(target: Tensor, value: Any) -> Tensor:
    """Writes a number into all of a tensor, converted as an element of another tensor would be.

    What is no element of its dtype is refused by `as_element`; 0 and 1 are elements of every one.
    """
    if target.is_meta:
        return target
    if not target.is_cpu:
        # Maybe no element of it: becomes infinite.
        if abs(value) > _SMALL and (target.is_floating_point() or target.is_complex()):
            value = write(_core.alloc((), target.dtype, _CPU), value)
            copied: Tensor = target.copy_(value)
            return copied
        filled: Tensor = target.fill_(value)
        return filled
    if is_narrow(target.dtype):  # which NumPy lacks
        wide = write(_core.alloc((), _core.dtypes["complex64" if target.is_complex() else "float32"], _CPU), value)
        target.copy_(wide)
    elif target.is_complex():
        import numpy as np

        np.asarray(_core.as_memoryview(target))[...] = value
    elif isinstance(value, float) or (value > _LAST and target.is_floating_point()):
        native("mt_fill", "desc", "f64")(target, float(value))
    else:
        word = value if type(value) is int and value <= _LAST else to_word(int(value))
        native("mt_fill_i64", "desc", "i64")(target, word)
    return target


def _on_cpu(shape: Sequence[int], target: dtype, where: device | None, fill: Any) -> Tensor:
    """A tensor that ``fill`` writes on the CPU, moved to where it is wanted."""
    wanted = where or _core.get_default_device()
    if wanted.type == "meta":
        return _core.alloc(shape, target, wanted)
    result = _core.alloc(shape, target, _core.device("cpu"))
    fill(result)
    return result if wanted.type == "cpu" else copied_to(result, device=wanted)
