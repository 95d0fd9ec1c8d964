"""Batch normalisation whose statistics are those of all processes. Here there is one process, and so its own."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core import dtype as DType
from .module import Module
from .norms import _BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Normalises each channel of (N, C, ...) by the statistics of every process's batch.

    Raises RuntimeError for a process group: there are no groups of processes here, and in a single process this is
    `BatchNorm2d` for any number of dimensions.
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
        if process_group is not None:
            raise RuntimeError(
                "SyncBatchNorm: process_group is given, but there are no groups of processes (torch.distributed) here; "
                "leave it out for one process"
            )
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

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
