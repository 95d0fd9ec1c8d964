"""Pooling as functions, each the operator of its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._ops import ops

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Ints = int | Sequence[int]


# ---------------------------------------------------------------- the largest of windows
def _max_pool(
    dims: int,
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    name = f"max_pool{dims}d_with_indices" if return_indices else f"max_pool{dims}d"
    return getattr(ops.aten, name)(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


@names_wrong_types
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest elements of windows of (N, C, L) or (C, L); with ``return_indices`` also where they are."""
    aten = ops.aten
    call = aten.max_pool1d_with_indices if return_indices else aten.max_pool1d
    return call(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


@names_wrong_types
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest elements of windows of (N, C, H, W) or (C, H, W); with ``return_indices`` also where they are."""
    aten = ops.aten
    call = aten.max_pool2d_with_indices if return_indices else aten.max_pool2d
    return call(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


@names_wrong_types
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest elements of windows of (N, C, D, H, W) or (C, D, H, W); ``return_indices``: where they are, too."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with where the elements are."""
    result: tuple[Tensor, Tensor] = _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, True)
    return result


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with where the elements are."""
    result: tuple[Tensor, Tensor] = _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)
    return result


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with where the elements are."""
    result: tuple[Tensor, Tensor] = _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, True)
    return result


def _whole_sizes(input: Tensor, output_size: Any, dims: int) -> Any:
    """Sizes of an adaptive pooling's output, the input's own where one is None."""
    if isinstance(output_size, int):
        return [output_size] * dims
    if input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    own = input.shape[input.dim() - len(output_size) :]
    return [n if given is None else given for given, n in zip(output_size, own, strict=True)]


def _adaptive_max_pool(dims: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    found = getattr(ops.aten, f"adaptive_max_pool{dims}d")(input, _whole_sizes(input, output_size, dims))
    return found if return_indices else found[0]


@names_wrong_types
def adaptive_max_pool1d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """The largest elements of so many windows of (N, C, L) or (C, L)."""
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of so many windows of (N, C, H, W) or (C, H, W); None keeps a size."""
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of so many windows of (N, C, D, H, W) or (C, D, H, W); None keeps a size."""
    return _adaptive_max_pool(3, input, output_size, return_indices)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` with where the elements are."""
    result: tuple[Tensor, Tensor] = _adaptive_max_pool(1, input, output_size, True)
    return result


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with where the elements are."""
    result: tuple[Tensor, Tensor] = _adaptive_max_pool(2, input, output_size, True)
    return result


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` with where the elements are."""
    result: tuple[Tensor, Tensor] = _adaptive_max_pool(3, input, output_size, True)
    return result


def _fractional(
    dims: int, input: Tensor, kernel_size: Ints, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = [output_ratio] * dims if isinstance(output_ratio, float | int) else output_ratio
        if len(ratios) > dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(input.size(d - dims) * ratios[d]) for d in range(dims)]
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        samples = ops.aten.rand([batch, input.size(-dims - 1), dims], dtype=input.dtype, device=input.device)
    result: tuple[Tensor, Tensor] = getattr(ops.aten, name)(input, kernel_size, output_size, samples)
    return result


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with where the elements are."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows that begin by chance; the output's size, or its share of the input's."""
    found = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` with where the elements are."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows that begin by chance; the output's size, or its share of the input's."""
    found = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


# ---------------------------------------------------------------- back to where the largest were
def _numbers(numbers: Ints, dims: int) -> list[int]:
    return [numbers] * dims if isinstance(numbers, int) else list(numbers)


def _unpooled_sizes(
    input: Tensor, kernel: list[int], stride: list[int], padding: list[int], output_size: Any
) -> list[int]:
    """The size that was pooled, which is not certain: a size that is given must be near what the numbers say."""
    dims = len(kernel)
    usual = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(input.shape[-dims:], kernel, stride, padding, strict=True)]
    if output_size is None:
        return usual
    sizes = list(output_size)
    if len(sizes) == dims + 2:
        sizes = sizes[2:]
    if len(sizes) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(sizes)}'"
        )
    for n, size, s in zip(usual, sizes, stride, strict=True):
        if not n - s < size < n + s:
            raise ValueError(
                f"invalid output_size '{sizes}' (each must be less than a stride from '{usual}', here {n - s} < {size} "
                f"< {n + s} does not hold)"
            )
    return sizes


def _max_unpool(
    dims: int, input: Tensor, indices: Tensor, kernel_size: Ints, stride: Any, padding: Ints, output_size: Any
) -> Tensor:
    kernel, margin = _numbers(kernel_size, dims), _numbers(padding, dims)
    step = kernel if stride is None else _numbers(stride, dims)
    for name, numbers in (("kernel_size", kernel), ("stride", step), ("padding", margin)):
        if len(numbers) != dims:  # the classes are PyTorch's
            error = RuntimeError if len(kernel) < dims else IndexError
            raise error(f"max_unpool{dims}d: {name} must be one number or {dims}, got {len(numbers)}")
    sizes = _unpooled_sizes(input, kernel, step, margin, output_size)
    result: Tensor
    if dims == 3:
        result = ops.aten.max_unpool3d(input, indices, sizes, step, margin)
    elif dims == 2:
        result = ops.aten.max_unpool2d(input, indices, sizes)
    else:
        result = ops.aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1]).squeeze(-1)
    return result


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """What `max_pool1d` found put back where it was, and zeros elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """What `max_pool2d` found put back where it was, and zeros elsewhere."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Any = None,
) -> Tensor:
    """What `max_pool3d` found put back where it was, and zeros elsewhere."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


# ---------------------------------------------------------------- means and norms of windows
def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Means of windows of (N, C, L) or (C, L)."""
    result: Tensor = ops.aten.avg_pool1d(
        input, kernel_size, [] if stride is None else stride, padding, ceil_mode, count_include_pad
    )
    return result


def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Means of windows of (N, C, H, W) or (C, H, W); ``divisor_override`` divides their sums instead."""
    step = [] if stride is None else stride
    result: Tensor
    if out is None:  # a call as usual makes no tuple of its arguments
        result = ops.aten.avg_pool2d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)
    else:
        result = ops.aten.avg_pool2d.out(
            input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override, out=out
        )
    return result


def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Means of windows of (N, C, D, H, W) or (C, D, H, W); ``divisor_override`` divides their sums instead."""
    strides = [] if stride is None else stride
    args = (input, kernel_size, strides, padding, ceil_mode, count_include_pad, divisor_override)
    result: Tensor = ops.aten.avg_pool3d(*args) if out is None else ops.aten.avg_pool3d.out(*args, out=out)
    return result


def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """Means of so many windows of (N, C, L) or (C, L)."""
    result: Tensor = ops.aten.adaptive_avg_pool1d(input, output_size)
    return result


@names_wrong_types
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of so many windows of (N, C, H, W) or (C, H, W); None keeps a size."""
    result: Tensor = ops.aten.adaptive_avg_pool2d(input, _whole_sizes(input, output_size, 2))
    return result


@names_wrong_types
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of so many windows of (N, C, D, H, W) or (C, D, H, W); None keeps a size."""
    result: Tensor = ops.aten.adaptive_avg_pool3d(input, _whole_sizes(input, output_size, 3))
    return result


def _lp_pool(dims: int, input: Tensor, norm_type: float, kernel_size: Ints, stride: Any, ceil_mode: bool) -> Tensor:
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    out = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = math.prod(_numbers(kernel_size, dims))
    found = ops.aten.sign(out) * ops.aten.relu(ops.aten.abs(out))
    result: Tensor = (found * count).pow(1.0 / norm_type)
    return result


@names_wrong_types
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norms of windows of (N, C, L) or (C, L)."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@names_wrong_types
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norms of windows of (N, C, H, W) or (C, H, W)."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@names_wrong_types
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norms of windows of (N, C, D, H, W) or (C, D, H, W)."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
