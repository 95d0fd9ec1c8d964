"""Functions of the top level that are composed of operators: ``torch.allclose``, ``torch.var``, ``torch.norm``, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._argument_types import names_wrong_types
from ._core import Tensor
from ._core import dtype as DType
from ._ops import ops

__all__ = [
    "allclose",
    "broadcast_tensors",
    "can_cast",
    "is_complex",
    "is_floating_point",
    "isclose",
    "norm",
    "numel",
    "std",
    "var",
]

Dims = int | Sequence[int] | None


def can_cast(from_: DType, to: DType) -> bool:
    """Whether a result of dtype ``from_`` may be stored in ``to``: never into a lower category (float into int)."""
    try:
        return _category(from_) <= _category(to)
    except AttributeError:
        got = f"{type(from_).__name__} and {type(to).__name__}"
        raise TypeError(f"can_cast(): both arguments must be torch.dtype, not {got}") from None


def _category(dtype: DType) -> int:
    """0 for bool, 1 for integers, 2 for floating-point, 3 for complex numbers."""
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else int(dtype is not _core.dtypes["bool"])


@names_wrong_types
def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's dtype is floating-point."""
    return input.is_floating_point()


@names_wrong_types
def is_complex(input: Tensor) -> bool:
    """Whether a tensor's dtype is complex."""
    return input.is_complex()


@names_wrong_types
def numel(input: Tensor) -> int:
    """The number of a tensor's elements."""
    return input.numel()


@names_wrong_types
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of the tensors in the shape that all broadcast to."""
    shape = _core.broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(tensor.expand(shape) for tensor in tensors)


@names_wrong_types
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether elements are equal, or finite and within atol + rtol * |other|."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    if not isinstance(equal_nan, bool):
        raise TypeError(f"equal_nan must be bool, not {type(equal_nan).__name__}")
    close = input == other
    if equal_nan and input.is_floating_point():
        close = close | (input.isnan() & other.isnan())
    if (rtol == 0 and atol == 0) or input.dtype is _core.dtypes["bool"]:
        return close
    distance = (input - other).abs()
    near: Tensor = distance.isfinite() & (distance <= atol + (rtol * other).abs())
    return close | near


@names_wrong_types
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` has it."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@names_wrong_types
def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """The variance over dimensions: the squares of the distances to the mean, summed, over n - correction (1)."""
    if isinstance(dim, bool):  # torch.var(x, unbiased)
        dim, unbiased = None, dim
    dims = tuple(range(input.dim())) if dim is None else tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
    mean = input.mean(dims, True)
    count = math.prod(input.shape[d] for d in dims)
    fewer = correction if correction is not None else int(unbiased)
    distance = input - mean
    result: Tensor = (distance * distance).sum(dims, keepdim) / max(count - fewer, 0)
    return result


@names_wrong_types
def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """The standard deviation over dimensions: the root of `var`."""
    result: Tensor = var(input, dim, unbiased, keepdim, correction=correction).sqrt()
    return result


@names_wrong_types
def norm(input: Tensor, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The p-norm over dimensions: the p-th root of the sum of the p-th powers of magnitudes."""
    if not (p is None or isinstance(p, (int, float)) or (isinstance(p, str) and p == "fro")):
        raise TypeError(
            f"norm(): argument 'p' (position 2) must be Number, None or 'fro', not {type(p).__name__} {p!r}"
        )
    order = float(p) if isinstance(p, (int, float)) else 2.0
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"norm(): Expected a floating point or complex tensor as input. Got {input.dtype}")
    dims: Dims = list(range(input.dim())) if dim is None else dim
    result: Tensor
    if math.isinf(order):
        result = input.abs().amax(dims, keepdim) if order > 0 else input.abs().amin(dims, keepdim)
    elif order == 0:
        result = ops.aten.where(input != 0, 1.0, input * 0).sum(dims, keepdim)  # differentiable: its gradient is 0
    elif order == 1:
        result = input.abs().sum(dims, keepdim)
    elif order == 2:
        result = (input * input).sum(dims, keepdim).sqrt()
    else:
        result = input.abs().pow(order).sum(dims, keepdim).pow(1 / order)
    return result


for _function in (allclose, isclose, norm, std, var):
    _core.install_method(_function.__name__, _core.overridable(_function))
