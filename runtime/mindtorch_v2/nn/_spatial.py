"""Convolution, padding and resampling as functions, each the operator of its name; and those of pooling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from .._frames import user_stacklevel
from .._ops import ops
from . import _pooling
from ._pooling import *  # noqa: F403

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "grid_sample",
    "interpolate",
    "native_channel_shuffle",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
    *_pooling.__all__,
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
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
        align_corners = False
    elif align_corners is None:
        align_corners = False
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(size, list | tuple) and not all(map(_is_whole, size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
            f"with types {list(map(type, size))}"
        )
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
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
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


def _is_whole(size: Any) -> bool:
    return not (isinstance(size, Tensor) and size.is_floating_point()) and hasattr(type(size), "__index__")


def _needed(mode: str) -> str:
    return " or ".join(f"{d + 2}D input" for each, d in _OPERATORS if each == mode)


def _for_each(name: str, given: Any, dims: int) -> Any:
    """A number for each spatial dimension, where one stands for all."""
    if given is None or not isinstance(given, list | tuple):
        return None if given is None else [given] * dims
    if len(given) != dims:
        what = "spatial dimensions" if name == "size" else "scale factors"
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with {dims} and {name} "
            f"of {list(given)}: as many {what} as the input has after its first two dimensions"
        )
    return list(given)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate`, under its older name."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` linearly, the corners aligned."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# ---------------------------------------------------------------- grids
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images (N, C, H, W) at places (N, h, w, 2), or (N, C, D, H, W) at (N, d, h, w, 3); -1 and 1 are the ends."""
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners("grid_sample")
        align_corners = False
    result: Tensor = ops.aten.grid_sampler(
        input, grid, GRID_SAMPLE_INTERPOLATION_MODES[mode], GRID_SAMPLE_PADDING_MODES[padding_mode], align_corners
    )
    return result


def _warn_of_corners(name: str) -> None:
    warnings.warn(
        f"Default {name} and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired.",
        stacklevel=user_stacklevel(),
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Where affine maps (N, 2, 3) or (N, 3, 4) put the places of images of size (N, C, H, W) or (N, C, D, H, W)."""
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
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=user_stacklevel(),
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    result: Tensor = ops.aten.affine_grid_generator(theta, size, align_corners)
    return result
