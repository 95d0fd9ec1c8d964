"""Normalization by layers, and by the root of the mean square."""

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
    F32,
    HALVES,
    as_output,
    check_dtypes,
    check_floating,
    check_mask,
    check_shape,
    kept_dtype,
    normalized,
    widened,
)

_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


# ---------------------------------------------------------------- layers, and the root of the mean square
def _check_layer(input: Tensor, shape: Sequence[int], weight: Tensor | None, bias: Tensor | None) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != tuple(shape):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(given.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if input.dim() < len(shape) or tuple(input.shape[input.dim() - len(shape) :]) != tuple(shape):
        wanted = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {wanted}], but got input of size "
            f"{list(input.shape)}"
        )


def _statistics_shape(input: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    return (*input.shape[: input.dim() - len(shape)], *(1,) * len(shape))


def _rows(tensor: Tensor, shape: Sequence[int], dtype: Any) -> Tensor:
    result: Tensor = (tensor if tensor.dtype is dtype else tensor.to(dtype)).contiguous()
    if tensor.dim() != 2 or len(shape) != 1:
        result = result.reshape((math.prod(tensor.shape[: tensor.dim() - len(shape)]), math.prod(shape)))
    return result


def _normalize_rows() -> Any:
    return native("mt_normalize_rows", "desc", "ptr", "ptr", "ptr", "ptr", "desc", "f64")


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, ...]:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions; the means, and 1 / the roots.

    Of half precision, of nothing, and where an argument is not contiguous: a compiled kernel takes what is left.
    """
    outer = _statistics_shape(input, normalized_shape)
    of_statistics = check_dtypes("native_layer_norm", input, weight, bias)
    kinds = (input.shape, input.dtype), (outer, of_statistics), (outer, of_statistics)
    out, mean, rstd = (_core.alloc(shape, dtype, input.device) for shape, dtype in kinds)
    if not input.numel():
        return out, mean.zero_(), rstd if math.prod(normalized_shape) else rstd.fill_(float("nan"))
    dtype = kept_dtype(input)
    found = [t if t.dtype is dtype else _core.alloc(t.shape, dtype, CPU) for t in (out, mean, rstd)]
    x = _rows(input, normalized_shape, dtype)
    _normalize_rows()(x, widened(weight, dtype), widened(bias, dtype), *found, eps)
    return tuple(f if f is t else as_output(f, t) for f, t in zip(found, (out, mean, rstd), strict=True))


@saves(input=0, weight=1, bias=2, result1=3, result2=4, normalized_shape="shape")
def native_layer_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call, and its statistics."""
    input, ctx.shape, weight, bias, _eps = inputs
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(input, weight, bias, output[1], output[2])


def native_layer_norm_gradient(ctx: Any, grad: Tensor | None, *_of_statistics: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the input, the weight and the bias; statistics have none, as in PyTorch."""
    if grad is None:
        return (None,) * 5
    input, weight, bias, mean, rstd = ctx.saved_tensors
    needs = ctx.needs_input_grad
    mask = needs[0], weight is not None and needs[2], bias is not None and needs[3]
    x, w, b = ops.aten.native_layer_norm_backward(grad, input, ctx.shape, mean, rstd, weight, bias, mask)
    return x, None, w, b, None


def native_layer_norm_backward_fake(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """A gradient for each argument that is asked for."""
    name = "native_layer_norm_backward"
    _check_layer(input, normalized_shape, weight, bias)
    _check_rows(name, grad_out, input, normalized_shape, weight, mean=mean, rstd=rstd)
    check_mask(name, output_mask, 3)
    wanted = zip((input, weight, bias), output_mask, strict=True)
    return tuple(None if t is None or not asked else _core.alloc(t.shape, t.dtype, t.device) for t, asked in wanted)  # type: ignore[return-value]


def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of `native_layer_norm`'s input, weight and bias, those that are asked for."""
    outputs = native_layer_norm_backward_fake(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
    return _rows_backward(grad_out, input, normalized_shape, mean, rstd, weight, outputs)


def _check_rows(
    name: str, grad_out: Tensor, input: Tensor, shape: Sequence[int], weight: Tensor | None, **statistics: Tensor
) -> None:
    check_shape(name, "grad_out", grad_out, input.shape)
    check_floating(name, grad_out=grad_out, input=input, weight=weight, **statistics)
    rows = math.prod(input.shape[: input.dim() - len(shape)])
    for argument, given in statistics.items():
        if given.numel() != rows:
            raise RuntimeError(f"{name}(): expected {argument} of {rows} elements, got {given.numel()}")


def _rows_backward(
    grad_out: Tensor,
    input: Tensor,
    shape: Sequence[int],
    mean: Tensor | None,
    rstd: Tensor,
    weight: Tensor | None,
    outputs: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    if not input.numel():
        return tuple(None if t is None else t.zero_() for t in outputs)
    dtype = kept_dtype(input)
    found = [None if t is None else t if t.dtype is dtype else _core.alloc(t.shape, dtype, CPU) for t in outputs]
    given = _rows(grad_out, shape, dtype), widened(weight, dtype), widened(mean, dtype), widened(rstd, dtype)
    native("mt_normalize_rows_backward", "desc", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr")(
        _rows(input, shape, dtype), *given, *found
    )
    return tuple(None if f is None or t is None else as_output(f, t) for f, t in zip(found, outputs, strict=True))


def _layer_forward(shape: Sequence[int], rstd: Tensor, centered: bool) -> Any:
    """What a layer's normalization is composed of: of input, weight and bias."""

    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, ...]:
        wide = x.to(rstd.dtype)
        out, mean, root = normalized(wide, range(-len(shape), 0), rstd, centered)
        out = out if weight is None else out * weight
        out = out if bias is None else out + bias
        return out.to(x.dtype), mean, root

    return forward


def native_layer_norm_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    grad_out, input, ctx.shape, _mean, rstd, weight, bias, _mask = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(grad_out, input, rstd, weight)


def native_layer_norm_second_gradient(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the gradients: of grad_out, the input and the weight."""
    grad_out, input, rstd, weight = ctx.saved_tensors
    forward = _layer_forward(ctx.shape, rstd, True)
    start, x, w = second_gradients(lambda x, w: forward(x, w, None), (input, weight), grad_out, grads[:2])
    if grads[2] is not None:  # the bias's gradient is a sum of grad_out alone
        start = grads[2].expand(grad_out.shape) if start is None else start + grads[2]
    return start, x, None, None, None, w, None, None


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean of squares + eps) * weight over the last dimensions."""
    if input.dim() < len(normalized_shape):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {input.dim()}")
    _check_layer(input, normalized_shape, weight, None)
    mixed = weight is not None and weight.dtype is not input.dtype
    if not input.is_complex() and not mixed:
        result: Tensor = ops.aten._fused_rms_norm(input, normalized_shape, weight, eps)[0]
        return result
    wide = input.to(F32) if input.dtype in HALVES else input
    squares = wide.square().mean(list(range(-len(normalized_shape), 0)), True)
    scaled = wide * (squares + _epsilon(wide, eps)).rsqrt()
    found: Tensor = (scaled if weight is None else scaled * weight).to(input.dtype)
    return found


def _epsilon(input: Tensor, eps: float | None) -> float:
    if eps is not None:
        return eps
    name = str(input.dtype).removeprefix("torch.")
    return _EPSILON[{"complex64": "float32", "complex128": "float64"}.get(name, name)]


def fused_rms_norm_fake(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """What `_fused_rms_norm` refuses; an output like the input, and a number for each row."""
    _check_layer(input, normalized_shape, weight, None)
    check_dtypes("_fused_rms_norm", input, weight)
    outer = _statistics_shape(input, normalized_shape)
    return _core.alloc(input.shape, input.dtype, input.device), _core.alloc(outer, kept_dtype(input), input.device)


def fused_rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean of squares + eps) * weight over the last dimensions; and 1 / the roots."""
    out, rstd = fused_rms_norm_fake(input, normalized_shape, weight, eps)
    if not input.numel():
        return out, rstd.fill_(float("nan"))
    dtype = rstd.dtype
    found = out if out.dtype is dtype else _core.alloc(out.shape, dtype, CPU)
    x = _rows(input, normalized_shape, dtype)
    _normalize_rows()(x, widened(weight, dtype), None, found, None, rstd, _epsilon(rstd, eps))
    return as_output(found, out), rstd


def fused_rms_norm_backward_fake(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """A gradient for each argument that is asked for."""
    name = "_fused_rms_norm_backward"
    _check_layer(input, normalized_shape, weight, None)
    _check_rows(name, grad_out, input, normalized_shape, weight, rstd=rstd)
    check_mask(name, output_mask, 2)
    wanted = zip((input, weight), output_mask, strict=True)
    return tuple(None if t is None or not asked else _core.alloc(t.shape, t.dtype, t.device) for t, asked in wanted)


def fused_rms_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of `_fused_rms_norm`'s input and weight, those that are asked for."""
    outputs = fused_rms_norm_backward_fake(grad_out, input, normalized_shape, rstd, weight, output_mask)
    return _rows_backward(grad_out, input, normalized_shape, None, rstd, weight, (*outputs, None))[:2]


@saves(input=0, weight=1, result1=2, normalized_shape="shape")
def fused_rms_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call, and 1 / the roots."""
    input, ctx.shape, weight, _ = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(input, weight, output[1])


def fused_rms_norm_gradient(ctx: Any, grad: Tensor | None, grad_rstd: Tensor | None) -> tuple[Any, ...]:
    """By the kernel; that of the roots, which is seldom asked for, by composition."""
    input, weight, rstd = ctx.saved_tensors
    if grad_rstd is not None:
        forward = _layer_forward(ctx.shape, rstd, False)
        x, w = gradients(lambda x, w: forward(x, w, None)[::2], (input, weight), (grad, grad_rstd))
        return x, None, w, None
    if grad is None:
        return None, None, None, None
    mask = ctx.needs_input_grad[0], weight is not None and ctx.needs_input_grad[2]
    x, w = ops.aten._fused_rms_norm_backward(grad, input, ctx.shape, rstd, weight, mask)
    return x, None, w, None


def fused_rms_norm_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call."""
    grad_out, input, ctx.shape, rstd, weight, _mask = inputs
    ctx.save_for_backward(grad_out, input, rstd, weight)


def fused_rms_norm_second_gradient(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the gradients: of grad_out, the input and the weight."""
    grad_out, input, rstd, weight = ctx.saved_tensors
    forward = _layer_forward(ctx.shape, rstd, False)
    start, x, w = second_gradients(lambda x, w: forward(x, w, None), (input, weight), grad_out, grads)
    return start, x, None, None, w, None
