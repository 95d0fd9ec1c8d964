"""Losses as modules."""

from __future__ import annotations

from .._core import Tensor
from . import _reduction, functional
from .module import Module

__all__ = ["CrossEntropyLoss", "L1Loss", "MSELoss", "NLLLoss", "ReducedLoss", "WeightedLoss"]


class ReducedLoss(Module):
    """What losses share: how they are reduced."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _reduction.name(reduction, size_average, reduce)


class MSELoss(ReducedLoss):
    """The squared difference, reduced."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """mse_loss(input, target)."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(ReducedLoss):
    """The magnitude of the difference, reduced."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """l1_loss(input, target)."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class WeightedLoss(ReducedLoss):
    """What losses share that weigh classes, or elements: the weights, a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class NLLLoss(WeightedLoss):
    """Minus the log-probability of each target class."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """nll_loss(input, target)."""
        return functional.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(NLLLoss):
    """Cross entropy of scores with class indices, or with probabilities."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, ignore_index, reduce, reduction)
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """cross_entropy(input, target)."""
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
