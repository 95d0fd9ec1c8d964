"""Losses as modules."""

from __future__ import annotations

from .._core import Tensor
from . import functional
from .module import Module

__all__ = ["CrossEntropyLoss", "L1Loss", "MSELoss", "NLLLoss"]


class MSELoss(Module):
    """The squared difference, reduced."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """mse_loss(input, target)."""
        return functional.mse_loss(input, target, self.reduction)


class L1Loss(MSELoss):
    """The magnitude of the difference, reduced."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """l1_loss(input, target)."""
        return functional.l1_loss(input, target, self.reduction)


class NLLLoss(Module):
    """Minus the log-probability of each target class."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index, self.reduction = ignore_index, reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """nll_loss(input, target)."""
        return functional.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(NLLLoss):
    """Cross entropy of scores with class indices, or with probabilities."""

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, ignore_index, reduction)
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """cross_entropy(input, target)."""
        return functional.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )
