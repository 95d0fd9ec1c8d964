"""Normalization by batches: each channel by the statistics of all samples, or by those that were seen before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._composed import second_gradients
from ._contexts import saves
from ._native import native
from ._normalizing import (
    check_dtypes,
    check_floating,
    check_mask,
    check_shape,
    check_vectors,
    kept_dtype,
    normalized,
    numbers_as_tensor,
    numbers_of,
)
from .reduction import wrap_dim, written

_U8 = _core.dtypes["uint8"]
_FUNCTIONALIZE = _core.key_mask("Functionalize")


# ---------------------------------------------------------------- forward
def native_batch_norm_fake(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What `native_batch_norm` refuses; an output like the input, and while training a number for each channel."""
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    if input.dim() < 2 and input.numel():
        raise RuntimeError(f"batch_norm: expected an input (N, C, ...) of at least 2 dimensions, got {input.dim()}")
    channels = input.shape[1] if input.dim() > 1 else 0
    check_vectors(
        channels,
        f"input of shape {list(input.shape)}",
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    # Nothing is computed of an input without elements, which may be of any dtype.
    empty = not input.numel()
    dtype = input.dtype if empty else check_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    shape = (channels,) if training else (0,)
    return (
        _core.alloc(input.shape, input.dtype, input.device),
        _core.alloc(shape, dtype, input.device),
        _core.alloc(shape, dtype, input.device),
    )


def _laid_out(tensor: Tensor) -> Tensor:
    """A tensor in rows or with its channels last, as kernels take it."""
    result: Tensor = tensor.contiguous(memory_format=_core.suggested_format(tensor))
    return result


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + eps) * weight + bias of each channel; while training the means, and 1 / the roots.

    While training the running statistics move towards the batch's by ``momentum``, the variance without bias.
    """
    out, save_mean, save_invstd = native_batch_norm_fake(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    if not input.numel():
        return out, save_mean.zero_(), save_invstd.zero_()
    x = _laid_out(input)
    if not x.is_contiguous():
        out = _core.alloc_in_format_of(x)
    saved = (save_mean, save_invstd) if training else (None, None)
    _run(x, (weight, bias, running_mean, running_var, *saved, out), training, False, momentum, eps)
    return out, save_mean, save_invstd


def _run(
    x: Tensor, given: tuple[Tensor | None, ...], training: bool, keeps_variance: bool, momentum: float, eps: float
) -> None:
    """The kernel: ``given`` are weight, bias, running mean and variance, what is saved of the batch's, the output."""
    memory = [t if t is None or not _core.tensor_keys(t) & _FUNCTIONALIZE else _copy_of(t) for t in given]
    run = native("mt_batch_norm", *("desc",) * 8, "i64", "i64", "i64", "f64", "f64")
    mask = sum(1 << i for i, t in enumerate(given) if t is not None)
    run(x, *(x if t is None else t for t in memory), mask, training, keeps_variance, momentum, eps)
    for running, values in zip(given[2:4], memory[2:4], strict=True):
        if training and running is not None and values is not None and values is not running:
            _write(running, values)


def _copy_of(tensor: Tensor) -> Tensor:
    """The elements of a tensor that has no memory of its own."""
    return numbers_as_tensor(numbers_of(tensor.detach().contiguous()), tensor.dtype)


def batch_norm_update_stats_fake(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """What `batch_norm_update_stats` refuses; a number for each channel."""
    check_dtypes("batch_norm_update_stats", input, running_mean, running_var)
    wrap_dim(1, input.dim())
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    return native_batch_norm_fake(input, None, None, running_mean, running_var, True, momentum, 0.0)[1:]


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """The channels' means and variances, towards which running statistics move, the variance's without bias."""
    save_mean, save_var = batch_norm_update_stats_fake(input, running_mean, running_var, momentum)
    given = (None, None, running_mean, running_var, save_mean, save_var, None)
    _run(_laid_out(input), given, True, True, momentum, 0.0)
    return save_mean, save_var


def _write(running: Tensor, values: Tensor) -> None:
    """Into the memory of running statistics: the schemas, which are PyTorch's, do not say that these change."""
    if _core.tensor_keys(running) & _FUNCTIONALIZE:
        ops.aten.copy_(ops.aten.alias(running), values)
        return
    native("mt_copy", "desc", "desc")(values, running)


def native_batch_norm_no_stats(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As `native_batch_norm`, without running statistics."""
    return native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


def native_batch_norm_no_stats_fake(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As `native_batch_norm_fake`, without running statistics."""
    return native_batch_norm_fake(input, weight, bias, None, None, training, momentum, eps)


def native_batch_norm_no_training(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `native_batch_norm`, by the running statistics."""
    return native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


def native_batch_norm_no_training_fake(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `native_batch_norm_fake`, by the running statistics."""
    return native_batch_norm_fake(input, weight, bias, running_mean, running_var, False, momentum, eps)


def batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """As `native_batch_norm` while training; and memory for a backend, of which this one needs none."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, _core.alloc((0,), _U8, input.device)


def batch_norm_with_update_fake(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Shapes of `batch_norm_with_update`."""
    found = native_batch_norm_fake(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, _core.alloc((0,), _U8, input.device)


def batch_norm_no_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """As `native_batch_norm` by the running statistics; and memory for a backend, of which this one needs none."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return *found, _core.alloc((0,), _U8, input.device)


def batch_norm_no_update_fake(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Shapes of `batch_norm_no_update`."""
    found = native_batch_norm_fake(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return *found, _core.alloc((0,), _U8, input.device)


# ---------------------------------------------------------------- into tensors
def native_batch_norm_into(*args: Any, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> Any:
    """`native_batch_norm` into tensors."""
    return written((out, save_mean, save_invstd), ops.aten.native_batch_norm(*args))


def legit_into(*args: Any, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> Any:
    """`_native_batch_norm_legit` into tensors."""
    return written((out, save_mean, save_invstd), ops.aten._native_batch_norm_legit(*args))


def no_stats_into(*args: Any, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> Any:
    """`_native_batch_norm_legit.no_stats` into tensors."""
    return written((out, save_mean, save_invstd), ops.aten._native_batch_norm_legit.no_stats(*args))


def with_update_into(*args: Any, out: Tensor, save_mean: Tensor, save_invstd: Tensor, reserve: Tensor) -> Any:
    """`_batch_norm_with_update` into tensors."""
    return written((out, save_mean, save_invstd, reserve), ops.aten._batch_norm_with_update(*args))


# ---------------------------------------------------------------- gradients
def native_batch_norm_backward_fake(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """A gradient for each argument that is asked for."""
    name = "native_batch_norm_backward"
    if input.dim() < 2 and input.numel():
        raise RuntimeError(f"{name}(): expected an input (N, C, ...) of at least 2 dimensions, got {input.dim()}")
    check_shape(name, "grad_out", grad_out, input.shape)
    statistics = {"save_mean": save_mean, "save_invstd": save_invstd}
    if not train:
        statistics = {"running_mean": running_mean, "running_var": running_var}
    for argument, given in {"weight": weight, **statistics}.items():
        check_shape(name, argument, given, input.shape[1:2] if input.dim() > 1 else (0,))
    check_floating(name, grad_out=grad_out, input=input, weight=weight, **statistics)
    check_mask(name, output_mask, 3)
    dtype = input.dtype if weight is None else weight.dtype
    channels = (input.shape[1] if input.dim() > 1 else 0,)
    shapes = ((input.shape, input.dtype), (channels, dtype), (channels, dtype))
    return tuple(
        _core.alloc(shape, kind, input.device) if asked else None
        for (shape, kind), asked in zip(shapes, output_mask, strict=True)
    )


def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of `native_batch_norm`'s input, weight and bias, those that are asked for."""
    outputs = native_batch_norm_backward_fake(
        grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
    )
    if not input.numel():
        return tuple(None if t is None else t.zero_() for t in outputs)
    x = _laid_out(input)
    grad, statistics = grad_out.to(input.dtype), (save_mean, save_invstd) if train else (running_mean, running_var)
    if x.is_contiguous():
        grad = grad.contiguous()
    else:
        grad = grad.contiguous(memory_format=_core.suggested_format(x))
        outputs = (None if outputs[0] is None else _core.alloc_in_format_of(x), *outputs[1:])
    given = (weight, *statistics, *outputs)
    run = native("mt_batch_norm_backward", *("desc",) * 8, "i64", "i64", "f64")
    mask = sum(1 << i for i, t in enumerate(given) if t is not None)
    run(grad, x, *(x if t is None else t for t in given), mask, train, eps)
    return outputs


def batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_var: Tensor | None,
    update: bool,
    eps: float,
    output_mask: Sequence[bool],
    reserve: Tensor,
) -> tuple[Tensor | None, ...]:
    """`native_batch_norm_backward`, under another name."""
    found: tuple[Tensor | None, ...] = ops.aten.native_batch_norm_backward(
        grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask
    )
    return found


def _per_channel(vector: Tensor, x: Tensor) -> Tensor:
    result: Tensor = vector.reshape((1, -1, *(1,) * (x.dim() - 2)))
    return result


def native_batch_norm_backward_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call: of the statistics those that were used."""
    grad_out, input, weight, running_mean, running_var, _, save_invstd, ctx.train, ctx.eps, _mask = inputs
    statistics = (None, save_invstd) if ctx.train else (running_mean, running_var)
    ctx.save_for_backward(grad_out, input, weight, *statistics)


def native_batch_norm_second_gradient(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the gradients: of grad_out, the input and the weight."""
    grad_out, input, weight, mean, spread = ctx.saved_tensors

    def forward(x: Tensor, w: Tensor | None) -> tuple[Tensor, ...]:
        if ctx.train:
            dims = [d for d in range(x.dim()) if d != 1]
            out = normalized(x.to(spread.dtype), dims, _per_channel(spread, x))[0]
        else:
            out = (x - _per_channel(mean, x)) * (_per_channel(spread, x) + ctx.eps).rsqrt()
        return ((out if w is None else out * _per_channel(w, x)).to(x.dtype),)

    start, x, w = second_gradients(forward, (input, weight), grad_out, grads[:2])
    if grads[2] is not None:  # the bias's gradient is a sum of grad_out alone
        of_bias = _per_channel(grads[2], grad_out).expand(grad_out.shape)
        start = of_bias if start is None else start + of_bias
    return start, x, w, *(None,) * 7


def _kept_call(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...], training: bool) -> None:
    input, weight, bias, mean, var = inputs
    for name, running in (("running_mean", mean), ("running_var", var)):
        if running is not None and running.requires_grad:
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. This input "
                "cannot have requires_grad True."
            )
    ctx.training, ctx.has_bias = training, bias is not None
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(input, weight, *((None, None) if training else (mean, var)), output[1], output[2])


_SAVED = saves(input=0, weight=1, running_mean=2, running_var=3, result1=4, result2=5, training="training", eps="eps")


@_SAVED
def native_batch_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps the call, and its statistics; running ones, which training changes, where they were used."""
    *given, training, _momentum, ctx.eps = inputs
    _kept_call(ctx, tuple(given), output, training)


@_SAVED
def no_stats_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """As `native_batch_norm_setup`, without running statistics."""
    *given, training, _momentum, ctx.eps = inputs
    _kept_call(ctx, (*given, None, None), output, training)


@_SAVED
def no_training_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """As `native_batch_norm_setup`, by the running statistics."""
    *given, _momentum, ctx.eps = inputs
    _kept_call(ctx, tuple(given), output, False)


@_SAVED
def with_update_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """As `native_batch_norm_setup`, while training."""
    *given, _momentum, ctx.eps = inputs
    _kept_call(ctx, tuple(given), output, True)


def _gradient(ctx: Any, grad: Tensor | None, count: int) -> tuple[Any, ...]:
    if grad is None:
        return (None,) * count
    input, weight, mean, var, save_mean, save_invstd = ctx.saved_tensors
    needs = ctx.needs_input_grad
    mask = needs[0], weight is not None and needs[1], ctx.has_bias and needs[2]
    found = ops.aten.native_batch_norm_backward(
        grad, input, weight, mean, var, save_mean, save_invstd, ctx.training, ctx.eps, mask
    )
    return *found, *(None,) * (count - 3)


def native_batch_norm_gradient(ctx: Any, grad: Tensor | None, *_of_statistics: Tensor | None) -> tuple[Any, ...]:
    """The gradients of the input, the weight and the bias; statistics have none, as in PyTorch."""
    return _gradient(ctx, grad, 8)


def no_stats_gradient(ctx: Any, grad: Tensor | None, *_of_statistics: Tensor | None) -> tuple[Any, ...]:
    """As `native_batch_norm_gradient`, of six arguments."""
    return _gradient(ctx, grad, 6)


def no_training_gradient(ctx: Any, grad: Tensor | None, *_of_statistics: Tensor | None) -> tuple[Any, ...]:
    """As `native_batch_norm_gradient`, of seven arguments."""
    return _gradient(ctx, grad, 7)


# ---------------------------------------------------------------- tangents
def native_batch_norm_tangent(inputs: tuple[Any, ...], tangents: tuple[Any, ...], output: Any) -> tuple[Any, ...]:
    """The tangent of the output. Raises RuntimeError where running statistics that are used have tangents, too."""
    *given, training, _momentum, eps = inputs
    return _tangent(tuple(given), tangents, training, eps)


def no_training_tangent(inputs: tuple[Any, ...], tangents: tuple[Any, ...], output: Any) -> tuple[Any, ...]:
    """As `native_batch_norm_tangent`, by the running statistics."""
    *given, _momentum, eps = inputs
    return _tangent(tuple(given), tangents, False, eps)


def _tangent(given: tuple[Any, ...], tangents: tuple[Any, ...], training: bool, eps: float) -> tuple[Any, ...]:
    input, weight, _, running_mean, running_var = given
    of_input, of_weight, of_bias, *of_running = tangents[:5]
    if of_input is None and of_weight is None and of_bias is None:
        return None, None, None
    if not training and any(t is not None for t in of_running):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined"
        )
    x = input.to(kept_dtype(input))
    dims = [d for d in range(x.dim()) if d != 1]
    if training:
        mean = x.mean(dims, True)
        var = (x - mean).square().mean(dims, True)
    else:
        mean, var = (_per_channel(t.to(x.dtype), x) for t in (running_mean, running_var))
    root = (var + eps).rsqrt()
    normal = (x - mean) * root
    found = ops.aten.zeros_like(x)
    if of_input is not None:
        moved = of_input.to(x.dtype)
        if training:
            moved = moved - moved.mean(dims, True) - normal * (normal * moved).mean(dims, True)
        found = moved * root if weight is None else moved * root * _per_channel(weight, x)
    if of_weight is not None:
        found = found + normal * _per_channel(of_weight, x)
    if of_bias is not None:
        found = found + _per_channel(of_bias, x)
    return found.to(input.dtype), None, None


# ---------------------------------------------------------------- instances
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Each channel of each sample by its own statistics; running ones are of all samples, and move by their mean."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if input.dim() < 2:
        raise RuntimeError(f"instance_norm: expected an input (N, C, ...) of at least 2 dimensions, got {input.dim()}")
    n, c = input.shape[:2]

    def repeated(vector: Tensor | None) -> Tensor | None:
        return None if vector is None else vector.repeat((n,))

    means, variances = repeated(running_mean), repeated(running_var)
    out: Tensor = ops.aten.batch_norm(
        input.contiguous().view((1, n * c, *input.shape[2:])),
        repeated(weight),
        repeated(bias),
        means,
        variances,
        use_input_stats,
        momentum,
        eps,
        cudnn_enabled,
    )
    for running, found in ((running_mean, means), (running_var, variances)):
        if running is not None and found is not None:
            _write(running, found.view((n, c)).mean(0).to(running.dtype))
    result: Tensor = out.view(input.shape)
    return result
