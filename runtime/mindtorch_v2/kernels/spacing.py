"""Numbers evenly spaced, by themselves or as exponents; differences over spaces; and tensors over memory as it is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._narrow_dtypes import is_narrow
from .._numbers import as_element
from .._ops import ops
from .reduction import wrap_dim

_DTYPES = _core.dtypes
_F64, _C128, _BOOL = (_DTYPES[name] for name in ("float64", "complex128", "bool"))


def _number(name: str, called: str, given: Any) -> Any:
    """An end of a range as a number, of a tensor without dimensions its value."""
    if not isinstance(given, Tensor):
        return given
    if given.dim():
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {called} with "
                           f"{given.dim()} dimension(s).")  # fmt: skip
    return given.item()


def linspace(start: Any, end: Any, steps: int, **options: Any) -> Tensor:
    """As `torch.linspace`, between tensors without dimensions."""
    first, last = _number("linspace", "start", start), _number("linspace", "end", end)
    result: Tensor = ops.aten.linspace(first, last, steps, **_beside(options, start, end))
    return result


def _beside(options: dict[str, Any], *ends: Any) -> dict[str, Any]:
    tensors = [end for end in ends if isinstance(end, Tensor)]
    return options if options.get("device") or not tensors else {**options, "device": tensors[0].device}


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **options: Any) -> Tensor:
    """``base`` to the power of each of ``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first, last = _number("logspace", "start", start), _number("logspace", "end", end)
    options = _beside(options, start, end)
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    dtype = options.get("dtype")
    if dtype is _BOOL or (dtype is not None and is_narrow(dtype)):
        raise NotImplementedError(f"\"logspace_cpu\" not implemented for '{_core.scalar_types[dtype.name]}'")
    inferred = _core.common_dtype(0.0, *(n for n in (first, last) if isinstance(n, complex)))
    if is_complex and dtype is not None and not dtype.is_complex:
        wanted, got = _core.scalar_types[inferred.name], _core.scalar_types[dtype.name]
        raise RuntimeError(f"torch.logspace(): inferred dtype {wanted} can't be safely cast to passed dtype {got}")
    target = dtype or inferred
    wide = _C128 if target.is_complex else _F64
    exponents = ops.aten.linspace(first, last, steps, dtype=wide, device=options.get("device"))
    result: Tensor = ops.aten.pow(base, exponents).to(target)
    return result


def range_of(start: Any, end: Any, step: Any = 1, **options: Any) -> Tensor:
    """``start``, ``start + step``, … up to ``end``, which is included."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    start, end, step = (as_element(n, _F64) if isinstance(n, complex) else n for n in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    dtype = options.get("dtype") or _core.get_default_dtype()
    if dtype is _BOOL or dtype.is_complex:
        raise NotImplementedError(f'"range_cpu" not implemented for {dtype}')
    if not dtype.is_floating_point:
        start, step = as_element(start, dtype), as_element(step, dtype)
    span = (end - start) / step
    if span >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    count = math.floor(span) + 1
    numbers = ops.aten.arange(count, dtype=dtype, device=options.get("device"))
    result: Tensor = numbers * step + start
    return result


# ---------------------------------------------------------------- differences
def gradient(self: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """For each dimension the slope at each element, of those beside it, which are ``spacing`` apart or at places."""
    ndim = self.dim()
    dims = list(range(ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if self.dtype is _DTYPES["uint8"]:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    spaces = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(dims)
    if len(spaces) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, but got a "
            f"list of length {len(spaces)}"
        )
    for d, space in zip(dims, spaces, strict=True):
        length = self.shape[d] if -ndim <= d < ndim else None
        if isinstance(space, Tensor) and (space.dim() != 1 or length not in (None, space.shape[0])):
            raise RuntimeError(
                f"torch.gradient expected each element of spacing to have one dimension and as many elements as the "
                f"dimension, {length}, but got {list(space.shape)}"
            )
    dims = [wrap_dim(d, ndim) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("dim appears multiple times in the list of dims")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if self.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return [_slopes(self, d, space, edge_order) for d, space in zip(dims, spaces, strict=True)]


def _slopes(self: Tensor, d: int, space: Any, edge_order: int) -> Tensor:
    size = self.shape[d]

    def part(start: int, length: int) -> Tensor:
        return self.narrow(d, start, length)  # type: ignore[no-any-return]

    def shaped(values: Tensor) -> Tensor:
        result: Tensor = values.reshape([-1 if k == d else 1 for k in range(self.dim())])
        return result

    steps = shaped(space.narrow(0, 1, size - 1) - space.narrow(0, 0, size - 1)) if isinstance(space, Tensor) else None

    def step(at: int, length: int = 1) -> Any:
        return space if steps is None else steps.narrow(d, at, length)

    if steps is None:
        middle = (part(2, size - 2) - part(0, size - 2)) / (2 * space)
    else:
        before, behind = step(0, size - 2), step(1, size - 2)
        middle = (
            part(0, size - 2) * (-behind / (before * (before + behind)))
            + part(1, size - 2) * ((behind - before) / (before * behind))
            + part(2, size - 2) * (before / (behind * (before + behind)))
        )
    if edge_order == 1:
        first = (part(1, 1) - part(0, 1)) / step(0)
        last = (part(size - 1, 1) - part(size - 2, 1)) / step(size - 2)
    else:
        first = _edge([part(k, 1) for k in (0, 1, 2)], step(0), step(1))
        last = -_edge([part(size - 1 - k, 1) for k in (0, 1, 2)], step(size - 2), step(size - 3))
    result: Tensor = ops.aten.cat([first, middle, last] if size > 2 else [first, last], d)
    return result


def _edge(values: Sequence[Tensor], near: Any, far: Any) -> Tensor:
    """The slope at the first of three elements, of the second order."""
    both = near + far
    result: Tensor = (
        values[0] * (-(near + both) / (near * both))
        + values[1] * (both / (near * far))
        - values[2] * (near / (far * both))
    )
    return result


# ---------------------------------------------------------------- memory
def new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """As `torch.empty_strided`, with self's dtype and device."""
    options = {name: value for name, value in options.items() if value is not None}
    result: Tensor = ops.aten.empty_strided(
        list(size), list(stride), **{"dtype": self.dtype, "device": self.device, **options}
    )
    return result


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """A tensor whose dimensions lie in memory in an order of their own, with whatever its memory holds."""
    ndim = len(size)
    if len(physical_layout) != ndim:
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {ndim} "
            f"is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if sorted(physical_layout) != list(range(ndim)):
        raise RuntimeError(f"Invalid permutation {list(physical_layout)}: every dimension must be there once")
    strides, step = [0] * ndim, 1
    for d in reversed(physical_layout):
        strides[d] = step
        step *= size[d]
    result: Tensor = ops.aten.empty_strided(list(size), strides, **options)
    return result
