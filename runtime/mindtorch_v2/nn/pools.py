"""Pooling as modules, over one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._core import Tensor
from .._ops import ops
from . import functional
from ._sizes import each_of
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPool(Module):
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The greatest of each window; with ``return_indices`` a pair, with where it is."""
        return getattr(functional, f"max_pool{self.dims}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        """The options."""
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class MaxPool1d(_MaxPool):
    """The greatest of each window of (N, C, L)."""

    dims = 1


class MaxPool2d(_MaxPool):
    """The greatest of each window of (N, C, H, W)."""

    dims = 2


class MaxPool3d(_MaxPool):
    """The greatest of each window of (N, C, D, H, W)."""

    dims = 3


class _MaxUnpool(Module):
    dims: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = each_of(kernel_size, self.dims)
        self.stride = each_of(kernel_size if stride is None else stride, self.dims)
        self.padding = each_of(padding, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        """What `MaxPool` took, where it was, and 0 elsewhere."""
        unpool = getattr(functional, f"max_unpool{self.dims}d")
        result: Tensor = unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)
        return result

    def extra_repr(self) -> str:
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The inverse of `MaxPool1d`, but for what was not the greatest."""

    dims = 1


class MaxUnpool2d(_MaxUnpool):
    """The inverse of `MaxPool2d`, but for what was not the greatest."""

    dims = 2


class MaxUnpool3d(_MaxUnpool):
    """The inverse of `MaxPool3d`, but for what was not the greatest."""

    dims = 3


class _AvgPool(Module):
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window of (N, C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = each_of(kernel_size, 1)
        self.stride, self.padding = each_of(kernel_size if stride is None else stride, 1), each_of(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """avg_pool1d(input)."""
        result: Tensor = ops.aten.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )
        return result


class _AvgPoolBy(_AvgPool):
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each window, or its sum by ``divisor_override``."""
        pool = getattr(functional, f"avg_pool{self.dims}d")
        result: Tensor = pool(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad, self.divisor_override),
        )
        return result


class AvgPool2d(_AvgPoolBy):
    """The mean of each window of (N, C, H, W)."""

    dims = 2


class AvgPool3d(_AvgPoolBy):
    """The mean of each window of (N, C, D, H, W)."""

    dims = 3


class _FractionalMaxPool(Module):
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.return_indices = each_of(kernel_size, self.dims), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each_of(output_size, self.dims)
        self.output_ratio = None if output_ratio is None else each_of(output_ratio, self.dims)
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The greatest of each window, the windows lying by chance."""
        return getattr(functional, f"fractional_max_pool{self.dims}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """`MaxPool2d` of windows that lie by chance, for an output of any size."""

    dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """`MaxPool3d` of windows that lie by chance, for an output of any size."""

    dims = 3


class _LPPool(Module):
    dims: ClassVar[int]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norm of each window."""
        pool = getattr(functional, f"lp_pool{self.dims}d")
        result: Tensor = pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)
        return result

    def extra_repr(self) -> str:
        """The options."""
        names = ("norm_type", "kernel_size", "stride", "ceil_mode")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class LPPool1d(_LPPool):
    """The norm of each window of (N, C, L)."""

    dims = 1


class LPPool2d(_LPPool):
    """The norm of each window of (N, C, H, W)."""

    dims = 2


class LPPool3d(_LPPool):
    """The norm of each window of (N, C, D, H, W)."""

    dims = 3


class _AdaptiveMaxPool(Module):
    dims: ClassVar[int]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        """The greatest of each of as many windows as the output has elements."""
        pool = getattr(functional, f"adaptive_max_pool{self.dims}d")
        return pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """The size of the output."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """`MaxPool1d` for an output of a size."""

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """`MaxPool2d` for an output of a size; None keeps the input's."""

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """`MaxPool3d` for an output of a size; None keeps the input's."""

    dims = 3


class _AdaptiveAvgPool(Module):
    dims: ClassVar[int]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size: int | Sequence[int | None] | None = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The mean of each of as many windows as the output has elements."""
        pool = getattr(functional, f"adaptive_avg_pool{self.dims}d")
        result: Tensor = pool(input, self.output_size)
        return result

    def extra_repr(self) -> str:
        """The size of the output."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """`AvgPool1d` for an output of a size."""

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """`AvgPool2d` for an output of a size; None keeps the input's."""

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """`AvgPool3d` for an output of a size; None keeps the input's."""

    dims = 3
