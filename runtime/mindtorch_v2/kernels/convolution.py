"""Convolution of one, two or three dimensions, forwards and transposed, and its gradients.

What C++ computes is one thing, the convolution of three dimensions, and its gradients by input and weight. A transposed
convolution is the first of these gradients; fewer dimensions are such of size 1 in front.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._contexts import saves
from ._native import native

__all__ = [
    "conv1d",
    "conv1d_mode",
    "conv2d",
    "conv2d_mode",
    "conv3d",
    "conv3d_mode",
    "conv_mode",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "convolution_backward",
    "convolution_backward_gradient",
    "convolution_backward_setup",
    "convolution_gradient",
    "convolution_plain",
    "convolution_setup",
    "slow_conv3d",
    "thnn_conv2d",
]

_F32, _I64, _BOOL = (_core.dtypes[name] for name in ("float32", "int64", "bool"))
_FLOATING = [_core.dtypes[name] for name in ("float64", "float32", "bfloat16", "float16")]
_OUTPUT, _INPUT_GRADIENT, _WEIGHT_GRADIENT = range(3)
Numbers = Sequence[int]


# ---------------------------------------------------------------- arguments
def expanded(name: str, numbers: Numbers, dims: int) -> list[int]:
    """A number for each dimension, where one stands for all."""
    if len(numbers) == dims:
        return list(numbers)
    if len(numbers) == 1:
        return list(numbers) * dims
    raise RuntimeError(
        f"expected {name} to be a single integer value or a list of {dims} values, but got {list(numbers)}"
    )


class _Call:
    """The numbers of a convolution, one for each dimension; checked."""

    def __init__(
        self,
        input: Tensor,
        weight: Tensor,
        stride: Numbers,
        padding: Numbers,
        dilation: Numbers,
        transposed: bool,
        output_padding: Numbers,
        groups: int,
    ) -> None:
        dims = weight.dim() - 2
        if dims not in (1, 2, 3):
            raise RuntimeError(f"weight should have 3, 4 or 5 dimensions, but got weight of size {list(weight.shape)}")
        self.stride, self.padding, self.dilation, self.output_padding = (
            expanded(name, numbers, dims)
            for name, numbers in (
                ("stride", stride),
                ("padding", padding),
                ("dilation", dilation),
                ("output_padding", output_padding),
            )
        )
        self.transposed, self.groups, self.dims = transposed, groups, dims
        self._check(input, weight)

    def _check(self, input: Tensor, weight: Tensor) -> None:
        groups, shape, filters = self.groups, list(input.shape), list(weight.shape)
        if groups <= 0:
            raise RuntimeError("non-positive groups is not supported")
        if min(self.padding) < 0:
            raise RuntimeError("negative padding is not supported")
        if min(self.output_padding) < 0:
            raise RuntimeError("negative output_padding is not supported")
        if min(self.stride) <= 0:
            raise RuntimeError("non-positive stride is not supported")
        if min(self.dilation) <= 0:
            raise RuntimeError("dilation should be greater than zero")
        if self.transposed:
            for more, s, d in zip(self.output_padding, self.stride, self.dilation, strict=True):
                if more >= s and more >= d:
                    raise RuntimeError(
                        "output padding must be smaller than either stride or dilation, but got output_padding "
                        f"{self.output_padding}, stride {self.stride} and dilation {self.dilation}"
                    )
        if input.dim() != weight.dim():
            raise RuntimeError(
                f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight {filters}, but got "
                f"{input.dim()}-dimensional input of size {shape} instead"
            )
        if filters[0] < groups:
            raise RuntimeError(
                f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of "
                f"size {filters} instead"
            )
        if filters[0] % groups:
            raise RuntimeError(
                f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
                f"size {filters} instead"
            )
        if min(filters[2:]) <= 0:
            raise RuntimeError(f"weight should have no dimension of size 0 after the first two, but got {filters}")
        channels = filters[0] if self.transposed else filters[1] * groups
        if shape[1] != channels:
            raise RuntimeError(
                f"Given {'transposed=1' if self.transposed else f'groups={groups}'}, weight of size {filters}, "
                f"expected input{shape} to have {channels} channels, but got {shape[1]} channels instead"
            )
        if not self.transposed:
            padded = [n + 2 * p for n, p in zip(shape[2:], self.padding, strict=True)]
            kernel = [d * (k - 1) + 1 for k, d in zip(filters[2:], self.dilation, strict=True)]
            if any(n < k for n, k in zip(padded, kernel, strict=True)):
                size, given = (" x ".join(map(str, numbers)) for numbers in (padded, kernel))
                raise RuntimeError(
                    f"Calculated padded input size per channel: ({size}). Kernel size: ({given}). Kernel size can't be "
                    "greater than actual input size"
                )

    def output_shape(self, input: Tensor, weight: Tensor) -> list[int]:
        """The shape of the output."""
        sizes = []
        numbers = zip(
            input.shape[2:],
            weight.shape[2:],
            self.stride,
            self.padding,
            self.dilation,
            self.output_padding,
            strict=True,
        )
        for n, k, s, p, d, extra in numbers:
            reach = d * (k - 1) + 1
            sizes.append((n - 1) * s - 2 * p + reach + extra if self.transposed else (n + 2 * p - reach) // s + 1)
        shape = [input.shape[0], weight.shape[1] * self.groups if self.transposed else weight.shape[0], *sizes]
        if min(sizes) <= 0 and self.transposed:
            raise RuntimeError(
                f"Given input size per channel: {list(input.shape[2:])}. Calculated output size per channel: {sizes}. "
                "Output size is too small"
            )
        return shape

    def run(self, input: Tensor, weight: Tensor, output: Tensor, what: int, fresh: bool = True) -> None:
        """Fills one of three contiguous tensors, that of a forward convolution's ``what``, with what the others make.

        Where it is not ``fresh``, that is added to what it holds.
        """
        if not (input.numel() and weight.numel() and output.numel()):
            if fresh:
                (output, input, weight)[what].zero_()
            return
        parts = [
            t.view((*t.shape[:2], *[1] * (3 - self.dims), *t.shape[2:])) if self.dims < 3 else t
            for t in (input, weight, output)
        ]
        numbers = [
            [neutral] * (3 - self.dims) + given
            for neutral, given in ((1, self.stride), (0, self.padding), (1, self.dilation))
        ]
        kernel = native("mt_convolution", "desc", "desc", "desc", *["i64"] * 12)
        kernel(*parts, what, fresh, self.groups, *numbers[0], *numbers[1], *numbers[2])


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"Input type ({_named(input)}) and weight type ({_named(weight)}) should be the same")
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({_named(input)}) and bias type ({_named(bias)}) should be the same")
    if input.is_complex() or input.dtype is _BOOL:
        raise NotImplementedError(f"convolution is not implemented for {input.dtype}")


def _named(tensor: Tensor) -> str:
    return _core.scalar_types[tensor.dtype.name]


def _check_bias(bias: Tensor | None, filters: int, weight: Tensor) -> None:
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != filters):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {filters} elements, "
            f"but got bias of size {list(bias.shape)} instead"
        )


def _computed(tensor: Tensor) -> Tensor:
    """The tensor as C++ takes it: contiguous, in float64, float32, one of the halves, or int64."""
    dtype = tensor.dtype
    known = dtype if dtype in _FLOATING else _F32 if tensor.is_floating_point() else _I64
    plain: Tensor = tensor.to(known).contiguous()
    return plain


# ---------------------------------------------------------------- the operator and its gradient
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
) -> Tensor:
    """The convolution of (N, C, ...) with (filters, C / groups, ...), or transposed (C, filters / groups, ...)."""
    _check_dtypes(input, weight, bias)
    call = _Call(input, weight, stride, padding, dilation, transposed, output_padding, groups)
    shape = call.output_shape(input, weight)
    _check_bias(bias, shape[1], weight)
    if input.is_meta:
        return _core.alloc(shape, input.dtype, input.device)
    given, filters = _computed(input), _computed(weight)
    output = _core.alloc(shape, given.dtype, input.device)
    if bias is not None:
        output.copy_(bias.reshape((-1, *[1] * call.dims)))
    if transposed:
        call.run(output, filters, given, _INPUT_GRADIENT, bias is None)
    else:
        call.run(given, filters, output, _OUTPUT, bias is None)
    result: Tensor = output.to(input.dtype)
    return result


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Numbers | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and bias, those that the mask asks for."""
    _check_dtypes(input, weight, grad_output)
    call = _Call(input, weight, stride, padding, dilation, transposed, output_padding, groups)
    shape = call.output_shape(input, weight)
    if list(grad_output.shape) != shape:
        raise RuntimeError(f"Expected grad_output of size {shape}, the output's, but got {list(grad_output.shape)}")
    results: list[Tensor | None] = [None, None, None]
    if input.is_meta:
        for at, like in enumerate((input, weight)):
            results[at] = _core.alloc(like.shape, like.dtype, like.device) if output_mask[at] else None
        results[2] = _core.alloc(shape[1:2], input.dtype, input.device) if output_mask[2] else None
        return results[0], results[1], results[2]
    grad = _computed(grad_output)
    if output_mask[0]:
        found = _core.alloc(input.shape, grad.dtype, input.device)
        if transposed:
            call.run(grad, _computed(weight), found, _OUTPUT)
        else:
            call.run(found, _computed(weight), grad, _INPUT_GRADIENT)
        results[0] = found.to(input.dtype)
    if output_mask[1]:
        found = _core.alloc(weight.shape, grad.dtype, weight.device)
        given = _computed(input)
        image, output = (grad, given) if transposed else (given, grad)
        call.run(image, found, output, _WEIGHT_GRADIENT)
        results[1] = found.to(weight.dtype)
    if output_mask[2]:
        results[2] = grad.sum([0, *range(2, grad.dim())]).to(input.dtype)
    return results[0], results[1], results[2]


@saves(
    input=0,
    weight=1,
    stride="stride",
    padding="padding",
    dilation="dilation",
    transposed="transposed",
    output_padding="output_padding",
    groups="groups",
    bias_sym_sizes_opt="bias_sym_sizes_opt",
)
def convolution_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    input, weight, bias, *numbers = inputs
    ctx.stride, ctx.padding, ctx.dilation, ctx.transposed, ctx.output_padding, ctx.groups = numbers
    ctx.bias_sizes = None if bias is None else list(bias.shape)
    ctx.bias_sym_sizes_opt = (0,) if bias is None else tuple(bias.shape)  # PyTorch's name and form
    ctx.save_for_backward(input, weight)


def _numbers(ctx: Any) -> tuple[Any, ...]:
    return ctx.stride, ctx.padding, ctx.dilation, ctx.transposed, ctx.output_padding, ctx.groups


def convolution_gradient(ctx: Any, grad: Tensor | None) -> tuple[Any, ...]:
    """The gradients that are asked for."""
    found: Any = (None, None, None)
    if grad is not None:
        input, weight = ctx.saved_tensors
        mask = [*ctx.needs_input_grad[:2], ctx.bias_sizes is not None and ctx.needs_input_grad[2]]
        found = ops.aten.convolution_backward(grad, input, weight, ctx.bias_sizes, *_numbers(ctx), mask)
    return (*(g if asked else None for g, asked in zip(found, ctx.needs_input_grad[:3], strict=True)), *[None] * 6)


@saves(grad_output=0, input=1, weight=2)
def convolution_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    grad, input, weight, ctx.bias_sizes, *numbers, ctx.output_mask = inputs
    ctx.stride, ctx.padding, ctx.dilation, ctx.transposed, ctx.output_padding, ctx.groups = numbers
    ctx.save_for_backward(grad, input, weight)


def convolution_backward_gradient(
    ctx: Any, of_input: Tensor | None, of_weight: Tensor | None, of_bias: Tensor | None
) -> tuple[Any, ...]:
    """The gradients of the gradients: a convolution is linear in each of input and weight."""
    grad, input, weight = ctx.saved_tensors
    numbers = _numbers(ctx)
    aten = ops.aten
    results: list[Tensor | None] = [None, None, None]

    def add(at: int, part: Tensor) -> None:
        known = results[at]
        results[at] = part if known is None else known + part

    if ctx.needs_input_grad[0]:
        if of_input is not None:
            add(0, aten.convolution(of_input, weight, None, *numbers))
        if of_weight is not None:
            add(0, aten.convolution(input, of_weight, None, *numbers))
        if of_bias is not None:
            add(0, of_bias.reshape((1, -1, *[1] * (grad.dim() - 2))).expand(grad.shape))
    if ctx.needs_input_grad[1] and of_weight is not None:
        add(1, aten.convolution_backward(grad, input, of_weight, None, *numbers, [True, False, False])[0])
    if ctx.needs_input_grad[2] and of_input is not None:
        add(2, aten.convolution_backward(grad, of_input, weight, None, *numbers, [False, True, False])[1])
    return (*results, *[None] * 8)


# ---------------------------------------------------------------- what is made of it
def _batched(name: str, input: Tensor, dims: int) -> tuple[Tensor, bool]:
    """The input as a batch, and whether it was one."""
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return (input, True) if input.dim() == dims + 2 else (input.unsqueeze(0), False)


def _run(input: Tensor, weight: Tensor, bias: Tensor | None, *numbers: Any) -> Tensor:
    """A convolution, of complex numbers by those of their parts."""
    aten = ops.aten
    if not input.is_complex() or input.dtype is not weight.dtype:
        result: Tensor = aten.convolution(input, weight, bias, *numbers)
        return result
    real, imag, weight_real, weight_imag = (part(t) for t in (input, weight) for part in (aten.real, aten.imag))
    bias_real, bias_imag = (None, None) if bias is None else (aten.real(bias), aten.imag(bias))
    first = aten.convolution(real, weight_real, bias_real, *numbers) - aten.convolution(
        imag, weight_imag, None, *numbers
    )
    second = aten.convolution(imag, weight_real, bias_imag, *numbers) + aten.convolution(
        real, weight_imag, None, *numbers
    )
    whole: Tensor = aten.complex(first, second)
    return whole


def _conv(dims: int) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Numbers = (1,),
        padding: Numbers = (0,),
        dilation: Numbers = (1,),
        groups: int = 1,
    ) -> Tensor:
        batch, was_batch = _batched(f"conv{dims}d", input, dims)
        result = _run(batch, weight, bias, stride, padding, dilation, False, [0] * dims, groups)
        return result if was_batch else result.squeeze(0)

    return conv


def _conv_mode(dims: int) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Numbers = (1,),
        padding: str = "valid",
        dilation: Numbers = (1,),
        groups: int = 1,
    ) -> Tensor:
        batch, was_batch = _batched(f"conv{dims}d", input, dims)
        result = conv_mode(batch, weight, bias, stride, padding, dilation, groups)
        return result if was_batch else result.squeeze(0)

    return conv


def _conv_transpose(dims: int) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Numbers = (1,),
        padding: Numbers = (0,),
        output_padding: Numbers = (0,),
        groups: int = 1,
        dilation: Numbers = (1,),
    ) -> Tensor:
        batch, was_batch = _batched(f"conv_transpose{dims}d", input, dims)
        result = _run(batch, weight, bias, stride, padding, dilation, True, output_padding, groups)
        return result if was_batch else result.squeeze(0)

    return conv


conv1d, conv2d, conv3d = (_conv(dims) for dims in (1, 2, 3))
conv1d_mode, conv2d_mode, conv3d_mode = (_conv_mode(dims) for dims in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_conv_transpose(dims) for dims in (1, 2, 3))


def conv_mode(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Numbers, padding: str, dilation: Numbers, groups: int
) -> Tensor:
    """A convolution whose padding a word says: ``valid`` is none, ``same`` as much as keeps the size."""
    dims = weight.dim() - 2
    if padding == "valid":
        return _run(input, weight, bias, stride, [0] * dims, dilation, False, [0] * dims, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'. It must be one of 'same' or 'valid'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(weight.shape[2:], expanded("dilation", dilation, dims), strict=True)]
    more = [total % 2 for total in totals]  # what the far side gets before the rest is halved
    if any(more):
        input = ops.aten.constant_pad_nd(input, [n for extra in reversed(more) for n in (0, extra)], 0)
    return _run(input, weight, bias, stride, [t // 2 for t in totals], dilation, False, [0] * dims, groups)


def convolution_plain(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool = True,
) -> Tensor:
    """`convolution`, with words for libraries that there are not."""
    return _run(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over time: (T, N, C) with (taps, C, filters) and (filters)."""
    if self.dim() != 3:
        raise RuntimeError(f"Input must have 3 dims: time, batch, in_channel, but got {self.dim()}")
    if weight.dim() != 3:
        raise RuntimeError(
            f"Weight tensor must have 3 dims: kernel_width, in_channels, out_channels, got {weight.dim()}"
        )
    if bias.dim() != 1:
        raise RuntimeError(f"Bias must be 1-D, but got {bias.dim()} dimensions")
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels)")
    given, filters = self.permute((1, 2, 0)), weight.permute((2, 1, 0))
    result: Tensor = ops.aten.convolution(given, filters, bias, [1], [pad], [1], False, [0], 1).permute((2, 0, 1))
    return result


# ---------------------------------------------------------------- of a kernel whose size is given
def _shaped(self: Tensor, weight: Tensor, kernel_size: Numbers, stride: Numbers, padding: Numbers) -> Tensor:
    """The weight of a convolution with the dimensions of its kernel, where it is flat. Checks what is given."""
    dims = 2 if self.dim() == 4 else 3
    for name, given in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
        if len(given) != dims:
            raise RuntimeError(f"{dims}D {name} expected")
    if weight.dim() not in (2, 2 + dims) or not weight.numel():
        raise RuntimeError(f"non-empty 2D or {2 + dims}D weight tensor expected, but got: {list(weight.shape)}")
    shape = (weight.shape[0], self.shape[1], *kernel_size)
    if weight.numel() != math.prod(shape) or (weight.dim() != 2 and tuple(weight.shape) != shape):
        raise RuntimeError(f"expected a weight of shape {list(shape)}, flat or not, but got: {list(weight.shape)}")
    shaped: Tensor = weight.reshape(shape)
    return shaped


def thnn_conv2d(
    self: Tensor, weight: Tensor, kernel_size: Numbers, bias: Tensor | None, stride: Numbers, padding: Numbers
) -> Tensor:
    """A convolution of a batch of images. Raises RuntimeError for sizes that do not fit."""
    if self.dim() != 4:
        raise RuntimeError(f"Expected 4D input tensor, but got: {list(self.shape)}")
    result: Tensor = ops.aten.conv2d(self, _shaped(self, weight, kernel_size, stride, padding), bias, stride, padding)
    return result


def slow_conv3d(
    self: Tensor, weight: Tensor, kernel_size: Numbers, bias: Tensor | None, stride: Numbers, padding: Numbers
) -> Tensor:
    """A convolution of a batch of volumes. Raises RuntimeError for sizes that do not fit."""
    if self.dim() != 5:
        raise RuntimeError(f"Expected 5D input tensor, but got: {list(self.shape)}")
    result: Tensor = ops.aten.conv3d(self, _shaped(self, weight, kernel_size, stride, padding), bias, stride, padding)
    return result
