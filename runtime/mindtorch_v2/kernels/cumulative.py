"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

import itertools
import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .._type_info import finfo
from ._arrays import as_array, as_tensor
from ._native import native
from .reduction import wrap_dim

_DTYPES = _core.dtypes
_I64, _F32, _F64 = (_DTYPES[name] for name in ("int64", "float32", "float64"))
_HALVES = (_DTYPES["float16"], _DTYPES["bfloat16"])
_NOT_SUMMED = tuple(_DTYPES[name] for name in ("bool", "uint16", "uint32", "uint64"))


def _total(self: Tensor, dtype: Any) -> Any:
    """The dtype of a sum: of integers int64."""
    return dtype or (self.dtype if self.is_floating_point() or self.is_complex() else _I64)


def cumsum(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums."""
    return _running("cumsum", self, dim, dtype)


def cumprod(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products."""
    return _running("cumprod", self, dim, dtype)


def _running(name: str, self: Tensor, dim: int, dtype: Any) -> Tensor:
    import numpy as np

    target = _total(self, dtype)
    d = wrap_dim(dim, self.dim())
    given: Tensor = self.to(target)
    if self.dim() and self.numel() and target in _NOT_SUMMED:
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for '{_core.scalar_types[target.name]}'")
    if not self.dim():
        copy: Tensor = given.clone()
        return copy
    computed = _F32 if target in _HALVES else target
    if computed not in (_F32, _F64, _I64):
        return as_tensor(getattr(np, name)(as_array(given), axis=d), target)
    result = _core.alloc(self.shape, computed, self.device)
    native(f"mt_{name}", "desc", "desc", "i64")(given.to(computed).contiguous(), result, d)
    found: Tensor = result.to(target)
    return found


def cumsum_backward(grad: Tensor, dim: int) -> Tensor:
    """Sums from each element on."""
    if not grad.dim() or not grad.numel():
        return grad
    result: Tensor = grad.flip([dim]).cumsum(dim).flip([dim])
    return result


def cumprod_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factors and the products."""
    self, ctx.dim = inputs[:2]
    ctx.dtype = self.dtype
    ctx.save_for_backward(self, output)


def cumprod_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Of each factor the products of all others up to each place; those up to the first 0 by division."""
    self, result = ctx.saved_tensors
    given = self.to(result.dtype)
    if given.is_complex():
        given, result = ops.aten.conj_physical(given), ops.aten.conj_physical(result)
    if not given.dim() or not given.numel():
        return grad.to(ctx.dtype), None, None
    d = wrap_dim(ctx.dim, given.dim())
    if given.shape[d] == 1:  # whose one factor may be infinite, too
        return grad.to(ctx.dtype), None, None
    if bool((given == 0).any().item()):
        return _with_zeros(given, grad, d).to(ctx.dtype), None, None
    return (cumsum_backward(grad * result, d) / given).to(ctx.dtype), None, None


def _with_zeros(self: Tensor, grad: Tensor, d: int) -> Tensor:
    """Without a division: for each factor its product with what came before, and the running products behind it."""
    aten = ops.aten
    size = self.shape[d]
    parts = []
    before = aten.ones_like(self.narrow(d, 0, 1))
    for at in range(size):
        rest = [before]
        if at + 1 < size:
            behind = self.narrow(d, at + 1, size - at - 1)
            rest.append(before * behind.cumprod(d))
        parts.append((grad.narrow(d, at, size - at) * aten.cat(rest, d)).sum([d], True))
        before = before * self.narrow(d, at, 1)
    result: Tensor = aten.cat(parts, d)
    return result


def cummax(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Running maxima, and where they are."""
    return _running_extreme("cummax", self, dim)


def cummin(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Running minima, and where they are."""
    return _running_extreme("cummin", self, dim)


def _running_extreme(name: str, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    if self.is_complex():
        raise NotImplementedError(f"{name}() is not implemented for {self.dtype}")
    d = wrap_dim(dim, self.dim())
    if not self.dim() or not self.numel():
        return self.clone(), ops.aten.zeros_like(self, dtype=_I64)
    values, places = (_core.alloc(self.shape, dtype, self.device) for dtype in (self.dtype, _I64))
    native(f"mt_{name}", "desc", "desc", "desc", "i64")(self.contiguous(), values, places, d)
    return values, places


def extreme_fake(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Two tensors of the same size."""
    wrap_dim(dim, self.dim())
    return tuple(_core.alloc(self.shape, dtype, self.device) for dtype in (self.dtype, _I64))  # type: ignore[return-value]


def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """The gradient of each running extreme at the place of that."""
    if not input.numel():
        return input
    result: Tensor = ops.aten.zeros_like(input, dtype=grad.dtype).scatter_add(dim, indices, grad)
    return result


def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """Logarithms of running sums of exponentials."""
    import numpy as np

    d = wrap_dim(dim, self.dim())
    if not self.is_floating_point() and not self.is_complex():
        raise NotImplementedError(f"logcumsumexp() is not implemented for {self.dtype}")
    if not self.dim() or not self.numel():
        return self.clone()  # type: ignore[no-any-return]
    with np.errstate(all="ignore"):
        if self.is_complex():
            steps = np.moveaxis(as_array(self).astype("complex128"), d, 0)
            found = np.moveaxis(np.stack([*itertools.accumulate(steps, log_add_exp, initial=_LOG_OF_NONE)][1:]), 0, d)
        else:
            found = np.logaddexp.accumulate(as_array(self).astype("float64"), axis=d)
    return as_tensor(found, self.dtype)


_LOG_OF_NONE = complex(-math.inf, 0)


def log_add_exp(before: Any, x: Any) -> Any:
    """log(exp(x) + exp(before)) of complex numbers, by the exponential of the lesser of both over the greater."""
    import numpy as np

    swaps = x.real < np.real(before)
    less, more = np.where(swaps, x, before), np.where(swaps, before, x)
    ratio = np.exp(less - more)
    near = ratio.real * (2 + ratio.real) + ratio.imag * ratio.imag  # |1 + ratio|^2 - 1
    log1p = np.where(np.abs(ratio) < 0.5, np.log1p(near) / 2, np.log(np.hypot(1 + ratio.real, ratio.imag)))
    found = more + (log1p + 1j * np.arctan2(ratio.imag, 1 + ratio.real))
    same = np.isinf(less.real) & (less.real == more.real)
    found = np.where(same, np.where(less.real < 0, less, np.log(np.exp(less) + np.exp(more))), found)
    return np.where(np.isnan(less) | np.isnan(more), complex(math.nan, math.nan), found)


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Sums from each element on of the gradient's parts, of each sign apart, computed by their logarithms."""
    aten = ops.aten
    if not grad.dim() or not grad.numel():
        return grad

    if grad.is_complex():
        turned = (grad.conj_physical().log() - result).flip([dim]).logcumsumexp(dim).flip([dim]) + self
        whole: Tensor = turned.exp().conj_physical()
        return whole

    def part(sign: Tensor) -> Tensor:
        # As in PyTorch the least number stands for the logarithm of 0, whose infinity would have no gradient.
        logs = aten.where(sign, aten.where(sign, grad.abs(), 1.0).log(), finfo(grad.dtype).min) - result
        found: Tensor = (logs.flip([dim]).logcumsumexp(dim).flip([dim]) + self).exp()
        return found

    difference: Tensor = part(grad > 0) - part(grad < 0)
    return difference


def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours, ``n`` times over."""
    aten = ops.aten
    if not self.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, self.dim())
    parts = [part for part in (prepend, self, append) if part is not None]
    for part in parts:
        if part.dim() != self.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for k in range(self.dim()):
            if k != d and part.shape[k] != self.shape[k]:
                raise RuntimeError(
                    f"diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({k}) = {self.shape[k]}, but got tensor.size({k}) = "
                    f"{part.shape[k]}"
                )
    found = aten.cat(parts, d) if len(parts) > 1 else self
    for _ in range(min(n, found.shape[d])):
        size = found.shape[d]
        later, earlier = found.narrow(d, 1, size - 1), found.narrow(d, 0, size - 1)
        found = later.logical_xor(earlier) if found.dtype is _DTYPES["bool"] else later - earlier
    result: Tensor = found.clone() if found is self else found
    return result


# ---------------------------------------------------------------- the area below points
def _refuse_truths(name: str, y: Tensor, *x: Tensor) -> None:
    if any(t.dtype is _DTYPES["bool"] for t in (y, *x)):
        which = "`x` or `y`" if x else "`y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")


def _check_points(y: Tensor) -> None:
    if not y.dim():
        raise IndexError("trapezoid: a tensor without dimensions has no points next to one another")


def _ordinates(y: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    _check_points(y)
    size = y.shape[dim]
    return y.narrow(dim, 0, max(size - 1, 0)), y.narrow(dim, min(1, size), max(size - 1, 0))


def _widths(name: str, y: Tensor, x: Tensor, d: int) -> Tensor:
    if not x.dim():
        raise RuntimeError(f"{name}: Expected all `x` to have at least one dimension, got a number")
    if x.dim() == 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [-1 if k == d else 1 for k in range(y.dim())]
        return _step(x, 0).reshape(shape)  # type: ignore[no-any-return]
    padded = x.reshape((*(1,) * (y.dim() - x.dim()), *x.shape)) if x.dim() < y.dim() else x
    if padded.shape[d] != y.shape[d]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    return _step(padded, d)


def _step(x: Tensor, d: int) -> Tensor:
    before, after = _ordinates(x, d)
    result: Tensor = after - before
    return result


def trapezoid(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The area below points, by trapezoids between them."""
    d = wrap_dim(dim, y.dim())
    _check_points(y)
    if not y.shape[d]:
        return y.new_zeros([n for k, n in enumerate(y.shape) if k != d])  # type: ignore[no-any-return]
    _refuse_truths("trapezoid", y, x)
    before, after = _ordinates(y, d)
    result: Tensor = ((before + after) * _widths("trapezoid", y, x, d)).sum([d]) / 2.0
    return result


def _require_real_step(name: str, dx: Any) -> None:
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")


def trapezoid_dx(y: Tensor, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """As `trapezoid`, of points ``dx`` apart."""
    d = wrap_dim(dim, y.dim())
    _require_real_step("trapezoid", dx)
    _check_points(y)
    if not y.shape[d]:
        return y.new_zeros([n for k, n in enumerate(y.shape) if k != d])  # type: ignore[no-any-return]
    _refuse_truths("trapezoid", y)
    before, after = _ordinates(y, d)
    result: Tensor = (before + after).sum([d]) * (dx / 2.0)
    return result


def trapz_dx(y: Tensor, *, dx: float = 1, dim: int = -1) -> Tensor:
    """As `trapezoid_dx`."""
    return trapezoid_dx(y, dx=dx, dim=dim)


def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The area up to each point."""
    _refuse_truths("cumulative_trapezoid", y, x)
    d = wrap_dim(dim, y.dim())
    before, after = _ordinates(y, d)
    result: Tensor = ((before + after) * _widths("cumulative_trapezoid", y, x, d)).cumsum(d) / 2.0
    return result


def cumulative_trapezoid_dx(y: Tensor, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """As `cumulative_trapezoid`, of points ``dx`` apart."""
    _require_real_step("cumulative_trapezoid", dx)
    _refuse_truths("cumulative_trapezoid", y)
    d = wrap_dim(dim, y.dim())
    before, after = _ordinates(y, d)
    result: Tensor = (before + after).cumsum(d) * (dx / 2.0)
    return result
