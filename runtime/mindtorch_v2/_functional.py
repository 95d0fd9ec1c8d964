"""Functions of the top level that are composed of operators: ``torch.allclose``, ``torch.var``, ``torch.norm``, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._argument_types import check_flag, names_wrong_types
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
    if not isinstance(other, Tensor):
        raise TypeError(f"isclose(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
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
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool | None = None,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over dimensions: the squares of the distances to the mean, summed, over n - correction (1).

    ``unbiased`` is the older word: True for a correction of 1, False for 0; it goes with ``dim``, or alone.
    """
    return _variance("var", input, dim, unbiased, keepdim, correction)


@names_wrong_types
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool | None = None,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over dimensions: the root of `var`."""
    result: Tensor = _variance("std", input, dim, unbiased, keepdim, correction).sqrt()
    return result


def _variance(name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: Any, correction: Any) -> Tensor:
    for flag, value in (("unbiased", unbiased), ("keepdim", keepdim)):
        if value is not None:
            check_flag(name, flag, value)
    if isinstance(dim, bool):  # torch.var(x, unbiased)
        if unbiased is not None or keepdim is not None:
            raise TypeError(f"{name}(): a dimension is no bool: as the only argument one stands for `unbiased`")
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}(): `unbiased` and `correction` say the same: give one of them")
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"{name}(): std and var only support floating point and complex dtypes, not {input.dtype}")
    mean = input.mean(dim, True)
    count = input.numel() // max(mean.numel(), 1) if input.numel() else _count(input, mean)
    fewer = correction if correction is not None else int(unbiased is not False)
    distance = input - mean
    result: Tensor = (distance * distance).sum(dim, bool(keepdim)) / max(count - fewer, 0)
    return result


def _count(input: Tensor, mean: Tensor) -> int:
    """How many elements each mean is of, where there are none at all."""
    return math.prod(size for size, kept in zip(input.shape, mean.shape, strict=True) if size != kept)


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
