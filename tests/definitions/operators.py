"""Operators by hand: a gradient that calls another, optional arguments and three outputs, tiling and workspace."""

from __future__ import annotations

from mindtorch_v2 import float32, float64, ops
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import (
    ceil_div,
    desc,
    empty,
    f32,
    f64,
    i64,
    like,
    maximum,
    minimum,
    struct,
    u32,
    u64,
    workspace,
)
from mindtorch_v2.npu import KernelLauncher

_lib = Library("defined", "FRAGMENT")
_npu = KernelLauncher.from_source("defined_npu", ["kernels.cpp"], relative_to=__file__)
_cpu = KernelLauncher.from_source("defined_cpu", ["kernels.c"], relative_to=__file__)


@_lib.operator("scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor")
def scaled_add(op, x, y, scale):
    """Returns ``x + scale * y`` in one pass over memory."""
    op.check(x.shape == y.shape)
    out = op.returns(like(x))
    n = x.numel()
    blocks = maximum(1, minimum(ceil_div(n, 2048), 40))
    launch = x.contiguous(), y.contiguous(), out, f32(scale)
    op.launch("NPU", _npu["scaled_add"], *launch, u32(n), block_dim=blocks, dtypes=[float32])
    op.launch("CPU", _cpu["scaled_add"], *launch, u64(n), dtypes=[float32])

    @op.gradient
    def _(grad):
        return {x: grad, y: ops.defined.scaled_add_grad(grad, scale)}


@_lib.operator("scaled_add_grad(Tensor grad, float scale) -> Tensor")
def scaled_add_grad(op, grad, scale):
    """Returns ``scale * grad``, the gradient of ``scaled_add`` with respect to ``y``."""
    out = op.returns(like(grad))
    n = grad.numel()
    blocks = maximum(1, minimum(ceil_div(n, 2048), 40))
    op.launch("NPU", _npu["scaled_add_grad"], grad.contiguous(), out, f32(scale), u32(n), block_dim=blocks)
    op.launch("CPU", _cpu["scaled_add_grad"], grad.contiguous(), out, f32(scale), u64(n), dtypes=[float32])

    @op.gradient
    def _(outer):
        return {grad: ops.defined.scaled_add_grad(outer, scale)}


@_lib.operator(
    "layer_norm(Tensor x, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> (Tensor, Tensor, Tensor)"
)
def layer_norm(op, x, weight, bias, eps):
    """``x`` with mean 0 and variance 1 along its last dimension, scaled and shifted; the mean; 1 / deviation."""
    n = x.size(-1)
    if weight is not None:
        op.check(weight.shape == [n])
    if bias is not None:
        op.check(bias.shape == [n])
    rows = x.shape[:-1] + [1]  # noqa: RUF005  (a shape of unknown length)
    out, mean, rstd = op.returns(like(x), empty(rows, x.dtype, x), empty(rows, x.dtype, x))
    sizes = i64(x.numel() // n), i64(n)
    given = x.contiguous(), weight, bias
    op.launch("CPU", _cpu["layer_norm"], *given, out, mean, rstd, *sizes, f64(eps), dtypes=[float64])

    @op.gradient
    def _(grad, of_mean, of_rstd):
        unit = (x - mean) * rstd
        g = grad if weight is None else grad * weight
        dx = (g - g.mean([-1], True) - unit * (g * unit).mean([-1], True)) * rstd
        found = {x: dx + (of_mean - of_rstd * unit * rstd * rstd) / n}
        if weight is not None:
            found[weight] = grad * unit
        if bias is not None:
            found[bias] = grad
        return found


@_lib.operator("row_sums(Tensor x, *, float scale=1.0) -> Tensor")
def row_sums(op, x, scale):
    """``scale`` times the sum of each row."""
    op.check(x.dim() == 2)
    rows, n = x.size(0), x.size(1)
    out = op.returns(empty([rows], x.dtype, x))
    tiling = struct(rows=u32(rows), n=u32(n), scale=f32(scale))
    blocks = maximum(1, minimum(rows, 8))
    scratch = workspace(4 * rows, x)
    op.launch("NPU", _npu["row_sums"], x.contiguous(), out, scratch, tiling, block_dim=blocks, dtypes=[float32])
    op.launch("CPU", _cpu["row_sums"], x.contiguous(), out, tiling, dtypes=[float32])

    @op.gradient
    def _(grad):
        return {x: (grad * scale).unsqueeze(1).expand(x.shape)}


@_lib.operator("product(Tensor x, Tensor y, float alpha=1.0) -> Tensor")
def product(op, x, y, alpha):
    """``x * y * alpha``."""
    op.check(x.shape == y.shape)
    out = op.returns(like(x))
    op.launch(
        "CPU", _cpu["product"], desc(x.contiguous()), desc(y.contiguous()), desc(out), f64(alpha), dtypes=[float32]
    )

    @op.gradient
    def _(grad):
        return {x: grad * y * alpha, y: grad * x * alpha}
