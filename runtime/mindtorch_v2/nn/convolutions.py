"""Convolutions and transposed ones as modules, over one to three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from .._core import Tensor
from .._core import dtype as DType
from .._creation import empty
from . import functional, init
from ._sizes import each_of
from .module import Module
from .parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What all of them share: weight (out, in / groups, *kernel), of transposed ones (in, out / groups, *kernel)."""

    dims: ClassVar[int]
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation, self.output_padding = (
            each_of(value, self.dims) for value in (kernel_size, stride, dilation, output_padding)
        )
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{padding_mode}'")
        self.padding = padding if isinstance(padding, str) else each_of(padding, self.dims)
        self.transposed, self.groups, self.padding_mode = transposed, groups, padding_mode
        self._reversed_padding_repeated_twice = _edges(self)
        planes = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*planes, *self.kernel_size), dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty((out_channels,), dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias evenly from +-1/sqrt(in_channels / groups * elements of the kernel)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
        if self.bias is not None and fan_in:
            init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        """Channels, sizes, and the options that are not the usual ones."""
        ones, zeros = (1,) * self.dims, (0,) * self.dims
        options = {
            "kernel_size": (self.kernel_size, None),
            "stride": (self.stride, None),
            "padding": (self.padding, zeros),
            "dilation": (self.dilation, ones),
            "output_padding": (self.output_padding, zeros),
            "groups": (self.groups, 1),
            "bias": (self.bias is not None, True),
            "padding_mode": (self.padding_mode, "zeros"),
        }
        given = [f"{name}={value}" for name, (value, usual) in options.items() if value != usual]
        return ", ".join([f"{self.in_channels}", f"{self.out_channels}", *given])


def _edges(self: _Convolution) -> list[int]:
    """What is added before and behind each dimension, the last one first, as `functional.pad` takes it."""
    if not isinstance(self.padding, str):
        return [number for number in reversed(self.padding) for _ in range(2)]
    edges = []
    for dilation, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
        whole = dilation * (size - 1) if self.padding == "same" else 0
        edges += [whole // 2, whole - whole // 2]
    return edges


class _Conv(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed=False,
            output_padding=0,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of the input with ``weight``, plus ``bias``."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self.dims
        convolve = getattr(functional, f"conv{self.dims}d")
        result: Tensor = convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)
        return result


class Conv1d(_Conv):
    """A convolution over (N, C, L) or (C, L)."""

    dims = 1


class Conv2d(_Conv):
    """A convolution over (N, C, H, W) or (C, H, W)."""

    dims = 2


class Conv3d(_Conv):
    """A convolution over (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3


class _ConvTranspose(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed=True,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The gradient of a convolution, as an operator of its own; of several possible sizes, ``output_size``."""
        convolve = getattr(functional, f"conv_transpose{self.dims}d")
        beyond = self.output_padding if output_size is None else self._beyond(input, output_size)
        result: Tensor = convolve(
            *(input, self.weight, self.bias, self.stride, self.padding, beyond, self.groups, self.dilation)
        )
        return result

    def _beyond(self, input: Tensor, output_size: Sequence[int]) -> list[int]:
        """What makes the output of a size. Raises ValueError for one that it cannot have."""
        others = input.dim() - self.dims
        if len(output_size) == others + self.dims:
            output_size = output_size[others:]
        if len(output_size) != self.dims:
            raise ValueError(
                f"ConvTranspose{self.dims}D: for {input.dim()}D input, output_size must have {self.dims} or "
                f"{others + self.dims} elements (got {len(output_size)})"
            )
        least = [
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, stride, padding, dilation, kernel in zip(
                input.shape[others:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        most = [size + stride - 1 for size, stride in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                f"input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, least, strict=True)]


class ConvTranspose1d(_ConvTranspose):
    """A transposed convolution over (N, C, L) or (C, L)."""

    dims = 1


class ConvTranspose2d(_ConvTranspose):
    """A transposed convolution over (N, C, H, W) or (C, H, W)."""

    dims = 2


class ConvTranspose3d(_ConvTranspose):
    """A transposed convolution over (N, C, D, H, W) or (C, D, H, W)."""

    dims = 3
