"""Operators defined by hand for the benchmarks: what `docs/operators.md` shows, over the kernels of the example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mindtorch_v2 import float32, ops
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import f32, i64, like, u64
from mindtorch_v2.npu import KernelLauncher

_lib = Library("benchmarks", "FRAGMENT")
_example = Path(__file__).parents[1] / "examples/scaled_add/scaled_add_cpu.c"
_kernels = KernelLauncher.from_source("benchmarks", [_example, "product.c"], relative_to=__file__)


@_lib.operator("scaled_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor")
def scaled_add(op: Any, x: Any, y: Any, scale: Any) -> None:
    """Returns ``x + scale * y``."""
    op.check(x.shape == y.shape)
    out = op.returns(like(x))
    arguments = x.contiguous(), y.contiguous(), out, f32(scale), u64(x.numel())
    op.launch("CPU", _kernels["scaled_add_cpu"], *arguments, dtypes=[float32])

    @op.gradient  # type: ignore[untyped-decorator, unused-ignore]
    def _(grad: Any) -> dict[Any, Any]:
        return {x: grad, y: ops.benchmarks.scaled_add_grad(grad, scale)}


@_lib.operator("scaled_add_grad(Tensor grad, float scale) -> Tensor")
def scaled_add_grad(op: Any, grad: Any, scale: Any) -> None:
    """Returns ``scale * grad``."""
    out = op.returns(like(grad))
    arguments = grad.contiguous(), out, f32(scale), u64(grad.numel())
    op.launch("CPU", _kernels["scaled_add_grad_cpu"], *arguments, dtypes=[float32])


@_lib.operator("product(Tensor x, Tensor y, float alpha=1.0) -> Tensor")
def product(op: Any, x: Any, y: Any, alpha: Any) -> None:
    """Returns ``x * y * alpha``; the two gradients are two built-in multiplications each."""
    op.check(x.shape == y.shape)
    out = op.returns(like(x))
    arguments = x.contiguous(), y.contiguous(), out, f32(alpha), i64(x.numel())
    op.launch("CPU", _kernels["product"], *arguments, dtypes=[float32])

    @op.gradient  # type: ignore[untyped-decorator, unused-ignore]
    def _(grad: Any) -> dict[Any, Any]:
        return {x: grad * y * alpha, y: grad * x * alpha}
