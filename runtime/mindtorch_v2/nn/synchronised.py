"""Batch normalisation whose statistics are those of all processes."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core import dtype as DType
from .._hooks import hooks
from ..autograd import Function, no_grad
from .module import Module
from .norms import _BatchNorm

__all__ = ["SyncBatchNorm"]


class _SumOfAll(Function):
    """The sum of a tensor over processes, and of its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, add: Any) -> Any:
        ctx.add = add
        return add(x.clone())

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.add(grad.clone()), None


class SyncBatchNorm(_BatchNorm):
    """Normalises each channel of (N, C, ...) by the statistics of every process's batch.

    The processes are those of ``process_group``, or all; where there is no group it is `BatchNorm2d` for any number of
    dimensions. Backward adds up gradients in the same way. Raises ValueError for an input of one dimension.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _normalise(
        self, input: Tensor, mean: Tensor | None, var: Tensor | None, of_batch: bool, factor: float
    ) -> Tensor:
        add = hooks.adding_up(self.process_group) if of_batch and hooks.adding_up is not None else None
        if add is None:
            return super()._normalise(input, mean, var, of_batch, factor)
        others = [dim for dim in range(input.dim()) if dim != 1]
        column = [1, -1] + [1] * (input.dim() - 2)
        count = add(input.new_full([1], input.numel() // input.size(1)))
        batch_mean = _SumOfAll.apply(input.sum(others), add) / count
        away = input - batch_mean.view(column)
        batch_var = _SumOfAll.apply(away.square().sum(others), add) / count
        if mean is not None and var is not None:
            with no_grad():
                mean.lerp_(batch_mean.to(mean.dtype), factor)
                var.lerp_((batch_var * (count / (count - 1))).to(var.dtype), factor)
        result: Tensor = away * (batch_var + self.eps).rsqrt().view(column)
        if self.weight is not None:
            result = result * self.weight.view(column)
        return result if self.bias is None else result + self.bias.view(column)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """``module`` with a `SyncBatchNorm` of the same parameters in place of every batch normalisation below it."""
        made: Module = module
        if isinstance(module, _BatchNorm):
            options = module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
            made = SyncBatchNorm(*options, process_group, bias=module.bias is not None)
            made.training = module.training
            for registry in ("_parameters", "_buffers"):
                getattr(made, registry).update(getattr(module, registry))
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
