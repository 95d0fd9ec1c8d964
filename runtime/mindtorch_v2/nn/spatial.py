"""Padding, unfolding, resampling and shuffling as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from .._core import Tensor
from . import functional
from ._sizes import each_of
from .module import Module

__all__ = [
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


# ---------------------------------------------------------------- padding
class _Padding(Module):
    """Adds to both ends of the last ``dims`` dimensions: ``padding`` to each, or numbers from the last one on."""

    dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = each_of(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return functional.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class _ConstantPad(_Padding):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input with ``value`` around it."""
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The numbers and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Puts a value at both ends of the last dimension."""

    dims = 1


class ConstantPad2d(_ConstantPad):
    """Puts a value around the last two dimensions."""

    dims = 2


class ConstantPad3d(_ConstantPad):
    """Puts a value around the last three dimensions."""

    dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The numbers."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Puts zeros at both ends of the last dimension."""

    dims = 1


class ZeroPad2d(_ZeroPad):
    """Puts zeros around the last two dimensions."""

    dims = 2


class ZeroPad3d(_ZeroPad):
    """Puts zeros around the last three dimensions."""

    dims = 3


class ReflectionPad1d(_Padding):
    """Mirrors at both ends of the last dimension."""

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Padding):
    """Mirrors at the ends of the last two dimensions."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Padding):
    """Mirrors at the ends of the last three dimensions."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Padding):
    """Repeats the first and the last element of the last dimension."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Padding):
    """Repeats the outermost elements of the last two dimensions."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Padding):
    """Repeats the outermost elements of the last three dimensions."""

    dims, mode = 3, "replicate"


class _CircularPad(_Padding):
    mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Goes on with the other end of the last dimension."""

    dims = 1


class CircularPad2d(_CircularPad):
    """Goes on with the other end of the last two dimensions."""

    dims = 2


class CircularPad3d(_CircularPad):
    """Goes on with the other end of the last three dimensions."""

    dims = 3


# ---------------------------------------------------------------- windows
class Unfold(Module):
    """The windows of (N, C, *) as columns: (N, C * elements of a window, windows)."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """unfold(input)."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The windows."""
        names = ("kernel_size", "dilation", "padding", "stride")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class Fold(Unfold):
    """Columns as windows of an output of a size, added up where they overlap."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """fold(input)."""
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The output and the windows."""
        return f"output_size={self.output_size}, {super().extra_repr()}"


# ---------------------------------------------------------------- resampling
class Upsample(Module):
    """(N, C, *) in another size, or by a factor; ``mode`` as of `functional.interpolate`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        several = isinstance(scale_factor, tuple)
        self.scale_factor = (
            tuple(map(float, scale_factor)) if several else float(scale_factor) if scale_factor else None
        )
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """interpolate(input)."""
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """The factor or the size, and the mode."""
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` by the nearest element."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` between the four around, corner on corner."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


# ---------------------------------------------------------------- shuffling
class PixelShuffle(Module):
    """(*, C * r * r, H, W) as (*, C, H * r, W * r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """pixel_shuffle(input)."""
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) as (*, C * r * r, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """pixel_unshuffle(input)."""
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Takes channels from ``groups`` groups in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """channel_shuffle(input)."""
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """How many groups."""
        return f"groups={self.groups}"
