"""Images made larger or smaller: by the nearest element, linearly, by cubic curves, or against aliases by a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from .._type_info import channels_last, channels_last_3d
from . import _moves, _taps
from ._moves import Moves, added_back, taken
from ._taps import Taps, resampled

_F64, _U8 = (_core.dtypes[name] for name in ("float64", "uint8"))
_AXES = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}


# What makes the moves or taps of a dimension: (size, places, align_corners, scale, in float64).
def _nearest(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Moves:
    return _moves.nearest(size, places, scale)


def _nearest_by_size(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Moves:
    return _moves.nearest_by_size(size, places, scale)


def _is_by_size(input: Tensor, output_size: Sequence[int]) -> bool:
    """Whether PyTorch's kernel for the nearest element goes by sizes, as that of gradients: by channels, or for few."""
    if input.dim() == 3:
        return False
    dense = channels_last if input.dim() == 4 else channels_last_3d
    by_channels = input.shape[1] > 3 and input.is_contiguous(memory_format=dense)
    return by_channels or (input.dim() == 4 and sum(output_size) <= 128)


def _nearest_exact(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Moves:
    return _moves.nearest_exact(size, places, scale)


def _filtered(filter: str) -> Any:
    def taps(size: int, places: int, align: bool, scale: float | None, wide: bool) -> Taps:
        return _taps.antialiased(filter, size, places, align, scale, wide)

    return taps


def _check_sizes(input_size: Sequence[int], output_size: Sequence[int], dims: int) -> None:
    if len(output_size) != dims:
        raise RuntimeError(f"It is expected output_size equals to {dims}, but got size {len(output_size)}")
    if len(input_size) != dims + 2:
        raise RuntimeError(f"It is expected input_size equals to {dims + 2}, but got size {len(input_size)}")
    if min(*input_size[2:], *output_size) <= 0:
        shown = [
            ", ".join(f"{axis}: {n}" for axis, n in zip(_AXES[dims], sizes, strict=True))
            for sizes in (input_size[2:], output_size)
        ]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({shown[0]}) output ({shown[1]})"
        )


def _all_taps(
    make: Any, input_size: Sequence[int], output_size: Sequence[int], align: bool, scales: Sequence[Any], wide: bool
) -> list[Any]:
    numbers = zip(input_size[2:], output_size, scales, strict=True)
    return [make(n, m, bool(align), scale, wide) for n, m, scale in numbers]


def _check_dtype(name: str, input: Tensor, integers: bool) -> None:
    if not (input.is_floating_point() or (integers and input.dtype is _U8)):
        raise NotImplementedError(f'"{name}" not implemented for {input.dtype}')


def _pair(name: str, make: Any, dims: int, aligns: bool) -> tuple[Any, Any]:
    """The functions that resample and that take gradients back, of images of so many dimensions."""

    def split(rest: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
        align, scales = (rest[0], rest[1:]) if aligns else (False, rest)
        return align, (*scales, *[None] * (dims - len(scales)))

    def forward(self: Tensor, output_size: Sequence[int], *rest: Any) -> Tensor:
        align, scales = split(rest)
        if self.dim() != dims + 2 or any(n == 0 for n in self.shape[1:]):
            if len(output_size) == dims and self.dim() == dims + 2:
                _check_sizes(self.shape, output_size, dims)
            raise RuntimeError(
                f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}"
            )
        _check_sizes(self.shape, output_size, dims)
        _check_dtype(name, self, True)
        if self.is_meta:
            return _core.alloc((*self.shape[:2], *output_size), self.dtype, self.device)
        chosen = _nearest if make is _nearest_by_size and not _is_by_size(self, output_size) else make
        taps = _all_taps(chosen, self.shape, output_size, align, scales, self.dtype is _F64)
        if isinstance(taps[0], Moves):
            return taken(self, taps)
        if self.dtype is not _U8:
            return resampled(self, taps)
        rounded: Tensor = resampled(self.to(_core.dtypes["float32"]), taps).round().clamp(0, 255).to(_U8)
        return rounded

    def backward(grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], *rest: Any) -> Tensor:
        align, scales = split(rest)
        _check_sizes(input_size, output_size, dims)
        _check_dtype(f"{name}_backward", grad_output, False)
        expected = [*input_size[:2], *output_size]
        if list(grad_output.shape) != expected:
            raise RuntimeError(
                f"Expected grad_output of size {expected}, the output's, but got {list(grad_output.shape)}"
            )
        if grad_output.is_meta:
            return _core.alloc(input_size, grad_output.dtype, grad_output.device)
        taps = _all_taps(make, input_size, output_size, align, scales, grad_output.dtype is _F64)
        if isinstance(taps[0], Moves):
            return added_back(grad_output, taps)
        return resampled(grad_output, [one.transposed for one in taps])

    return forward, backward


nearest1d, nearest1d_backward = _pair("upsample_nearest1d", _nearest_by_size, 1, False)
nearest2d, nearest2d_backward = _pair("upsample_nearest2d", _nearest_by_size, 2, False)
nearest3d, nearest3d_backward = _pair("upsample_nearest3d", _nearest_by_size, 3, False)
nearest_exact1d, nearest_exact1d_backward = _pair("_upsample_nearest_exact1d", _nearest_exact, 1, False)
nearest_exact2d, nearest_exact2d_backward = _pair("_upsample_nearest_exact2d", _nearest_exact, 2, False)
nearest_exact3d, nearest_exact3d_backward = _pair("_upsample_nearest_exact3d", _nearest_exact, 3, False)
linear1d, linear1d_backward = _pair("upsample_linear1d", _taps.linear, 1, True)
bilinear2d, bilinear2d_backward = _pair("upsample_bilinear2d", _taps.linear, 2, True)
trilinear3d, trilinear3d_backward = _pair("upsample_trilinear3d", _taps.linear, 3, True)
bicubic2d, bicubic2d_backward = _pair("upsample_bicubic2d", _taps.cubic, 2, True)
bilinear2d_aa, bilinear2d_aa_backward = _pair("_upsample_bilinear2d_aa", _filtered("linear"), 2, True)
bicubic2d_aa, bicubic2d_aa_backward = _pair("_upsample_bicubic2d_aa", _filtered("cubic"), 2, True)
lanczos2d_aa, lanczos2d_aa_backward = _pair("_upsample_lanczos2d_aa", _filtered("lanczos"), 2, True)


# ---------------------------------------------------------------- sizes by factors
def _by_size_or_factors(name: str, aligns: bool) -> Any:
    def run(
        input: Tensor,
        output_size: Sequence[int] | None,
        *rest: Any,
    ) -> Tensor:
        scale_factors = rest[-1]
        spatial = input.shape[2:]
        if (output_size is None) == (scale_factors is None):
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        if output_size is None:
            if len(scale_factors) != len(spatial):
                raise RuntimeError(f"expected {len(spatial)} scale_factors, but got {len(scale_factors)}")
            output_size = [int(float(n) * scale) for n, scale in zip(spatial, scale_factors, strict=True)]
        scales = scale_factors or [None] * len(spatial)
        result: Tensor = getattr(ops.aten, name).default(input, output_size, *(rest[:1] if aligns else ()), *scales)
        return result

    return run


nearest1d_vec = _by_size_or_factors("upsample_nearest1d", False)
nearest2d_vec = _by_size_or_factors("upsample_nearest2d", False)
nearest3d_vec = _by_size_or_factors("upsample_nearest3d", False)
nearest_exact1d_vec = _by_size_or_factors("_upsample_nearest_exact1d", False)
nearest_exact2d_vec = _by_size_or_factors("_upsample_nearest_exact2d", False)
nearest_exact3d_vec = _by_size_or_factors("_upsample_nearest_exact3d", False)
linear1d_vec = _by_size_or_factors("upsample_linear1d", True)
bilinear2d_vec = _by_size_or_factors("upsample_bilinear2d", True)
trilinear3d_vec = _by_size_or_factors("upsample_trilinear3d", True)
bicubic2d_vec = _by_size_or_factors("upsample_bicubic2d", True)
bilinear2d_aa_vec = _by_size_or_factors("_upsample_bilinear2d_aa", True)
bicubic2d_aa_vec = _by_size_or_factors("_upsample_bicubic2d_aa", True)
lanczos2d_aa_vec = _by_size_or_factors("_upsample_lanczos2d_aa", True)
