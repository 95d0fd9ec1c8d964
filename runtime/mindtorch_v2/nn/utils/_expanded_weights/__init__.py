"""Weights whose gradients come apart by the samples of a batch; `_per_sample_grad` makes them of a module's."""

from __future__ import annotations

from .expanded_weights_impl import ExpandedWeight

__all__ = ["ExpandedWeight"]
