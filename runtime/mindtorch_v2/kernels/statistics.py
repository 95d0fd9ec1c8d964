"""Means, deviations, quantiles, norms, distances and counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtypes
from .._functional import computed_norm, norm, std, var, warn_of_freedom
from .._narrow_dtypes import widened
from .._numbers import as_element
from .._ops import ops
from ._arrays import as_array, as_tensor, moved
from ._contexts import saves
from ._native import native
from .parts import binned
from .reduction import reduce_over, wrap_dim, wrap_dims

_DTYPES = _core.dtypes
_I64, _BOOL, _F64, _F32 = (_DTYPES[name] for name in ("int64", "bool", "float64", "float32"))


# ---------------------------------------------------------------- sums and means
def logsumexp(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow on the way."""
    aten = ops.aten
    given = self if self.is_floating_point() or self.is_complex() else self.to(_core.get_default_dtype())
    dims = list(wrap_dims(dim, given.dim()))
    if not given.numel():
        total: Tensor = given.exp().sum(dims, keepdim).log()
        return total
    real = ops.aten.real(given) if given.is_complex() else given
    top = real.detach().amax(dims, True)
    top = aten.where(top.abs() == math.inf, 0.0, top)
    found = (given - top).exp().sum(dims, keepdim).log()
    result: Tensor = found + (top if keepdim or not given.dim() else top.squeeze(dims))
    return result


def nansum(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sums over dimensions of what is not NaN."""
    if self.is_complex():
        raise RuntimeError("nansum does not support complex inputs")
    given = ops.aten.where(self.isnan(), 0.0, self) if self.is_floating_point() else self
    result: Tensor = ops.aten.sum.dim_IntList(given, dim, keepdim, dtype=dtype)
    return result


def nanmean(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Means over dimensions of what is not NaN."""
    if not self.is_floating_point() and not self.is_complex():
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {self.dtype}")
    counts = (~self.detach().isnan()).sum(dim, keepdim)
    result: Tensor = ops.aten.nansum(self, dim, keepdim, dtype=dtype) / counts
    return result


def aminmax(self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least and the largest elements."""
    if self.is_complex():
        raise NotImplementedError(f"aminmax() is not implemented for {self.dtype}")
    if dim is None:
        if not self.numel():
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        dims: list[int] = []
    else:
        d = wrap_dim(dim, self.dim())
        if self.dim() and not self.shape[d]:
            raise IndexError(f"aminmax(): Expected reduction dim {d} to have non-zero size.")
        dims = [d]
    return ops.aten.amin(self, dims, keepdim), ops.aten.amax(self, dims, keepdim)


_FEW = 1 << 12  # elements, whose variances are computed in one call


def _spread_of(name: str, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> tuple[Tensor, Tensor]:
    if not self.is_floating_point() and not self.is_complex():
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    dims = wrap_dims(dim, self.dim())
    if type(self) is Tensor and self.is_cpu and 0 < self.numel() <= _FEW and self.dtype in (_F32, _F64):
        return _spread_of_few(name, self, dims if self.dim() else (), correction, keepdim)
    function = var if name == "var_mean" else std
    spread = function(self, dim, correction=correction, keepdim=keepdim)
    return spread, widened(self).mean(list(dims), keepdim).to(self.dtype)


def _spread_of_few(
    name: str, self: Tensor, dims: Sequence[int], correction: Any, keepdim: bool
) -> tuple[Tensor, Tensor]:
    shape = tuple(1 if d in dims else n for d, n in enumerate(self.shape) if keepdim or d not in dims)
    spread, mean = (_core.alloc(shape, self.dtype, self.device) for _ in range(2))
    fewer = 1.0 if correction is None else float(correction)
    warn_of_freedom(name.partition("_")[0], self.numel() // max(1, spread.numel()), fewer)
    call = native("mt_var_mean", "desc", "desc", "desc", "u64", "f64", "i64")
    call(self.contiguous(), spread, mean, sum(1 << d for d in dims), fewer, name == "std_mean")
    return spread, mean


def std_mean(self: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
    return _spread_of("std_mean", self, dim, correction, keepdim)


def var_mean(self: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
    return _spread_of("var_mean", self, dim, correction, keepdim)


def std_mean_unbiased(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    """As `std_mean`, with a correction of 1 or none."""
    found: tuple[Tensor, Tensor] = ops.aten.std_mean.correction(self, None, correction=int(unbiased))
    return found


def var_mean_unbiased(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    """As `var_mean`, with a correction of 1 or none."""
    found: tuple[Tensor, Tensor] = ops.aten.var_mean.correction(self, None, correction=int(unbiased))
    return found


def std_mean_dim(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """As `std_mean`, over dimensions."""
    found: tuple[Tensor, Tensor] = ops.aten.std_mean.correction(self, dim, correction=int(unbiased), keepdim=keepdim)
    return found


def var_mean_dim(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """As `var_mean`, over dimensions."""
    found: tuple[Tensor, Tensor] = ops.aten.var_mean.correction(self, dim, correction=int(unbiased), keepdim=keepdim)
    return found


def var_mean_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the elements, and how the call was made."""
    self, *ctx.given = inputs
    ctx.save_for_backward(self)


def std_mean_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the elements, how the call was made, and the deviations."""
    self, *ctx.given = inputs
    ctx.save_for_backward(self, output[0])


def std_mean_backward(ctx: Any, grad_std: Tensor | None, grad_mean: Tensor | None) -> tuple[Any, ...]:
    """As of the variance, whose root has a slope of 1 / (2 root), or none at 0."""
    self, root = ctx.saved_tensors
    grad_var = None
    if grad_std is not None:
        grad_var = ops.aten.where(root == 0, 0.0, grad_std / ops.aten.where(root == 0, 1.0, 2 * root))
    return _gradient_of_spread(ctx, self, grad_var, grad_mean)


def var_mean_backward(ctx: Any, grad_var: Tensor | None, grad_mean: Tensor | None) -> tuple[Any, ...]:
    """Of the variance the distance from the mean, twice, over the degrees of freedom; of the mean a share for each."""
    (self,) = ctx.saved_tensors
    return _gradient_of_spread(ctx, self, grad_var, grad_mean)


def _gradient_of_spread(ctx: Any, self: Tensor, grad_var: Tensor | None, grad_mean: Tensor | None) -> tuple[Any, ...]:
    dim, correction, keepdim = ctx.given
    dims = sorted(wrap_dims(dim, self.dim())) if self.dim() else []
    count = math.prod(self.shape[d] for d in dims)
    free = count - (1 if correction is None else correction)
    found = None

    def beside(grad: Tensor) -> Tensor:
        """A gradient with the dimensions that went, of size 1."""
        for d in () if keepdim else dims:
            grad = grad.unsqueeze(d)
        return grad

    if grad_var is not None:
        distance = self - self.mean(dims, True)
        if free <= 0 and (dim is None or not self.dim()):
            found = beside(grad_var) * ops.aten.where(distance == 0, math.nan, math.inf)
        else:
            found = (2 / free if free else math.inf) * beside(grad_var) * distance
    if grad_mean is not None:
        share = (beside(grad_mean) / count).expand(self.shape)
        found = share if found is None else found + share
    return found, None, None, None


# ---------------------------------------------------------------- quantiles
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Elements at shares of the sorted ones along a dimension, or between two of them."""
    return _quantile("quantile", self, q, dim, keepdim, interpolation)


def nanquantile(
    self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """As `quantile`, of what is not NaN."""
    return _quantile("nanquantile", self, q, dim, keepdim, interpolation)


def quantile_scalar(
    self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """As `quantile`, at one share."""
    return quantile(self, _share("quantile", self, q), dim, keepdim, interpolation=interpolation)


def nanquantile_scalar(
    self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """As `nanquantile`, at one share."""
    return nanquantile(self, _share("nanquantile", self, q), dim, keepdim, interpolation=interpolation)


def _share(name: str, self: Tensor, q: float) -> Tensor:
    if not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
    result: Tensor = ops.aten.scalar_tensor(q, dtype=self.dtype, device=self.device)
    return result


def _quantile(name: str, self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    aten = ops.aten
    if self.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if self.dtype not in (_F32, _F64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if q.dtype is not self.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if q.numel() and not bool(((q >= 0) & (q <= 1)).all().item()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    given = self.reshape((-1,)) if dim is None else self.reshape((1,)) if not self.dim() else self
    d = 0 if dim is None else wrap_dim(dim, self.dim())
    shape = [1] * self.dim() if dim is None else [1 if k == d else n for k, n in enumerate(self.shape)]
    rows = given.movedim(d, -1)
    ordered = aten.sort.default(rows, -1)[0]
    missing = ordered.detach().isnan()
    size = rows.shape[-1]
    last = (
        (size - 1 - missing.sum([-1], True)).clamp_min(0)
        if name == "nanquantile"
        else aten.full([], size - 1, dtype=_I64)
    )
    ranks = q.reshape((-1,)) * last.to(self.dtype)
    if name == "quantile":
        ranks = aten.where(missing.any(-1, True), float(size - 1), ranks)
    if interpolation == "nearest":
        ranks = ranks.round()
    elif interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    ranks = ranks.expand((*rows.shape[:-1], q.numel()))
    below = ranks.floor().to(_I64)
    values = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weights = aten.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below.to(self.dtype)
        above = ordered.gather(-1, ranks.ceil().to(_I64))
        values = aten.lerp(values, above, weights)
    values = values.movedim(-1, 0)  # the shares first
    whole = values.reshape((q.numel(), *shape)) if keepdim else values.reshape((q.numel(), *rows.shape[:-1]))
    result: Tensor = whole if q.dim() else whole.squeeze(0)
    if not keepdim and not self.dim():
        result = result.reshape(tuple(q.shape))
    return result


# ---------------------------------------------------------------- norms and distances
_FLOATS = tuple(dtypes[name] for name in ("float16", "bfloat16", "float32", "float64"))
_ORDERS = (0, 1, 2, math.inf, -math.inf)  # of norms that there is a kernel for


def linalg_vector_norm(
    self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The p-norm over dimensions of all elements, taken as a vector."""
    if not self.is_floating_point() and not self.is_complex():
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self.dtype}"
        )
    return computed_norm(self, ord, dim, keepdim, dtype)


def vector_norm_cpu(self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`linalg_vector_norm` in one pass over the elements, where there is a kernel for it."""
    if ord == 2 and dim is None and dtype is None and self.numel() > 1 and self.dtype in _FLOATS:  # as nearly always
        out = _core.alloc((1,) * self.dim() if keepdim else (), self.dtype, self.device)
        native("mt_vector_norm", "desc", "desc", "u64", "f64")(self, out, (1 << self.dim()) - 1, 2.0)
        return out
    known = isinstance(ord, (int, float)) and ord in _ORDERS and dtype is None
    if not known or self.dtype not in _FLOATS or not self.numel():
        return linalg_vector_norm(self, ord, dim, keepdim, dtype=dtype)
    dims = wrap_dims(dim, self.dim())
    if ord and all(self.shape[d] == 1 for d in dims):
        ord = 1  # of one element, whatever the order: its square may be beyond the dtype
    return reduce_over("vector_norm", self, dims, keepdim, self.dtype, f64=float(ord))


@saves(self=0, result=1, ord="ord", dim="dim", keepdim="keepdim")
def vector_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the vector and its norm."""
    self, ctx.ord, ctx.dim, ctx.keepdim, dtype = inputs
    ctx.dims = wrap_dims(ctx.dim, self.dim())
    ctx.dtype, ctx.wide = self.dtype, self.dtype if dtype is None else dtype
    ctx.save_for_backward(self, output)


def vector_norm_backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """The elements over the norm, by powers; 0 where that has no slope."""
    aten = ops.aten
    self, length = ctx.saved_tensors
    given = self.to(ctx.wide)
    if not ctx.keepdim:
        for d in sorted(ctx.dims if self.dim() else ()):
            grad, length = grad.unsqueeze(d), length.unsqueeze(d)
    order = float(ctx.ord)
    found: Tensor
    if order == 0:
        found = aten.zeros_like(given)
    elif order == 1:
        found = aten.sgn(given) * grad
    elif order == 2:
        found = given * aten.where(length == 0, 0.0, grad / aten.where(length == 0, 1.0, length))
    elif math.isinf(order):
        extreme = (given.abs() == length).to(length.dtype)
        found = aten.sgn(given) * (extreme / extreme.sum(list(ctx.dims), True) * grad)
    else:
        size = given.abs()
        none = size == 0
        power = aten.where(none, 0.0, aten.where(none, 1.0, size).pow(order - 1))
        scale = aten.where(length == 0, 0.0, grad * aten.where(length == 0, 1.0, length).pow(1 - order))
        found = aten.sgn(given) * (power * scale)
    return found.to(ctx.dtype), None, None, None, None


def dist(self: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference."""
    return norm(self - other, p)


def renorm(self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    """Slices along a dimension whose norm is above ``maxnorm`` scaled to it."""
    if self.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions")
    if isinstance(p, complex) or not p > 0:
        raise RuntimeError(
            "renorm: non-positive norm not supported" if not isinstance(p, complex) else "renorm: p must be real-valued"
        )
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    d = wrap_dim(dim, self.dim())
    length = norm(self, p, [k for k in range(self.dim()) if k != d], True)
    factor = ops.aten.where(length > maxnorm, maxnorm / (length + 1e-7), ops.aten.ones_like(length))
    result: Tensor = self.contiguous() * factor  # in rows, as in PyTorch
    return result


def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance of variables, a row of observations each."""
    aten = ops.aten
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if self.dtype is _BOOL:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    given = self.reshape((1, -1)) if self.dim() < 2 else self
    count = given.shape[1]
    weights: Tensor | None = None
    if fweights is not None:
        _check_weights("fweights", fweights, count)
        if fweights.is_floating_point() or fweights.is_complex():
            raise RuntimeError(
                f"cov(): expected fweights to have integral dtype but got fweights with {fweights.dtype} dtype"
            )
        if fweights.numel() and bool((fweights < 0).any().item()):
            raise RuntimeError("cov(): fweights cannot be negative")
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, count)
        if not aweights.is_floating_point():
            raise RuntimeError(
                f"cov(): expected aweights to have floating point dtype but got aweights with {aweights.dtype} dtype"
            )
        if aweights.numel() and bool((aweights < 0).any().item()):
            raise RuntimeError("cov(): aweights cannot be negative")
        weights = aweights if weights is None else weights * aweights
    if not (given.is_floating_point() or given.is_complex()):
        given = given.to(_core.get_default_dtype())
    if weights is not None:
        given = given.to(_core.common_dtype(given, weights))
        weights = weights.to(given.dtype)
    total = aten.full([], count, dtype=given.dtype) if weights is None else weights.sum()
    mean = given.sum([1]) / total if weights is None else (given * weights).sum([1]) / total
    if weights is not None and aweights is not None and correction:
        degrees = total - correction * (weights * aweights.to(given.dtype)).sum() / total
    else:
        degrees = total - correction
    if float(degrees.detach().item().real) <= 0:
        import warnings

        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=2,
        )
        degrees = aten.zeros_like(degrees)
    distance = given - mean.unsqueeze(1)
    scaled = distance if weights is None else distance * weights
    other = aten.conj_physical(scaled.t()) if scaled.is_complex() else scaled.t()
    result: Tensor = (aten.mm(distance, other) / degrees).squeeze()
    return result


def _check_weights(name: str, weights: Tensor, count: int) -> None:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )


def corrcoef(self: Tensor) -> Tensor:
    """The correlation of variables, a row of observations each."""
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    found = ops.aten.cov(self)
    if not found.dim():
        single: Tensor = found / found
        return single
    deviation = found.diagonal()
    deviation = (ops.aten.real(deviation) if found.is_complex() else deviation).sqrt()
    result: Tensor = found / deviation.reshape((-1, 1)) / deviation.reshape((1, -1))
    return result if result.is_complex() else result.clip(-1, 1)


# ---------------------------------------------------------------- counts
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on is there, or the sum of its weights."""
    import numpy as np

    if self.dtype is _BOOL or self.is_floating_point() or self.is_complex():
        raise NotImplementedError(f"bincount() is not implemented for {self.dtype}")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.dim() == 1 and not self.numel():  # as in PyTorch, which looks at no weights there
        return ops.aten.zeros([minlength], dtype=_I64)  # type: ignore[no-any-return]
    array = as_array(self)
    if self.dim() != 1 or array.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return moved(np.bincount(array.astype("int64"), minlength=minlength), _I64)
    if weights.dim() != 1 or weights.numel() != self.numel():
        raise RuntimeError("weights should be 1-d and have the same length as input")
    found = np.bincount(array.astype("int64"), as_array(weights).astype("float64"), minlength)
    return as_tensor(found, _F32 if weights.dtype is _F32 else _F64)


def histc(self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements are in each of ``bins`` parts of a range; that of the elements where its ends are equal."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    aten, given = ops.aten, self.reshape((-1,))
    if self.is_complex() or self.dtype is _BOOL:
        raise NotImplementedError(f"histc() is not implemented for {self.dtype}")
    low, high = _ends(given, None if min == max and given.numel() else (min, max), 1, "max must be larger than min")
    if not self.is_floating_point():
        raise NotImplementedError(f"histc() is not implemented for {self.dtype}")
    given = given.masked_select((given >= low) & (given <= high))
    count, first, last = (aten.scalar_tensor(number, dtype=self.dtype) for number in (bins, low, high))
    places = (given - first) * count / (last - first)  # each step rounded to the dtype, as in PyTorch
    result: Tensor = aten.bincount(places.to(_I64).clamp(max=bins - 1), minlength=bins).to(self.dtype)
    return result


def _ends(given: Tensor, ends: Sequence[Any] | None, margin: float, words: str) -> tuple[float, float]:
    """The ends of a range, by default those of the elements; ``margin`` further out where they are equal.

    Raises RuntimeError with ``words`` for ends in the wrong order.
    """
    if ends is None:
        low, high = given.aminmax() if given.numel() else (given.new_zeros(()), given.new_ones(()))
    else:
        low, high = (ops.aten.scalar_tensor(as_element(end, given.dtype), dtype=given.dtype) for end in ends)
    if low.item() == high.item():
        low, high = low - margin, high + margin
    low, high = low.item(), high.item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{words}, but got min {low} and max {high}")
    return low, high


def histogram(
    self: Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements, or which weights, are in each of ``bins`` parts of a range; and the parts' ends."""

    if not self.is_floating_point():
        raise NotImplementedError(f"histogram() is not implemented for {self.dtype}")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if range is not None and len(range) != 2:
        raise RuntimeError(f"torch.histogram(): range should have 2 elements, but got {len(range)}")
    low, high = _ends(self, range, 0.5, "torch.histogram(): min should not exceed max")
    edges = ops.aten.linspace(low, high, bins + 1, dtype=self.dtype)
    return histogram_of(self, edges, weight=weight, density=density)


def histogram_of(
    self: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """As `histogram`, between ends that are given."""
    for name, other in (("bins tensors", bins), ("weight tensor", weight)):
        if other is not None and other.dtype is not self.dtype:
            raise RuntimeError(
                f"torch.histogram(): input tensor and {name} should have the same dtype, but got {self.dtype} and "
                f"{other.dtype}"
            )
    if bins.dim() != 1:
        raise RuntimeError(f"torch.histogram(): bins tensor should have one dimension, but got {bins.dim()}")
    if not bins.numel():
        raise RuntimeError("torch.histogram(): bins tensor should have at least 1 element")
    if bins.numel() == 1:
        raise RuntimeError("torch.histogram(): bins must be > 0, but got 0 for dimension 0")
    if weight is not None and weight.shape != self.shape:
        raise RuntimeError(
            "torch.histogram(): if weight tensor is provided it should have the same shape as the input tensor "
            "excluding its innermost dimension"
        )
    if self.dtype not in (_F32, _F64):
        raise NotImplementedError(f"histogram() is not implemented for {self.dtype}")
    return binned(as_array(self).reshape((-1, 1)), weight, [bins], density, self.dtype), bins.clone()


def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """``v`` over its norm of each index of a dimension, or of all of it for -1, times ``g``."""
    kept = [d for d in range(v.dim()) if d != dim]
    result: Tensor = v * (g / ops.aten.linalg_vector_norm(v, 2, kept, dim != -1))
    return result
