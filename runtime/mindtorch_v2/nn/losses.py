"""Losses as modules, beyond those of `loss`: of numbers, of margins and distances, of likelihoods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core import Tensor
from . import functional
from ._linear_cross_entropy import LinearCrossEntropyOptions
from .layers import Linear
from .loss import NLLLoss, ReducedLoss, WeightedLoss
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss2d",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]

_Flag = bool | None


class SmoothL1Loss(ReducedLoss):
    """Half the square of the difference by ``beta`` where it is below that, else its magnitude less half ``beta``."""

    def __init__(
        self, size_average: _Flag = None, reduce: _Flag = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """smooth_l1_loss(input, target)."""
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(ReducedLoss):
    """Half the square of the difference where it is below ``delta``, else ``delta * (|difference| - delta / 2)``."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """huber_loss(input, target)."""
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(ReducedLoss):
    """``log(1 + exp(-target * input))`` of targets 1 and -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """soft_margin_loss(input, target)."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class LinearCrossEntropyLoss(WeightedLoss):
    """Cross entropy of what a linear layer of its own makes of the input (Linear's ``weight`` and ``bias``).

    ``out_features`` are the dimensions of a loss of several; ``options`` compute some rows at a time.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features, self.ignore_index = num_classes, out_features, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """linear_cross_entropy(input, weight of the layer, target)."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """Sizes and options."""
        shown: dict[str, Any] = {"in_features": self.linear.in_features, "num_classes": self.num_classes}
        shown |= {"out_features": self.out_features, "bias": self.linear.bias is not None, "reduction": self.reduction}
        names = ("ignore_index", "label_smoothing", "options")
        return ", ".join(f"{name}={value}" for name, value in {**shown, **{n: getattr(self, n) for n in names}}.items())


class KLDivLoss(ReducedLoss):
    """The divergence of Kullback and Leibler of log-probabilities from a target."""

    def __init__(
        self, size_average: _Flag = None, reduce: _Flag = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """kl_div(input, target)."""
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(ReducedLoss):
    """Minus the log-likelihood of targets of Poisson distributions with these means, or their logarithms."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: _Flag = None,
        eps: float = 1e-8,
        reduce: _Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """poisson_nll_loss(log_input, target)."""
        return functional.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(ReducedLoss):
    """Minus the log-likelihood of targets of normal distributions with these means and variances."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """gaussian_nll_loss(input, target, var)."""
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# ---------------------------------------------------------------- probabilities
class BCELoss(WeightedLoss):
    """Cross entropy of probabilities with targets between 0 and 1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """binary_cross_entropy(input, target)."""
        return functional.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(ReducedLoss):
    """`BCELoss` of the sigmoid, exact for large numbers; ``pos_weight`` weighs positive targets."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """binary_cross_entropy_with_logits(input, target)."""
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class MultiLabelSoftMarginLoss(WeightedLoss):
    """`BCEWithLogitsLoss`, the mean over classes."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """multilabel_soft_margin_loss(input, target)."""
        return functional.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """`NLLLoss`, by its old name."""


class CTCLoss(ReducedLoss):
    """Connectionist temporal classification: minus the log-likelihood of sequences of labels without alignment."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """ctc_loss(log_probs, targets, input_lengths, target_lengths)."""
        return functional.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# ---------------------------------------------------------------- margins and distances
class _Margin(ReducedLoss):
    margin: float

    def __init__(
        self, margin: float = 0.0, size_average: _Flag = None, reduce: _Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_Margin):
    """How far the inputs are from being ``margin`` apart, in the order that the target says."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """margin_ranking_loss(input1, input2, target)."""
        return functional.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Margin):
    """One less the cosine of what is alike; of what is not, the cosine above ``margin``."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """cosine_embedding_loss(input1, input2, target)."""
        return functional.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_Margin):
    """The distance of what is alike; of what is not, what it lacks of ``margin``."""

    def __init__(
        self, margin: float = 1.0, size_average: _Flag = None, reduce: _Flag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """hinge_embedding_loss(input, target)."""
        return functional.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(ReducedLoss):
    """What scores of classes that are no targets lack of being 1 below those that are."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """multilabel_margin_loss(input, target)."""
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(WeightedLoss):
    """What scores of other classes lack of being ``margin`` below the target's, to the power of ``p`` (1 or 2)."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise AssertionError(f"weight must be None or 1-dimensional, got {weight.dim()}-dimensional")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """multi_margin_loss(input, target)."""
        return functional.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class TripletMarginLoss(ReducedLoss):
    """What the negative lacks of being ``margin`` farther from the anchor than the positive, by norm ``p``."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: _Flag = None,
        reduce: _Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """triplet_margin_loss(anchor, positive, negative)."""
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(ReducedLoss):
    """`TripletMarginLoss` by a distance of one's own."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """triplet_margin_with_distance_loss(anchor, positive, negative)."""
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class PairwiseDistance(Module):
    """The norm ``p`` of the difference of vectors."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """pairwise_distance(x1, x2)."""
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle of vectors along ``dim``."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """cosine_similarity(x1, x2)."""
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)
