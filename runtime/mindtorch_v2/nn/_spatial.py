"""Convolution, pooling, padding and resampling as functions, each the operator of its name."""

from __future__ import annotations

import math
import warnings
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
    "affine_grid",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "grid_sample",
    "interpolate",
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
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

Ints = int | Sequence[int]


# ---------------------------------------------------------------- convolution
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of (N, C, L) or (C, L) with filters (filters, C / groups, taps); padding may be 'valid' or 'same'."""
    result: Tensor = ops.aten.conv1d(input, weight, bias, stride, padding, dilation, groups)
    return result


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of (N, C, H, W) or (C, H, W) with filters (filters, C / groups, h, w)."""
    result: Tensor = ops.aten.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return result


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of (N, C, D, H, W) or (C, D, H, W) with filters (filters, C / groups, d, h, w)."""
    result: Tensor = ops.aten.conv3d(input, weight, bias, stride, padding, dilation, groups)
    return result


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of (N, C, L) or (C, L) with filters (C, filters / groups, taps)."""
    result: Tensor = ops.aten.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return result


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of (N, C, H, W) or (C, H, W) with filters (C, filters / groups, h, w)."""
    result: Tensor = ops.aten.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return result


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Tensor:
    """Transposed convolution of (N, C, D, H, W) or (C, D, H, W) with filters (C, filters / groups, d, h, w)."""
    result: Tensor = ops.aten.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return result


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over time of (T, N, C) with (taps, C, filters)."""
    result: Tensor = ops.aten.conv_tbc(input, weight, bias, pad)
    return result


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
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


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
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


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
    """The largest elements of windows of (N, C, D, H, W) or (C, D, H, W); with ``return_indices`` also where they are."""
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
        output_size = [int(n * ratio) for n, ratio in zip(input.shape[-dims:], ratios, strict=True)]
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
                f"invalid output_size '{sizes}' (each must be less than a stride from '{usual}', here {n - s} < {size} < "
                f"{n + s} does not hold)"
            )
    return sizes


def _max_unpool(
    dims: int, input: Tensor, indices: Tensor, kernel_size: Ints, stride: Any, padding: Ints, output_size: Any
) -> Tensor:
    kernel, margin = _numbers(kernel_size, dims), _numbers(padding, dims)
    step = kernel if stride is None else _numbers(stride, dims)
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
    strides = [] if stride is None else stride
    args = (input, kernel_size, strides, padding, ceil_mode, count_include_pad, divisor_override)
    result: Tensor = ops.aten.avg_pool2d(*args) if out is None else ops.aten.avg_pool2d.out(*args, out=out)
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


# ---------------------------------------------------------------- padding and patches
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """More elements before and after each of the last dimensions, a pair for each, that of the last one first.

    The mode is ``constant`` (``value``, 0 by default; negative widths take away), ``reflect``, ``replicate`` or
    ``circular``.
    """
    result: Tensor = ops.aten.pad(input, pad, mode, value)
    return result


def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """Patches of (N, C, H, W) or (C, H, W) as columns, (N, C * kernel, patches)."""
    result: Tensor = ops.aten.im2col(input, kernel_size, dilation, padding, stride)
    return result


def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Columns as `unfold` makes them added to where the patches lie."""
    result: Tensor = ops.aten.col2im(input, output_size, kernel_size, dilation, padding, stride)
    return result


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""
    result: Tensor = ops.aten.pixel_shuffle(input, upscale_factor)
    return result


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""
    result: Tensor = ops.aten.pixel_unshuffle(input, downscale_factor)
    return result


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of (N, groups * K, ...) with those of the groups in turn."""
    result: Tensor = ops.aten.channel_shuffle(input, groups)
    return result


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle`."""
    result: Tensor = ops.aten.native_channel_shuffle(input, groups)
    return result


# ---------------------------------------------------------------- resampling
# By mode and dimensions: the operator, and whether it has align_corners.
_OPERATORS = {
    ("nearest", 1): ("upsample_nearest1d", False),
    ("nearest", 2): ("upsample_nearest2d", False),
    ("nearest", 3): ("upsample_nearest3d", False),
    ("nearest-exact", 1): ("_upsample_nearest_exact1d", False),
    ("nearest-exact", 2): ("_upsample_nearest_exact2d", False),
    ("nearest-exact", 3): ("_upsample_nearest_exact3d", False),
    ("linear", 1): ("upsample_linear1d", True),
    ("bilinear", 2): ("upsample_bilinear2d", True),
    ("bicubic", 2): ("upsample_bicubic2d", True),
    ("trilinear", 3): ("upsample_trilinear3d", True),
}
_ANTIALIASED = {
    "bilinear": "_upsample_bilinear2d_aa",
    "bicubic": "_upsample_bicubic2d_aa",
    "lanczos": "_upsample_lanczos2d_aa",
}
_UNALIGNED = ("nearest", "area", "nearest-exact")


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """An image (N, C, ...) of another size, or a multiple of its size.

    The mode is ``nearest``, ``nearest-exact``, ``area``, ``linear`` (3 dimensions), ``bilinear``, ``bicubic`` (4) or
    ``trilinear`` (5). Raises ValueError for a size and a factor, or none, and NotImplementedError for a mode that does
    not go with so many dimensions.
    """
    if mode in _UNALIGNED:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
        align_corners = False
    elif align_corners is None:
        align_corners = False
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    sizes, factors = _for_each("size", size, dims), _for_each("scale_factor", scale_factor, dims)
    if recompute_scale_factor and sizes is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and sizes is None:
        recompute_scale_factor = True
    if recompute_scale_factor and factors is not None:
        sizes, factors = [math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True)], None
    if antialias and not (mode in _ANTIALIASED and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    aten = ops.aten
    result: Tensor
    if mode == "area" and dims in (1, 2, 3):
        result = getattr(aten, f"adaptive_avg_pool{dims}d")(input, sizes)
        return result
    if antialias:
        result = getattr(aten, _ANTIALIASED[mode])(input, sizes, align_corners, factors)
        return result
    if (mode, dims) not in _OPERATORS:
        modes = sorted({each for each, _ in _OPERATORS})
        fitting = [each for each, d in _OPERATORS if d == dims]
        if dims in (1, 2, 3) and mode in modes:
            raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_needed(mode)}")
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: {' | '.join(fitting or modes)} (got {mode})"
        )
    name, aligns = _OPERATORS[mode, dims]
    result = getattr(aten, name)(input, sizes, *([align_corners] if aligns else []), factors)
    return result


def _needed(mode: str) -> str:
    return " or ".join(f"{d + 2}D input" for each, d in _OPERATORS if each == mode)


def _for_each(name: str, given: Any, dims: int) -> Any:
    """A number for each spatial dimension, where one stands for all."""
    if given is None or not isinstance(given, list | tuple):
        return None if given is None else [given] * dims
    if len(given) != dims:
        what = "spatial dimensions" if name == "size" else "scale factors"
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with {dims} and {name} of "
            f"{list(given)}: as many {what} as the input has after its first two dimensions"
        )
    return list(given)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate`, under its older name."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", FutureWarning, stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` linearly, the corners aligned."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ---------------------------------------------------------------- grids
_SAMPLINGS = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images (N, C, H, W) at places (N, h, w, 2), or (N, C, D, H, W) at (N, d, h, w, 3); -1 and 1 are the ends."""
    if mode not in _SAMPLINGS:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners("grid_sample")
        align_corners = False
    result: Tensor = ops.aten.grid_sampler(input, grid, _SAMPLINGS[mode], _PADDINGS[padding_mode], align_corners)
    return result


def _warn_of_corners(name: str) -> None:
    warnings.warn(
        f"Default {name} and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired.",
        stacklevel=3,
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Where affine maps (N, 2, 3) put the places of images of size (N, C, H, W), or (N, 3, 4) those of (N, C, D, H, W)."""
    if align_corners is None:
        _warn_of_corners("grid_sample")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{list(size)}."
        )
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {list(size)}. Got "
            f"{list(theta.shape)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    result: Tensor = ops.aten.affine_grid_generator(theta, size, align_corners)
    return result
