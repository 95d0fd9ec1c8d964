"""Dropout of whole channels, and with the constants of selu, as modules."""

from __future__ import annotations

from .._core import Tensor
from . import functional
from .layers import Dropout

__all__ = ["AlphaDropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class Dropout1d(Dropout):
    """Zeroes channels of (N, C, L) or (C, L) while training."""

    def forward(self, input: Tensor) -> Tensor:
        """dropout1d(input)."""
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """Zeroes channels of (N, C, H, W) or (C, H, W) while training."""

    def forward(self, input: Tensor) -> Tensor:
        """dropout2d(input)."""
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Dropout):
    """Zeroes channels of (N, C, D, H, W) or (C, D, H, W) while training."""

    def forward(self, input: Tensor) -> Tensor:
        """dropout3d(input)."""
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout):
    """Sets elements to selu's lower bound while training, and keeps mean and variance."""

    def forward(self, input: Tensor) -> Tensor:
        """alpha_dropout(input)."""
        return functional.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        """feature_alpha_dropout(input)."""
        return functional.feature_alpha_dropout(input, self.p, self.training)
