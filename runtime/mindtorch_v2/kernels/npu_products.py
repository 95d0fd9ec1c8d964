"""Matrix products on NPUs by an AscendC kernel of the cube, and AdamW's step.

The kernel takes float32 or float16 matrices, contiguous or transposed; others are copied. What it does not take at all
goes by way of the CPU, as operators without an NPU kernel do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import Tensor
from ..npu.fallback import run_on_cpu
from ._npu import FLOAT32, SUFFIXES, blocks, fits, kernel, whole

__all__ = ["addmm", "bmm", "fused_adamw_", "mm"]

_PART = 128  # rows and columns of the result that a vector core takes
_MOST_BLOCKS = 20  # cube cores that every chip of the family has, two vector cores each
_TYPES = ("ptr",) * 5 + ("u32",) * 4 + ("bool_",) * 2
_ADAMW = ("ptr",) * 5 + ("u32",) + ("f32",) * 8
_aten: Any = torch.ops.aten


def _fit(dims: int, *matrices: Tensor) -> bool:
    """Whether the kernel takes these factors."""
    a, b = matrices
    return (
        a.dtype in SUFFIXES
        and a.dtype is b.dtype
        and a.device == b.device
        and a.dim() == b.dim() == dims
        and a.shape[-1] == b.shape[-2]
        and a.shape[:-2] == b.shape[:-2]
        and min(*a.shape, *b.shape) > 0
    )


def _operand(matrix: Tensor) -> tuple[Tensor, bool]:
    """The matrix as it lies in memory, and whether it is transposed there."""
    turned = matrix.transpose(-1, -2)
    if turned.is_contiguous() and not matrix.is_contiguous():
        return turned, True
    return matrix.contiguous(), False


def _product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    *batch, m, k = a.shape
    n = b.shape[-1]
    (left, left_turned), (right, right_turned) = _operand(a), _operand(b)
    out = _core.alloc((*batch, m, n), a.dtype, a.device)
    count = math.prod(batch)
    parts = count * -(-m // _PART) * -(-n // _PART)
    kernel("products", f"product_{SUFFIXES[a.dtype]}", *_TYPES)(
        min(-(-parts // 2), _MOST_BLOCKS), left, right, bias, out, None, count, m, n, k, left_turned, right_turned
    )
    return out


def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    if not _fit(2, self, mat2):
        return run_on_cpu(_aten.mm.default, self, mat2)  # type: ignore[no-any-return]
    return _product(self, mat2)


def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    if not _fit(3, self, mat2):
        return run_on_cpu(_aten.bmm.default, self, mat2)  # type: ignore[no-any-return]
    return _product(self, mat2)


def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """A product of matrices, and one row added to each of its rows."""
    added = self.dim() == 1 and self.is_contiguous() and self.dtype is mat1.dtype and self.device == mat1.device
    if not (added and beta == alpha == 1 and _fit(2, mat1, mat2) and self.shape[0] == mat2.shape[1]):
        return run_on_cpu(_aten.addmm.default, self, mat1, mat2, beta=beta, alpha=alpha)  # type: ignore[no-any-return]
    return _product(mat1, mat2, self)


def fused_adamw_(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    **options: Any,
) -> None:
    """A step of AdamW, for each parameter; nothing of it is read on the host."""
    grads = [whole(grad) for grad in grads]
    taken = all(
        fits(*tensors) and step.numel() == 1 and step.device == tensors[0].device
        for *tensors, step in zip(self, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True)
    )
    floats = all(t.dtype is FLOAT32 for t in (*self, *state_steps))
    if not (taken and floats) or options["amsgrad"] or options["maximize"] or _scaled(options):
        lists = self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps
        run_on_cpu(_aten._fused_adamw_.default, *lists, **options)
        return
    beta1, beta2 = options["beta1"], options["beta2"]
    logarithms = [math.log(beta) if beta > 0 else -math.inf for beta in (beta1, beta2)]
    numbers = options["lr"], beta2, 1 - beta1, 1 - beta2, *logarithms, options["weight_decay"], options["eps"]
    step = kernel("adamw", "adamw_f32", *_ADAMW)
    for tensors in zip(self, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        n = tensors[0].numel()
        step(blocks(n), *tensors, n, *numbers)


def _scaled(options: dict[str, Any]) -> bool:
    """Whether gradients are to be scaled, or looked at, first."""
    return options.get("grad_scale") is not None or options.get("found_inf") is not None
