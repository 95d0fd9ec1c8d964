"""Batch normalisation without running statistics, which `vmap` and other transforms can run."""

from __future__ import annotations

from ..nn import Module
from ..nn.norms import _BatchNorm

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes every batch normalisation of a module, in place, one of each batch's own statistics; returns the module."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
