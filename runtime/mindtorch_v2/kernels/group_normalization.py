"""Normalization by groups of channels; and what planes, all elements of a channel of a sample, are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._composed import gradients, second_gradients
from ._contexts import saves
from ._native import native
from ._normalizing import (
    CPU,
    F64,
    as_numbers,
    as_output,
    check_dtypes,
    check_floating,
    check_mask,
    check_shape,
    check_vectors,
    kept_dtype,
    normalized,
    numbers_as_tensor,
    numbers_of,
    widened,
)


# ---------------------------------------------------------------- groups
def native_group_norm_fake(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    n: int,
    c: int,
    area: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What `native_group_norm` refuses; an output like the input, and a number for each group of each sample."""
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if c % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups = {group}"
        )
    if input.numel() != n * c * area:
        raise RuntimeError(f"native_group_norm: expected an input of {n} * {c} * {area} elements, got {input.numel()}")
    check_vectors(c, f"input of shape {list(input.shape)}", weight=weight, bias=bias)
    dtype = check_dtypes("native_group_norm", input, weight, bias)
    return (
        _core.alloc(input.shape, input.dtype, input.device),
        _core.alloc((n, group), dtype, input.device),
        _core.alloc((n, group), dtype, input.device),
    )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalizes each group of channels of each sample of an input (N, C, ...)."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    n, c = input.shape[:2]
    result: Tensor = ops.aten.native_group_norm(input, weight, bias, n, c, math.prod(input.shape[2:]), num_groups, eps)[
        0
    ]
    return result


def of_channels(parameter: Tensor | None, otherwise: float, c: int) -> Any:
    """A number for each channel as an array, one for all where none are given."""
    import numpy as np

    return np.full(c, otherwise) if parameter is None else numbers_of(parameter.detach().contiguous())


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    n: int,
    c: int,
    area: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes each group of channels of each sample; the means, and 1 / the roots of the variances."""
    out, mean, rstd = native_group_norm_fake(input, weight, bias, n, c, area, group, eps)
    if not input.numel():
        return out, mean.zero_(), rstd.fill_(float("nan"))
    x = as_planes(input, n, c, area)
    means, roots = (_core.alloc((n, group), F64, CPU) for _ in range(2))
    found = out if out.dtype is x.dtype else _core.alloc(out.shape, x.dtype, CPU)
    native("mt_normalize_groups", "desc", "ptr", "ptr", "ptr", "desc", "ptr", "f64")(
        x, widened(weight, x.dtype), widened(bias, x.dtype), found, means, roots, eps
    )
    return as_output(found, out), means.to(mean.dtype), roots.to(rstd.dtype)


def as_planes(tensor: Tensor, n: int, c: int, size: int) -> Tensor:
    """A tensor as a matrix, a row for each channel of each sample."""
    result: Tensor = tensor.to(kept_dtype(tensor)).contiguous().reshape((n * c, size))
    return result


def native_group_norm_backward_fake(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    n: int,
    c: int,
    area: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """A gradient for each argument that is asked for."""
    name = "native_group_norm_backward"
    if group <= 0 or c % group or min(n, c, area) < 0 or input.numel() != n * c * area:
        raise RuntimeError(f"{name}(): an input of {list(input.shape)} is not {n} * {c} * {area} in {group} groups")
    check_shape(name, "grad_out", grad_out, input.shape)
    check_shape(name, "weight", weight, (c,))
    for argument, given in (("mean", mean), ("rstd", rstd)):
        check_shape(name, argument, given, (n, group))
    check_floating(name, grad_out=grad_out, input=input, mean=mean, rstd=rstd, weight=weight)
    check_mask(name, output_mask, 3)
    dtype = input.dtype if weight is None else weight.dtype
    shapes = ((input.shape, input.dtype), ((c,), dtype), ((c,), dtype))
    return tuple(
        _core.alloc(shape, kind, input.device) if asked else None
        for (shape, kind), asked in zip(shapes, output_mask, strict=True)
    )


def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    n: int,
    c: int,
    area: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of `native_group_norm`'s input, weight and bias, those that are asked for."""
    import numpy as np

    outputs = native_group_norm_backward_fake(grad_out, input, mean, rstd, weight, n, c, area, group, output_mask)
    if not input.numel():
        return tuple(None if t is None else t.zero_() for t in outputs)
    size = c // group
    centers, roots = (np.repeat(numbers_of(t.contiguous()), size, axis=1) for t in (mean, rstd))
    dy, x = (as_planes(t, n, c, area) for t in (grad_out.to(input.dtype), input))
    sums, dots = plane_sums(dy, x, centers)
    scales = roots * of_channels(weight, 1.0, c)

    def over_group(each: Any) -> Any:
        return np.repeat(each.reshape(n, group, size).sum(2) / (size * area), size, axis=1)

    shifts = -over_group(sums * scales)
    slopes = -over_group(dots * scales) * roots**2
    return channel_gradients(outputs, dy, x, (scales, centers, slopes, shifts), dots * roots, sums)


def plane_sums(dy: Tensor, x: Tensor, centers: Any) -> tuple[Any, Any]:
    """Of each plane the sum of ``dy``, and that of ``dy * (x - center)``, in the centers' shape."""
    sums, dots = (_core.alloc((centers.size,), F64, CPU) for _ in range(2))
    native("mt_plane_sums", "desc", "ptr", "ptr", "ptr", "ptr")(dy, x, as_numbers(centers), sums, dots)
    return numbers_of(sums).reshape(centers.shape), numbers_of(dots).reshape(centers.shape)


def channel_gradients(
    outputs: Sequence[Tensor | None], dy: Tensor, x: Tensor, of_planes: Sequence[Any], dots: Any, sums: Any
) -> tuple[Tensor | None, ...]:
    """dy * scale + (x - center) * slope + shift, and the sums over samples of what is of weights and biases."""
    of_input, of_weight, of_bias = outputs
    if of_input is not None:
        found = of_input if of_input.dtype is x.dtype else _core.alloc(of_input.shape, x.dtype, CPU)
        native("mt_plane_gradient", "desc", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr")(
            dy, x, *(as_numbers(a) for a in of_planes), found
        )
        of_input = as_output(found, of_input)
    return (
        of_input,
        None if of_weight is None else numbers_as_tensor(dots.sum(0), of_weight.dtype),
        None if of_bias is None else numbers_as_tensor(sums.sum(0), of_bias.dtype),
    )


def _group_forward(sizes: Sequence[int], rstd: Tensor) -> Any:
    """What normalization by groups is composed of: of input, weight and bias."""
    n, c, size, group = sizes

    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, ...]:
        grouped = x.to(rstd.dtype).reshape((n, group, c // group * size))
        out, mean, root = normalized(grouped, (2,), rstd.reshape((n, group, 1)))
        out = out.reshape((n, c, size))
        out = out if weight is None else out * weight.reshape((c, 1))
        out = out if bias is None else out + bias.reshape((c, 1))
        return out.reshape(x.shape).to(x.dtype), mean.reshape((n, group)), root.reshape((n, group))

    return forward


@saves(input=0, weight=1, result1=2, result2=3)
def native_group_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call, and its statistics."""
    input, weight, bias, *ctx.sizes, _eps = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(input, weight, output[1], output[2], bias)


def native_group_norm_gradient(ctx: Any, grad: Tensor | None, *of_statistics: Tensor | None) -> tuple[Any, ...]:
    """By the kernel; those of the statistics, which are seldom asked for, by composition."""
    input, weight, mean, rstd, bias = ctx.saved_tensors
    if any(g is not None for g in of_statistics):
        forward = _group_forward(ctx.sizes, rstd)
        return (*gradients(forward, (input, weight, bias), (grad, *of_statistics)), *(None,) * 5)
    if grad is None:
        return (None,) * 8
    mask = [given is not None and ctx.needs_input_grad[i] for i, given in enumerate((input, weight, bias))]
    found = ops.aten.native_group_norm_backward(grad, input, mean, rstd, weight, *ctx.sizes, mask)
    return (*found, *(None,) * 5)


def native_group_norm_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    grad_out, input, _mean, rstd, weight, *ctx.sizes, _mask = inputs
    ctx.save_for_backward(grad_out, input, rstd, weight)


def native_group_norm_second_gradient(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the gradients: of grad_out, the input and the weight."""
    grad_out, input, rstd, weight = ctx.saved_tensors
    forward = _group_forward(ctx.sizes, rstd)
    start, x, w = second_gradients(lambda x, w: forward(x, w, None), (input, weight), grad_out, grads[:2])
    if grads[2] is not None:
        of_bias = grads[2].reshape((1, -1, *(1,) * (grad_out.dim() - 2)))
        start = of_bias.expand(grad_out.shape) if start is None else start + of_bias
    return start, x, None, None, w, *(None,) * 5
