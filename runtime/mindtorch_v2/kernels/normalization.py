"""Normalization by layers, by the root of the mean square, by groups and by batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import inverse_root
from ._composed import gradients, second_gradients
from ._contexts import saves
from ._native import native

_DTYPES = _core.dtypes
_F32, _F64 = _DTYPES["float32"], _DTYPES["float64"]
_HALVES = (_DTYPES["float16"], _DTYPES["bfloat16"])
_CPU = _core.device("cpu")
_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


# ---------------------------------------------------------------- what is refused
def _check_dtypes(name: str, input: Tensor, *parameters: Tensor | None) -> Any:
    """The dtype of the statistics: float32 where the input is half precision and a parameter is float32."""
    if not input.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {input.dtype}')
    kinds = {p.dtype for p in parameters if p is not None}
    if kinds <= {input.dtype}:
        return input.dtype
    if input.dtype in _HALVES and kinds == {_F32}:
        return _F32
    wrong = next(kind for kind in kinds if kind is not input.dtype)
    raise RuntimeError(f"{name}: expected parameters of {input.dtype}, as the input, but found {wrong}")


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


def _check_vectors(channels: int, what: str, **given: Tensor | None) -> None:
    for name, vector in given.items():
        if vector is not None and (vector.dim() != 1 or vector.numel() != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                "shape "
                f"{list(vector.shape)} and {what}: {name} should contain {channels} elements"
            )


def check_shape(name: str, argument: str, given: Tensor | None, shape: Sequence[int]) -> None:
    """Raises RuntimeError where an argument of a gradient has another shape than the call that it is of."""
    if given is not None and tuple(given.shape) != tuple(shape):
        raise RuntimeError(f"{name}(): expected {argument} of shape {list(shape)}, got {list(given.shape)}")


def check_floating(name: str, **given: Tensor | None) -> None:
    """Raises RuntimeError where an argument of a gradient is no floating-point tensor."""
    for argument, tensor in given.items():
        if tensor is not None and not tensor.is_floating_point():
            raise RuntimeError(f"{name}(): expected a floating-point {argument}, got {tensor.dtype}")


# ---------------------------------------------------------------- memory of kernels
def _wide(tensor: Tensor | None, dtype: Any) -> Tensor | None:
    if tensor is None:
        return None
    wide: Tensor = (tensor if tensor.dtype is dtype else tensor.to(dtype)).contiguous()
    return wide


def _kept(tensor: Tensor) -> Any:
    """The dtype that a kernel computes in."""
    return _F64 if tensor.dtype is _F64 else _F32


def _numbers(array: Any) -> Tensor:
    """A tensor of float64 with an array's numbers, for a kernel to read."""
    import numpy as np

    result = _core.alloc((array.size,), _F64, _CPU)
    np.asarray(_core.as_memoryview(result))[...] = array.reshape(-1)
    return result


def _array(tensor: Tensor) -> Any:
    import numpy as np

    return np.asarray(_core.as_memoryview(tensor if tensor.dtype is _F64 else tensor.to(_F64)))


def _tensor(array: Any, dtype: Any) -> Tensor:
    import numpy as np

    result = _core.alloc(np.shape(array), _F64, _CPU)
    np.asarray(_core.as_memoryview(result))[...] = array
    return result if dtype is _F64 else result.to(dtype)


# ---------------------------------------------------------------- layers, and the root of the mean square
def _statistics_shape(input: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    return (*input.shape[: input.dim() - len(shape)], *(1,) * len(shape))


def _rows(tensor: Tensor, shape: Sequence[int], dtype: Any) -> Tensor:
    result: Tensor = (tensor if tensor.dtype is dtype else tensor.to(dtype)).contiguous()
    if tensor.dim() != 2 or len(shape) != 1:
        result = result.reshape((math.prod(tensor.shape[: tensor.dim() - len(shape)]), math.prod(shape)))
    return result


def _as(tensor: Tensor, like: Tensor) -> Tensor:
    """A kernel's memory in the shape and dtype of an output."""
    result: Tensor = tensor.reshape(like.shape).to(like.dtype)
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
    of_statistics = _check_dtypes("native_layer_norm", input, weight, bias)
    kinds = (input.shape, input.dtype), (outer, of_statistics), (outer, of_statistics)
    out, mean, rstd = (_core.alloc(shape, dtype, input.device) for shape, dtype in kinds)
    if not input.numel():
        return out, mean.zero_(), rstd if math.prod(normalized_shape) else rstd.fill_(float("nan"))
    dtype = _kept(input)
    found = [t if t.dtype is dtype else _core.alloc(t.shape, dtype, _CPU) for t in (out, mean, rstd)]
    x = _rows(input, normalized_shape, dtype)
    _normalize_rows()(x, _wide(weight, dtype), _wide(bias, dtype), *found, eps)
    return tuple(f if f is t else _as(f, t) for f, t in zip(found, (out, mean, rstd), strict=True))


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
    _check_mask(name, output_mask, 3)
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


def _check_mask(name: str, output_mask: Sequence[bool], size: int) -> None:
    if len(output_mask) != size:
        raise RuntimeError(f"{name}(): expected an output_mask of {size}, got {len(output_mask)}")


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
    dtype = _kept(input)
    found = [None if t is None else t if t.dtype is dtype else _core.alloc(t.shape, dtype, _CPU) for t in outputs]
    given = _rows(grad_out, shape, dtype), _wide(weight, dtype), _wide(mean, dtype), _wide(rstd, dtype)
    native("mt_normalize_rows_backward", "desc", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr")(
        _rows(input, shape, dtype), *given, *found
    )
    return tuple(None if f is None or t is None else _as(f, t) for f, t in zip(found, outputs, strict=True))


def _normalized(x: Tensor, dims: Sequence[int], rstd: Tensor, centered: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) * rstd over dimensions, mean and rstd, as operators compose them.

    ``rstd`` has the values: the epsilon that they were made with is what they have beyond the variance.
    """
    mean = x.mean(list(dims), True) if centered else ops.aten.zeros_like(rstd)
    apart = x - mean if centered else x
    var = apart.square().mean(list(dims), True)
    root = (var + (rstd.detach() ** -2 - var.detach())).rsqrt()
    return apart * root, mean, root


def _layer_forward(shape: Sequence[int], rstd: Tensor, centered: bool) -> Any:
    """What a layer's normalization is composed of: of input, weight and bias."""

    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, ...]:
        wide = x.to(rstd.dtype)
        out, mean, root = _normalized(wide, range(-len(shape), 0), rstd, centered)
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
    wide = input.to(_F32) if input.dtype in _HALVES else input
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
    _check_dtypes("_fused_rms_norm", input, weight)
    outer = _statistics_shape(input, normalized_shape)
    return _core.alloc(input.shape, input.dtype, input.device), _core.alloc(outer, _kept(input), input.device)


def fused_rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean of squares + eps) * weight over the last dimensions; and 1 / the roots."""
    out, rstd = fused_rms_norm_fake(input, normalized_shape, weight, eps)
    if not input.numel():
        return out, rstd.fill_(float("nan"))
    dtype = rstd.dtype
    found = out if out.dtype is dtype else _core.alloc(out.shape, dtype, _CPU)
    x = _rows(input, normalized_shape, dtype)
    _normalize_rows()(x, _wide(weight, dtype), None, found, None, rstd, _epsilon(rstd, eps))
    return _as(found, out), rstd


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
    _check_mask(name, output_mask, 2)
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
    _check_vectors(c, f"input of shape {list(input.shape)}", weight=weight, bias=bias)
    dtype = _check_dtypes("native_group_norm", input, weight, bias)
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


def _moments(x: Tensor, n: int, c: int) -> tuple[Any, Any]:
    """Of planes (n, c) the means, and the sums of the squared distances from them."""
    means, squares = (_core.alloc((n * c,), _F64, _CPU) for _ in range(2))
    native("mt_plane_moments", "desc", "ptr", "ptr")(x, means, squares)
    return _array(means).reshape(n, c), _array(squares).reshape(n, c)


def _affine(x: Tensor, of_planes: Sequence[Any], out: Tensor) -> Tensor:
    """(x - center) * scale + shift by numbers of each plane, in the dtype of ``out``, and there where it may be."""
    found = out if out.dtype is x.dtype else _core.alloc(out.shape, x.dtype, _CPU)
    native("mt_plane_affine", "desc", "ptr", "ptr", "ptr", "ptr")(x, *(_numbers(a) for a in of_planes), found)
    return _as(found, out)


def _vector(parameter: Tensor | None, otherwise: float, c: int) -> Any:
    import numpy as np

    return np.full(c, otherwise) if parameter is None else _array(parameter.detach().contiguous())


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
    import numpy as np

    out, mean, rstd = native_group_norm_fake(input, weight, bias, n, c, area, group, eps)
    if not input.numel():
        return out, mean.zero_(), rstd.fill_(float("nan"))
    x = _planes(input, n, c, area)
    means, squares = (a.reshape(n, group, c // group) for a in _moments(x, n, c))
    center = means.mean(2, keepdims=True)
    var = (squares / area + (means - center) ** 2).mean(2, keepdims=True)
    root = inverse_root(var, eps)
    each = np.broadcast_to(root, means.shape).reshape(n, c) * _vector(weight, 1.0, c)
    shifts = np.broadcast_to(_vector(bias, 0.0, c), (n, c))
    centers = np.broadcast_to(center, means.shape).reshape(n, c)
    result = _affine(x, (centers, each, shifts), out)
    return result, _tensor(center[:, :, 0], mean.dtype), _tensor(root[:, :, 0], rstd.dtype)


def _planes(tensor: Tensor, n: int, c: int, size: int) -> Tensor:
    result: Tensor = tensor.to(_kept(tensor)).contiguous().reshape((n * c, size))
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
    _check_mask(name, output_mask, 3)
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
    centers, roots = (np.repeat(_array(t.contiguous()), size, axis=1) for t in (mean, rstd))
    dy, x = (_planes(t, n, c, area) for t in (grad_out.to(input.dtype), input))
    sums, dots = _plane_sums(dy, x, centers)
    scales = roots * _vector(weight, 1.0, c)

    def over_group(each: Any) -> Any:
        return np.repeat(each.reshape(n, group, size).sum(2) / (size * area), size, axis=1)

    shifts = -over_group(sums * scales)
    slopes = -over_group(dots * scales) * roots**2
    return _channel_gradients(outputs, dy, x, (scales, centers, slopes, shifts), dots * roots, sums)


def _plane_sums(dy: Tensor, x: Tensor, centers: Any) -> tuple[Any, Any]:
    """Of each plane the sum of ``dy``, and that of ``dy * (x - center)``, in the centers' shape."""
    sums, dots = (_core.alloc((centers.size,), _F64, _CPU) for _ in range(2))
    native("mt_plane_sums", "desc", "ptr", "ptr", "ptr", "ptr")(dy, x, _numbers(centers), sums, dots)
    return _array(sums).reshape(centers.shape), _array(dots).reshape(centers.shape)


def _channel_gradients(
    outputs: Sequence[Tensor | None], dy: Tensor, x: Tensor, of_planes: Sequence[Any], dots: Any, sums: Any
) -> tuple[Tensor | None, ...]:
    """dy * scale + (x - center) * slope + shift, and the sums over samples of what is of weights and biases."""
    of_input, of_weight, of_bias = outputs
    if of_input is not None:
        found = of_input if of_input.dtype is x.dtype else _core.alloc(of_input.shape, x.dtype, _CPU)
        native("mt_plane_gradient", "desc", "ptr", "ptr", "ptr", "ptr", "ptr", "ptr")(
            dy, x, *(_numbers(a) for a in of_planes), found
        )
        of_input = _as(found, of_input)
    return (
        of_input,
        None if of_weight is None else _tensor(dots.sum(0), of_weight.dtype),
        None if of_bias is None else _tensor(sums.sum(0), of_bias.dtype),
    )


def _group_forward(sizes: Sequence[int], rstd: Tensor) -> Any:
    """What normalization by groups is composed of: of input, weight and bias."""
    n, c, size, group = sizes

    def forward(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, ...]:
        grouped = x.to(rstd.dtype).reshape((n, group, c // group * size))
        out, mean, root = _normalized(grouped, (2,), rstd.reshape((n, group, 1)))
        out = out.reshape((n, c, size))
        out = out if weight is None else out * weight.reshape((c, 1))
        out = out if bias is None else out + bias.reshape((c, 1))
        return out.reshape(x.shape).to(x.dtype), mean.reshape((n, group)), root.reshape((n, group))

    return forward


@saves(input=0, weight=1, result1=2, result2=3)
def native_group_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call, and its statistics."""
    input, weight, bias, *ctx.sizes, _eps = inputs
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
