"""Images sampled at places of a grid, by C++; grids of affine maps; and channels for pixels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_array, as_tensor
from ._composed import leaf_of
from ._native import native

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_F32, _F64, _I64 = (_core.dtypes[name] for name in ("float32", "float64", "int64"))


# ---------------------------------------------------------------- where a place lies
def _reflected(place: Any, size: int, align: bool) -> tuple[Any, Any]:
    """Places beyond an end as far within, and the sign of their slope."""
    import numpy as np

    low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(place), np.zeros_like(place)
    distance = place - low
    sign = np.where(distance < 0, -1.0, 1.0).astype(place.dtype)
    distance = np.abs(distance)
    rest = np.fmod(distance, span)
    odd = np.floor(distance / span) % 2 == 1
    return np.where(odd, span - rest, rest) + low, np.where(odd, -sign, sign)


def _bounded(place: Any, size: int, padding: int, align: bool) -> tuple[Any, Any]:
    """Places moved into the image as the padding says, and their slope."""
    import numpy as np

    slope = np.ones_like(place)
    if padding == _REFLECTION:
        place, slope = _reflected(place, size, align)
    if padding != _ZEROS:
        slope = np.where((place <= 0) | (place >= size - 1), 0, slope)
        place = np.clip(np.nan_to_num(place, nan=0), 0, size - 1)
    return np.where(np.isfinite(place) & (np.abs(place) < 2**31), place, -100), slope


class _Axis:
    """For one dimension: the elements that each place of the grid takes, and the share of the way to the next one."""

    def __init__(self, grid: Any, size: int, mode: int, padding: int, align: bool) -> None:
        import numpy as np

        half = (size - 1) / 2 if align else size / 2
        place = (grid + 1) * grid.dtype.type(half) - grid.dtype.type(0 if align else 0.5)
        if mode == _CUBIC:
            place = np.where(np.isfinite(place) & (np.abs(place) < 2**31), place, -100)
            slope = np.ones_like(place)
        else:
            place, slope = _bounded(place, size, padding, align)
        low = np.rint(place) if mode == _NEAREST else np.floor(place)
        share = place - low
        steps, _ = _WEIGHTS[mode](share)
        self.slope = slope * grid.dtype.type(half)  # of the share along the grid, in whose numbers it is linear
        self.shift = share - grid * self.slope
        indices = [low + step for step in steps]
        if mode == _CUBIC and padding != _ZEROS:
            indices = [_bounded(index, size, padding, align)[0] for index in indices]
        self.inside = [(index >= 0) & (index < size) for index in indices]
        self.indices = [np.clip(index, 0, size - 1).astype("int64") for index in indices]


# Of a share of the way from one element to the next, an array or a tensor: which elements are taken, counted from the
# one, and their weights.
def _linear(share: Any) -> tuple[Any, Any]:
    return (0, 1), (1 - share, share)


def _nearest(share: Any) -> tuple[Any, Any]:
    return (0,), (share * 0 + 1,)


def _cubic(share: Any) -> tuple[Any, Any]:
    a = -0.75
    weights = []
    for step in (-1, 0, 1, 2):
        x = share - step if step <= 0 else step - share
        if step in (0, 1):
            weights.append(((a + 2) * x - (a + 3)) * x * x + 1)
        else:
            weights.append(((a * x - 5 * a) * x + 8 * a) * x - 4 * a)
    return (-1, 0, 1, 2), weights


_WEIGHTS = {_LINEAR: _linear, _NEAREST: _nearest, _CUBIC: _cubic}


# ---------------------------------------------------------------- sampling
def _check(input: Tensor, grid: Tensor, mode: int) -> None:
    shown = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} and grid has "
            f"{grid.dtype}"
        )
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but {shown}")
    if grid.dim() and grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but {shown}")
    dims = 4 if input.dim() == 4 else 5
    if input.dim() != dims or grid.dim() != dims:
        raise RuntimeError(
            f"grid_sampler(): expected {dims}D input and grid with same number of dimensions, but {shown}"
        )
    if input.dim() == 5 and mode == _CUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point():
        raise NotImplementedError(f"grid_sampler() is not implemented for {input.dtype}")


def _float(tensor: Tensor) -> Any:
    import numpy as np

    array = as_array(tensor)
    return array if array.dtype == np.float64 else array.astype("float32")


def _axes(input: Tensor, grid: Any, mode: int, padding: int, align: bool) -> list[_Axis]:
    """One for each dimension of the image, the grid's last number being for the first of them."""
    dims = input.dim() - 2
    return [_Axis(grid[..., dims - 1 - at], input.shape[2 + at], mode, padding, align) for at in range(dims)]


def _corners(axes: list[_Axis], sizes: Sequence[int]) -> Any:
    """Each element that a place takes: its number in the image, whether it is there, and its tap of each axis."""
    import numpy as np

    for taps in itertools.product(*(range(len(axis.indices)) for axis in axes)):
        index = np.zeros_like(axes[0].indices[0])
        inside = np.ones(index.shape, "bool")
        for axis, tap, size in zip(axes, taps, sizes, strict=True):
            index = index * size + axis.indices[tap]
            inside &= axis.inside[tap]
        yield index, inside, taps


_COUNTED = 2**31  # elements of an image of float32, which C++ counts by 32 bits


def _is_large(input: Tensor) -> bool:
    """Whether an image has more elements than C++ counts."""
    return math.prod(input.shape[2:]) >= _COUNTED


def _wide(input: Tensor) -> Any:
    """What an image is computed in."""
    return _F64 if input.dtype is _F64 or _is_large(input) else _F32


def grid_sampler_nd(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """The image (N, C, ...) at the places (N, ..., dims) of a grid, -1 and 1 being its ends."""
    _check(input, grid, interpolation_mode)
    shape = (*input.shape[:2], *grid.shape[1:-1])
    if input.is_meta or input.numel() == 0 or grid.numel() == 0:
        nothing: Tensor = _core.alloc(shape, input.dtype, input.device)
        return nothing if input.is_meta else nothing.zero_()
    if _is_large(input) and input.dtype is _F32:  # by operators, which need no copy of it
        composed: Tensor = _composed(input, grid, interpolation_mode, padding_mode, align_corners)
        return composed
    wide = _wide(input)
    image, places = (t.to(wide).contiguous() for t in (input, grid))
    found = _core.alloc(shape, wide, input.device)
    kernel = native("mt_grid_sample", *["desc"] * 3, *["i64"] * 3)
    kernel(image, places, found, interpolation_mode, padding_mode, align_corners)
    result: Tensor = found.to(input.dtype)
    return result


def grid_sampler_nd_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor]:
    """The gradients of the image, where the mask asks for it, and of the grid."""
    _check(input, grid, interpolation_mode)
    wide = input.dtype if input.is_meta else _wide(input)
    of_input = _core.alloc(input.shape, wide, input.device) if output_mask[0] else None
    of_grid = _core.alloc(grid.shape, wide, grid.device)
    if input.is_meta:
        return of_input, of_grid
    if input.numel() == 0 or grid.numel() == 0:
        return None if of_input is None else of_input.zero_().to(input.dtype), of_grid.zero_().to(input.dtype)
    given = [t.to(wide).contiguous() for t in (grad_output, input, grid)]
    types = (*["desc"] * 4, *["i64"] * 3)
    modes = interpolation_mode, padding_mode, align_corners
    if interpolation_mode == _NEAREST:
        of_grid.zero_()
    else:
        native("mt_grid_sample_of_grid", *types)(*given, of_grid, *modes)
    if of_input is None:
        return None, of_grid.to(input.dtype)
    native("mt_grid_sample_of_image", *types)(*given, of_input, *modes)
    return of_input.to(input.dtype), of_grid.to(input.dtype)


def _composed(input: Tensor, grid: Tensor, mode: int, padding: int, align: bool) -> Tensor:
    """What `grid_sampler_nd` computes, of operators, whose gradients of any order are known."""
    batch, channels, sizes = input.shape[0], input.shape[1], tuple(input.shape[2:])
    image = input.reshape((batch, channels, math.prod(sizes)))
    places = grid.reshape((batch, math.prod(grid.shape[1:-1]), len(sizes)))
    axes = _axes(input, _float(places.detach()), mode, padding, align)
    weights = []
    for at, axis in enumerate(axes):
        slope, shift = (as_tensor(part, grid.dtype) for part in (axis.slope, axis.shift))
        weights.append(_WEIGHTS[mode](places.select(-1, len(sizes) - 1 - at) * slope + shift)[1])
    total = 0
    for index, inside, taps in _corners(axes, sizes):
        weight = as_tensor(inside, grid.dtype)
        for axis_weights, tap in zip(weights, taps, strict=True):
            weight = weight * axis_weights[tap]
        at = as_tensor(index, _I64).unsqueeze(1).expand((batch, channels, index.shape[1]))
        total = total + image.gather(2, at) * weight.unsqueeze(1)
    result: Tensor = total.reshape((*input.shape[:2], *grid.shape[1:-1]))  # type: ignore[attr-defined]
    return result


def grid_sampler_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    grad, input, grid, *ctx.modes, _mask = inputs
    ctx.save_for_backward(grad, input, grid)


def grid_sampler_backward_gradient(ctx: Any, of_input: Tensor | None, of_grid: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the gradients, those of the sampler composed of operators."""
    again = _core.is_grad_enabled()
    _core.set_grad_enabled_(True)
    try:
        given = tuple(t if t.requires_grad else leaf_of(t) for t in ctx.saved_tensors)
        sampled = _composed(given[1], given[2], *ctx.modes)
        first = _core.run_backward((sampled,), (given[0],), True, True, given[1:], False)
        pairs = [(t, g) for t, g in zip(first, (of_input, of_grid), strict=True) if g is not None and t.requires_grad]
        if not pairs:
            return (None,) * 7
        outputs, starts = (tuple(pair[at] for pair in pairs) for at in (0, 1))
        found = _core.run_backward(outputs, starts, again, again, given, True)
    finally:
        _core.set_grad_enabled_(again)
    return (*(g if asked else None for g, asked in zip(found, ctx.needs_input_grad[:3], strict=True)), *[None] * 4)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler_2d` or `grid_sampler_3d`."""
    _check(input, grid, interpolation_mode)
    sampler = ops.aten.grid_sampler_2d if input.dim() == 4 else ops.aten.grid_sampler_3d
    result: Tensor = sampler(input, grid, interpolation_mode, padding_mode, align_corners)
    return result


def grid_sampler_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    input, grid, *ctx.modes = inputs
    ctx.save_for_backward(input, grid)


def _grid_sampler_gradient(dims: int) -> Any:
    def gradient(ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
        if grad is None:
            return (None,) * 5
        input, grid = ctx.saved_tensors
        mask = list(ctx.needs_input_grad[:2])
        backward = getattr(ops.aten, f"grid_sampler_{dims}d_backward")
        of_input, of_grid = backward(grad, input, grid, *ctx.modes, mask)
        return of_input if mask[0] else None, of_grid if mask[1] else None, None, None, None

    return gradient


grid_sampler_2d_gradient, grid_sampler_3d_gradient = _grid_sampler_gradient(2), _grid_sampler_gradient(3)


# ---------------------------------------------------------------- grids of affine maps
def _base_grid(like: Tensor, size: Sequence[int], align: bool) -> Tensor:
    """The places of an image's elements, (..., dims + 1): the last number of each is 1."""
    aten = ops.aten
    sizes = list(size[2:])
    axes = []
    for at, n in enumerate(sizes):
        line = aten.linspace(-1, 1, n, dtype=like.dtype, device=like.device) if n > 1 else like.new_zeros((n,))
        if not align:
            line = line * (n - 1) / n
        axes.append(line.reshape([n if k == at else 1 for k in range(len(sizes))]).expand(sizes))
    result: Tensor = aten.stack([*reversed(axes), like.new_ones(sizes)], -1)
    return result


def _rows(like: Tensor, size: Sequence[int], align: bool, dims: int) -> Tensor:
    base = _base_grid(like, size, align).reshape((-1, dims + 1))
    rows: Tensor = base.unsqueeze(0).expand((size[0], *base.shape))
    return rows


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Where affine maps (N, dims, dims + 1) put the places of images of a size (N, C, ...): (N, ..., dims)."""
    dims = len(size) - 2
    if dims not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if tuple(theta.shape) != (size[0], dims, dims + 1):
        raise RuntimeError(
            f"Expected a batch of affine matrices of shape {size[0]}x{dims}x{dims + 1} for size {list(size)}, but got "
            f"{list(theta.shape)}"
        )
    rows = _rows(theta, size, align_corners, dims)
    result: Tensor = ops.aten.bmm(rows, theta.transpose(1, 2)).reshape((size[0], *size[2:], dims))
    return result


def affine_grid_generator_backward(grad: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The gradient of the maps."""
    dims = len(size) - 2
    rows = _rows(grad, size, align_corners, dims)
    result: Tensor = ops.aten.bmm(rows.transpose(1, 2), grad.reshape((size[0], -1, dims))).transpose(1, 2)
    return result


# ---------------------------------------------------------------- channels for pixels
def _arranged(parts: Tensor, order: Sequence[int], shape: Sequence[int]) -> Tensor:
    """A new tensor of a shape, with the dimensions of another one in an order."""
    result = _core.alloc(shape, parts.dtype, parts.device)
    if not parts.is_meta:
        result.view([parts.shape[d] for d in order]).copy_(parts.permute(order))
    return result


def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""
    r = upscale_factor
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if r * r >= 1 << 63:
        raise ValueError(f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={r}")
    *batch, channels, height, width = self.shape
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    split = self.reshape((*batch, channels // (r * r), r, r, height, width))
    n = len(batch)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _arranged(split, order, (*batch, channels // (r * r), height * r, width * r))


def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""
    r = downscale_factor
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = self.shape
    for name, n in (("height", height), ("width", width)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size("
                f"{-2 if name == 'height' else -1})={n} is not divisible by {r}"
            )
    split = self.reshape((*batch, channels, height // r, r, width // r, r))
    n = len(batch)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _arranged(split, order, (*batch, channels * r * r, height // r, width // r))


def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    """(N, groups * K, ...) with the groups' channels one by one in turn."""
    if self.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *sizes = self.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = self.reshape((batch, groups, channels // groups, *sizes))
    return _arranged(split, (0, 2, 1, *range(3, split.dim())), self.shape)
