"""Functions of the top level that are composed of operators: ``torch.allclose``, ``torch.var``, ``torch.norm``, ..."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any

from . import _core
from ._argument_types import check_number, checks_types, names_wrong_types
from ._core import Tensor
from ._core import dtype as DType
from ._frames import user_stacklevel
from ._narrow_dtypes import widened
from ._numbers import PYTHON_TYPES, as_element, is_beyond, refuse_too_big
from ._ops import ops
from .overrides import handle_torch_function, overridable

__all__ = [
    "allclose",
    "broadcast_tensors",
    "can_cast",
    "is_complex",
    "is_floating_point",
    "isclose",
    "norm",
    "numel",
    "split",
    "std",
    "var",
]

Dims = int | Sequence[int] | None
Scalar = float | complex
_FLOAT32 = _core.dtypes["float32"]
_LEFT_OUT: Any = object()  # in place of an argument that decides which form of a function is called


def can_cast(from_: DType, to: DType) -> bool:
    """Whether a result of dtype ``from_`` may be stored in ``to``: never into a lower category (float into int)."""
    try:
        return _CATEGORIES[from_] <= _CATEGORIES[to]
    except (KeyError, TypeError):  # types of Python, say
        return (from_ is to and type(to) is DType) or _category("from_", from_) <= _category("to", to)


def _category(name: str, given: Any) -> int:
    """0 for bool, 1 for integers, 2 for floating-point, 3 for complex numbers."""
    dtype = as_dtype("can_cast", name, given)
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else int(dtype is not _core.dtypes["bool"])


def as_dtype(function: str, name: str, given: Any) -> DType:
    """An argument as a dtype: that which a type of Python's stands for."""
    found = PYTHON_TYPES.get(given) if isinstance(given, type) else given
    if not isinstance(found, DType):
        raise TypeError(f"{function}(): argument '{name}' must be torch.dtype, not {type(given).__name__}")
    return found


_CATEGORIES = {dtype: _category("from_", dtype) for dtype in _core.dtypes.values()}


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
    for at, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {at} in argument 0, but got {type(tensor).__name__}")
    shape = _core.broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(tensor.expand(shape) for tensor in tensors)


@checks_types
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether elements are equal, or finite and within atol + rtol * |other|."""
    for place, (name, tolerance) in enumerate((("rtol", rtol), ("atol", atol)), 3):
        check_number("isclose", name, place, tolerance)
    rtol, atol = float(rtol), float(atol)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    close = input == other
    if equal_nan and (input.is_floating_point() or input.is_complex()):
        close = close | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    if not (input.is_floating_point() or input.is_complex()):  # whose difference may be too large for their dtype
        input, other = (tensor.to(_core.get_default_dtype()) for tensor in (input, other))
    distance = (input - other).abs()
    near: Tensor = distance.isfinite() & (distance <= atol + (rtol * other).abs())
    return close | near


@checks_types
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` has it."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@checks_types
def var(
    input: Tensor,
    dim: Dims = _LEFT_OUT,
    unbiased: bool = _LEFT_OUT,
    keepdim: bool = _LEFT_OUT,
    *,
    correction: Scalar | None = _LEFT_OUT,
    out: Tensor | None = None,
) -> Tensor:
    """The variance over dimensions: the squares of the distances to the mean, summed, over n - correction (1).

    Called with ``dim``, ``unbiased`` (False: a correction of 0) and ``keepdim``; with ``unbiased`` alone; or with
    ``correction``, and without ``unbiased``.
    """
    return _variance("var", input, dim, unbiased, keepdim, correction, out)


_REAL = (_core.dtypes["float32"], _core.dtypes["float64"])
_FEW = 1 << 12  # elements, whose variances are computed in one call


@checks_types
def std(
    input: Tensor,
    dim: Dims = _LEFT_OUT,
    unbiased: bool = _LEFT_OUT,
    keepdim: bool = _LEFT_OUT,
    *,
    correction: Scalar | None = _LEFT_OUT,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation over dimensions: the root of `var`, which is called alike."""
    return _variance("std", input, dim, unbiased, keepdim, correction, out)


def _is_seen_by_none(tensor: Tensor) -> bool:
    """Whether a tensor is a plain one that no transform sees."""
    return type(tensor) is Tensor and not _core.running_transform() and not _core.highest_tangent_level((tensor,))


def root_of_square(square: Tensor) -> Tensor:
    """The root, with a gradient of 0 at 0, where a root has no slope but what it is the length of may be 0."""
    zero = square == 0
    result: Tensor = ops.aten.where(zero, 0.0, ops.aten.where(zero, 1.0, square).sqrt())
    return result


def warn_of_freedom(name: str, count: int, fewer: float) -> None:
    """Warns where a variance, of so many elements each, is divided by nothing, or less."""
    if count <= fewer:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            stacklevel=user_stacklevel(),
        )


def _variance(
    name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: Any, correction: Any, out: Tensor | None
) -> Tensor:
    if isinstance(dim, bool) and unbiased is _LEFT_OUT and out is None:  # var(x, unbiased)
        dim, unbiased = _LEFT_OUT, dim
    by_dim = dim is not _LEFT_OUT or keepdim is _LEFT_OUT
    if isinstance(dim, bool) or (unbiased is not _LEFT_OUT and (correction is not _LEFT_OUT or not by_dim)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments; expected one of:\n"
            " * (Tensor input, tuple of ints dim, bool unbiased=True, bool keepdim=False)\n"
            " * (Tensor input, tuple of ints dim=None, *, Number correction=None, bool keepdim=False)\n"
            " * (Tensor input, bool unbiased=True)"
        )
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"std and var only support floating point and complex dtypes, got {input.dtype}")
    fewer = int(unbiased is not False)
    if correction is not _LEFT_OUT and correction is not None:
        check_number(name, "correction", 3, correction)
        fewer = as_element(correction.item() if isinstance(correction, Tensor) else correction, _core.dtypes["float64"])
    if out is not None:
        given = None if dim is _LEFT_OUT else dim
        forms = getattr(ops.aten, name)
        written: Tensor = forms.correction_out(input, given, correction=fewer, keepdim=keepdim is True, out=out)
        return written
    if input.dtype is _core.dtypes["complex32"]:
        halves: Tensor = _variance(name, widened(input), dim, unbiased, keepdim, correction, None).half()
        return halves
    dims = _dims(input, None if dim is _LEFT_OUT else dim)
    if isinstance(dim, (list, tuple)) and len(dim) > 1:
        _refuse_twice(dims, input.dim())
    whole = len(dims) == input.dim() and keepdim is not True and dim is _LEFT_OUT
    if input.dtype in _REAL and 0 < input.numel() < _FEW and input.is_cpu and _is_seen_by_none(input):
        spread = ops.aten.std_mean if name == "std" else ops.aten.var_mean
        given = None if dim is None or dim is _LEFT_OUT else dims
        few: Tensor = spread.correction(input, given, correction=fewer, keepdim=keepdim is True)[0]
        return few
    mean = input.mean() if whole else input.mean(dims, True)
    count = input.numel() if whole else math.prod(input.shape[d] for d in dims) if input.dim() else 1
    if not input.is_meta:
        warn_of_freedom(name, count if mean.numel() else 0, fewer)
    distance = input - mean
    square = distance.abs().square() if distance.is_complex() else distance * distance
    total: Tensor = square.sum() if whole else square.sum(dims, keepdim is True)
    variance = total / max(0, count and count - fewer)
    if name == "var":
        return variance
    unfollowed = not variance.requires_grad and _is_seen_by_none(variance)
    return variance.sqrt() if unfollowed else root_of_square(variance)


@names_wrong_types
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along a dimension, as views: of one size, the last may be smaller, or of the sizes given."""
    if _core.any_overridden((tensor,)):
        found: tuple[Tensor, ...] = handle_torch_function(split, (tensor,), tensor, split_size_or_sections, dim=dim)
        return found
    parts: tuple[Tensor, ...] = tensor.split(split_size_or_sections, dim)
    return parts


def _refuse_twice(dims: Sequence[int], ndim: int) -> None:
    """Raises RuntimeError for a dimension that is there again, before one that is out of range."""
    counted = set()
    for d in dims:
        if not -ndim <= d < ndim:
            return
        if d % ndim in counted:
            raise RuntimeError(f"dim {d % ndim} appears multiple times in the list of dims")
        counted.add(d % ndim)


def _dims(input: Tensor, dim: Any) -> tuple[Any, ...]:
    """The dimensions to go over: all of them where none are given."""
    if isinstance(dim, (list, tuple)):
        return tuple(dim) or tuple(range(input.dim()))
    return tuple(range(input.dim())) if dim is None else (dim,)


@checks_types
def norm(
    input: Tensor,
    p: Any = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: DType | type | None = None,
) -> Tensor:
    """The p-norm over dimensions, computed in ``dtype``: the p-th root of the sum of the p-th powers of magnitudes."""
    into = {} if out is None else {"out": out}
    if p == "nuc":
        both = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
        nuclear: Tensor = ops.aten.linalg_matrix_norm(input, "nuc", both, keepdim, dtype=dtype, **into)
        return nuclear
    result: Tensor
    if (
        (type(p) is int or type(p) is float)
        and p == 2
        and (dim is None or type(dim) is int)
        and dtype is None
        and out is None
        and input.is_floating_point()
        and input.numel() > 1
    ):  # as nearly always
        result = ops.aten.linalg_vector_norm.default(input, 2, None if dim is None else [dim], keepdim)
        return result
    given, order, dims = _of_numbers(input, p, dim, dtype)
    result = ops.aten.linalg_vector_norm(given, order, None if dim is None else list(dims), keepdim, **into)
    return result


def computed_norm(input: Tensor, p: Any, dim: Dims, keepdim: bool, dtype: DType | None) -> Tensor:
    """As `norm`, composed of other operators: without a gradient where that has no slope."""
    input, order, dims = _of_numbers(input, p, dim, dtype)
    if input.is_complex():
        input = input.abs()
    given = input.dtype
    if given.itemsize < 4:  # half precision, whose squares may be beyond it
        input = input.float()
    result = _norm_of_order(input, order, dims, keepdim)
    return result if result.dtype is given or given.is_complex else result.to(given)


def _of_numbers(input: Tensor, p: Any, dim: Any, dtype: Any) -> tuple[Tensor, float, tuple[Any, ...]]:
    """What a norm is taken of, its order, and the dimensions."""
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): Order {p} not supported: expected a number, None or 'fro'")
    if isinstance(p, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if isinstance(p, Tensor) and p.dim() == 0:
        p = p.item()
    if not (p is None or isinstance(p, (Real, str))):
        raise TypeError(
            f"norm(): argument 'p' (position 2) must be Number, None or 'fro', not {type(p).__name__} {p!r}"
        )
    if isinstance(p, int):
        refuse_too_big(p)
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError(f"norm(): Expected a floating point or complex tensor as input. Got {input.dtype}")
    if dtype is not None:
        target = as_dtype("norm", "dtype", dtype)
        _check_widens(input.dtype, target)
        input = input.to(target)
    if not (dim is None or isinstance(dim, (int, Sequence))):
        raise TypeError(f"norm(): argument 'dim' must be int or tuple of ints, not {type(dim).__name__}")
    order: float = p if isinstance(p, int) else float(p) if isinstance(p, Real) else 2
    dims = _dims(input, dim)
    if not input.numel():
        order = _order_of_nothing(input, dims, order)
    elif order and (input.dim() == 0 or all(input.size(d) == 1 for d in dims)):
        order = 1.0  # of one element, whatever the order
    return input, order, dims


def _norm_of_order(input: Tensor, order: float, dims: tuple[Any, ...], keepdim: bool) -> Tensor:
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
        if input.dtype is _FLOAT32 and is_beyond(order, _FLOAT32):  # there it is infinite, and its inverse 0
            order = math.copysign(math.inf, order)
        result = input.abs().pow(order).sum(dims, keepdim).pow(1 / order)
    return result


def _order_of_nothing(input: Tensor, dims: tuple[Any, ...], order: float) -> float:
    """An order whose norm over no elements is 0, as all are that exist; raises RuntimeError for one that does not."""
    if order < 0 or math.isinf(order):
        for d in dims:
            if input.size(d) == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {order:g} norm on the dimension {d} because this dimension "
                    "is empty and the operation does not have an identity"
                )
    return 1.0


def _check_widens(given: DType, dtype: DType) -> None:
    """Refuses a dtype that a norm is not computed in: another kind of number, or one that loses digits of the input."""
    if not dtype.is_floating_point and not dtype.is_complex:
        raise RuntimeError(f"norm(): dtype should be floating point or complex, but got {dtype}")
    if dtype.is_complex != given.is_complex:
        kind = "complex" if given.is_complex else "real"
        raise RuntimeError(f"norm(): dtype should be {kind} for {kind} inputs, but got {dtype}")
    if _core.promote_types(given, dtype) is not dtype:
        raise RuntimeError(
            f"norm(): the dtype of the input ({given}) should be convertible without narrowing to the specified dtype "
            f"({dtype})"
        )


for _function in (allclose, isclose, norm, std, var):
    _core.install_method(_function.__name__, _core.overridable(_function))


_HOMES = {"broadcast_tensors": "functional", "norm": "functional", "split": "functional"}
globals().update(
    {name: overridable(globals()[name], _HOMES.get(name, "")) for name in __all__ if name != "can_cast"}
)  # which takes no tensor
