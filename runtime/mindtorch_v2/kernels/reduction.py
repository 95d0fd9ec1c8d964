"""Reductions: dimensions are settled here, the sums are made in C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtype, is_grad_enabled
from .._ops import ops
from ..library.definitions._variants import resize_out
from ._contexts import saves
from ._native import native
from .creation import refuse_meta

__all__ = [
    "all_dims",
    "amax",
    "amax_backward",
    "amax_setup",
    "amin",
    "any_dims",
    "equal",
    "max_into",
    "min_into",
    "prod_all",
    "prod_all_backward",
    "prod_all_setup",
    "prod_dim",
    "prod_dim_backward",
    "prod_dim_setup",
    "sum_all",
    "sum_dim",
    "sum_to_size",
    "wrap_dim",
    "wrap_dims",
    "written",
]

_BOOL, _I64, _U8 = (_core.dtypes[n] for n in ("bool", "int64", "uint8"))


def wrap_dims(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Dimensions counted from 0; all of them for None and for an empty list."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim))
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from 0. A tensor without dimensions is taken to have one."""
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def _reduce(name: str, self: Tensor, dim: int | Sequence[int] | None, keepdim: bool, target: dtype) -> Tensor:
    """Runs a reduction of libmindtorch_cpu over dimensions, all where none is given, into a new tensor."""
    return reduce_over(name, self, wrap_dims(dim, self.dim()), keepdim, target)


def reduce_over(
    name: str, self: Tensor, dims: Sequence[int], keepdim: bool, target: dtype, **parameters: float
) -> Tensor:
    """`_reduce` over dimensions counted from 0; ``parameters`` are what the kernel takes besides, by their C types."""
    out = _core.alloc(_reduced_shape(self, dims, keepdim), target, self.device)
    if not self.is_meta:
        kernel = native(f"mt_{name}", "desc", "desc", "u64", *parameters)
        kernel(self, out, sum(1 << d for d in dims), *parameters.values())
    return out


def _reduced_shape(self: Tensor, dims: Sequence[int], keepdim: bool) -> list[int]:
    return [1 if d in dims else n for d, n in enumerate(self.shape) if keepdim or d not in dims]


def _sum_dtype(self: Tensor, given: dtype | None) -> dtype:
    return given or (self.dtype if self.is_floating_point() or self.is_complex() else _I64)


def _terms(self: Tensor, dtype: dtype | None) -> Tensor:
    """What is added or multiplied: truth values are taken before, not of the result."""
    return self.to(dtype) if dtype is _BOOL else self


def sum_all(self: Tensor, *, dtype: dtype | None = None) -> Tensor:
    """The sum of all elements."""
    return _reduce("sum", _terms(self, dtype), None, False, _sum_dtype(self, dtype))


def sum_dim(self: Tensor, dim: Sequence[int] | None, keepdim: bool, *, dtype: dtype | None = None) -> Tensor:
    """Sums over dimensions."""
    return _reduce("sum", _terms(self, dtype), dim, keepdim, _sum_dtype(self, dtype))


def prod_all(self: Tensor, *, dtype: dtype | None = None) -> Tensor:
    """The product of all elements."""
    return _reduce("prod", _terms(self, dtype), None, False, _sum_dtype(self, dtype))


def prod_dim(self: Tensor, dim: int, keepdim: bool, *, dtype: dtype | None = None) -> Tensor:
    """Products over a dimension."""
    return _reduce("prod", _terms(self, dtype), dim, keepdim, _sum_dtype(self, dtype))


def _require_elements(name: str, self: Tensor, dim: Sequence[int]) -> None:
    """Raises, in the words of the operator ``name``, where there is nothing to take an extreme of."""
    if self.numel():
        return
    if not dim:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    for d in dim:
        if self.shape[wrap_dim(d, self.dim())] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _extreme(name: str, self: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    _require_elements(name, self, dim)
    return _reduce(name, self, dim, keepdim, self.dtype)


def amax(self: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The largest elements over dimensions."""
    return _extreme("amax", self, dim, keepdim)


def amin(self: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The smallest elements over dimensions."""
    return _extreme("amin", self, dim, keepdim)


def max_into(self: Tensor, dim: int, keepdim: bool = False, *, max: Tensor, max_values: Tensor) -> Any:
    """The largest elements along a dimension, and where they are, into tensors."""
    return written((max, max_values), ops.aten.max.dim(self, dim, keepdim))


def min_into(self: Tensor, dim: int, keepdim: bool = False, *, min: Tensor, min_indices: Tensor) -> Any:
    """The smallest elements along a dimension, and where they are, into tensors."""
    return written((min, min_indices), ops.aten.min.dim(self, dim, keepdim))


def written(targets: Sequence[Tensor], results: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Results in the tensors that are given for them, which get their shapes."""
    for target, result in zip(targets, results, strict=True):
        if target.dtype is not result.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {target.dtype} instead")
        resize_out(target, result)
        target.copy_(result)
    return tuple(targets)


def _truth_dtype(self: Tensor) -> dtype:
    return _U8 if self.dtype is _U8 else _BOOL


def any_dims(self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """Whether any element along dimensions is true."""
    return _truth("any", self, dim, keepdim)


def _truth(name: str, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    dims = wrap_dims(dim, self.dim()) if dim is None or len(dim) else ()  # no dimension: of each element
    return reduce_over(name, self, dims, keepdim, _truth_dtype(self))


def all_dims(self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """Whether all elements along dimensions are true."""
    return _truth("all", self, dim, keepdim)


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """Sums over leading dimensions, and over those that are 1 in ``size``."""
    lead = self.dim() - len(size)
    padded = (*(1,) * lead, *size)
    if lead < 0 or any(n not in (1, own) for n, own in zip(padded, self.shape, strict=False)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    dims = [d for d, (n, own) in enumerate(zip(padded, self.shape, strict=True)) if n != own or d < lead]
    if not dims and size:  # to no dimensions there is always a sum, of one element too
        return _core.shallow_detach(self).clone()  # type: ignore[no-any-return]
    total = _reduce("sum", self, dims, True, _sum_dtype(self, None))
    return _core.as_strided(total, tuple(size), total.stride()[lead:])


def equal(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same size and the same elements."""
    refuse_meta(self)
    return self.shape == other.shape and bool((self == other).all().item())


# ---------------------------------------------------------------- gradients
def _spread(value: Tensor, shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> Tensor:
    """A reduced tensor, broadcast back to the shape it was reduced from."""
    if not keepdim:
        for d in sorted(dims):
            value = value.unsqueeze(d)
    result: Tensor = value.expand(shape)
    return result


@saves(self=0, keepdim="keepdim")
def prod_dim_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factors."""
    self, dim, keepdim = inputs[:3]
    ctx.dims, ctx.keepdim = wrap_dims(dim, self.dim()), keepdim
    ctx.save_for_backward(self)


def prod_dim_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Each factor gets the product of the others."""
    (self,) = ctx.saved_tensors
    return _spread(grad, self.shape, ctx.dims, ctx.keepdim) * _others(self, ctx.dims), None, None, None


def _others(self: Tensor, dims: tuple[int, ...]) -> Tensor:
    """For each element the product of all others, conjugated; division alone would make NaN of zeros."""
    aten = ops.aten
    if self.is_complex():
        self = aten.conj_physical(self)
    zero = self == 0
    factors = aten.where(zero, 1.0, self)
    product, zeros = factors, zero
    for d in dims:
        product, zeros = product.prod(d, True), zeros.sum(d, True)
    others: Tensor = aten.where(zero, product * (zeros == 1), product / factors * (zeros == 0))
    differentiated = is_grad_enabled() or _core.tangent_levels(self)
    if differentiated and dims and self.numel():  # of zeros a choice has no gradients, products have
        line = self.reshape((-1,)) if len(dims) == self.dim() else self
        d = 0 if line is not self else dims[0]
        exact = _before(line, d) * _before(line.flip([d]), d).flip([d])
        others = aten.where(zeros == 0, others, exact.reshape(self.shape))
    return others


def _before(self: Tensor, d: int) -> Tensor:
    """For each element the product of those before it, in steps of powers of two."""
    aten, size, step = ops.aten, self.shape[d], 1
    ones = aten.ones_like(self)
    found: Tensor = aten.cat([ones.narrow(d, 0, 1), self.narrow(d, 0, size - 1)], d)
    while step < size:
        found = found * aten.cat([ones.narrow(d, 0, step), found.narrow(d, 0, size - step)], d)
        step *= 2
    return found


@saves(self=0)
def prod_all_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the factors."""
    ctx.save_for_backward(inputs[0])


def prod_all_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Each factor gets the product of the others."""
    (self,) = ctx.saved_tensors
    return grad * _others(self, tuple(range(self.dim()))), None


@saves(self=0, result=1, dim="dims", keepdim="keepdim")
def amax_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the elements and their extreme."""
    self, dim, keepdim = inputs
    ctx.dims, ctx.keepdim = wrap_dims(dim, self.dim()), keepdim
    ctx.save_for_backward(self, output)


def amax_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """Equal extremes share the gradient evenly."""
    self, result = ctx.saved_tensors
    hits = self == _spread(result, self.shape, ctx.dims, ctx.keepdim)
    share = grad / hits.sum(ctx.dims, ctx.keepdim)
    return hits * _spread(share, self.shape, ctx.dims, ctx.keepdim), None, None
