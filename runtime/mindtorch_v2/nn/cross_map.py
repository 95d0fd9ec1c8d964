"""Local response normalisation across channels, in the form that Torch had."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._creation import tensor
from .._ops import ops
from ..autograd import Function
from .module import Module

__all__ = ["CrossMapLRN2d"]


def _windows(channels: int, size: int) -> list[list[float]]:
    """Which channels count for which, (channels, channels). The first one stays in, as in PyTorch's sums."""
    ahead = int((size - 1) / 2 + 1)
    row = [1.0 if c < ahead else 0.0 for c in range(channels)]
    rows = [row]
    for c in range(1, channels):
        row = list(row)
        if c < channels - ahead + 1:
            row[c + ahead - 1] += 1.0
        if c > ahead:
            row[c - ahead] -= 1.0
        rows.append(row)
    return rows


def _windows_of_gradients(channels: int, size: int) -> list[list[float]]:
    """As `_windows`, for backward, where PyTorch's are others."""
    behind = int(size - (size - 1) / 2)
    return [[float(c - behind <= j < c - behind + size) for j in range(channels)] for c in range(channels)]


def _summed(windows: list[list[float]], values: Tensor) -> Any:
    """Sums over channels, of (N, C, H, W)."""
    weights = tensor(windows, dtype=values.dtype, device=values.device)
    return ops.aten.matmul(weights, values.flatten(2)).view(values.shape)


class _CrossMap(Function):
    @staticmethod
    def forward(ctx: Any, input: Any, size: int, alpha: float, beta: float, k: float) -> Any:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        scale = _summed(_windows(input.size(1), size), input * input) * (alpha / size) + k
        output = scale.pow(-beta) * input
        ctx.save_for_backward(input, output, scale)
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        input, output, scale = ctx.saved_tensors
        ratio = _summed(_windows_of_gradients(input.size(1), ctx.size), grad * output / scale)
        factor = 2 * ctx.alpha * ctx.beta / ctx.size
        return scale.pow(-ctx.beta) * grad - factor * input * ratio, None, None, None, None


class CrossMapLRN2d(Module):
    """Divides (N, C, H, W) by ``(k + alpha / size * s) ** beta``, s the sum of squares of the channels around.

    Its windows and gradients are PyTorch's, which are a little off the formula; `LocalResponseNorm` has the formula.
    Raises ValueError for other than four dimensions.
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalised."""
        result: Tensor = _CrossMap.apply(input, self.size, self.alpha, self.beta, self.k)
        return result

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
