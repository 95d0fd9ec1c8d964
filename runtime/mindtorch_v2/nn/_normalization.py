"""Normalization as functions, and similarities and distances of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._functional import norm
from .._ops import ops

__all__ = [
    "batch_norm",
    "bilinear",
    "cosine_similarity",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "one_hot",
    "pairwise_distance",
    "pdist",
    "rms_norm",
]


@names_wrong_types
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, of ``normalized_shape``."""
    result: Tensor = ops.aten.layer_norm(input, normalized_shape, weight, bias, eps)
    return result


@names_wrong_types
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean of squares + eps) * weight over the last dimensions; without eps that of the dtype."""
    result: Tensor = ops.aten.rms_norm(input, normalized_shape, weight, eps)
    return result


def _check_values(name: str, size: Sequence[int], values: int) -> None:
    """Of one value the variance is 0. Raises ValueError."""
    if values == 1:
        raise ValueError(f"Expected more than 1 {name} when training, got input size {list(size)}")


@names_wrong_types
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes each group of channels of each sample of an input (N, C, ...); weight and bias are of C."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    shape = input.shape
    rows = shape[0] * shape[1] // num_groups
    if rows <= 1:
        _check_values("value per channel", [rows, num_groups, *shape[2:]], rows * math.prod(shape[2:]))
    result: Tensor = ops.aten.group_norm(input, num_groups, weight, bias, eps)
    return result


@names_wrong_types
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of an input (N, C, ...) over all samples; else, or beside it, by running statistics.

    While training the running statistics, where there are any, move towards the batch's by ``momentum``.
    """
    if training:
        size = input.shape
        _check_values("value per channel", size, size[0] * math.prod(size[2:]))
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    result: Tensor = ops.aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
    return result


@names_wrong_types
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each sample of an input (N, C, ...) by its own statistics, or by running ones."""
    if use_input_stats:
        _check_values("spatial element", input.shape, math.prod(input.shape[2:]))
    result: Tensor = ops.aten.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )
    return result


@names_wrong_types
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean of squares) ** beta, means over ``size`` neighbouring channels of an input (N, C, ...)."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = input * input
    beside = [squares.new_zeros((squares.shape[0], n, *squares.shape[2:])) for n in (size // 2, (size - 1) // 2)]
    windows = ops.aten.cat([beside[0], squares, beside[1]], 1).unfold(1, size, 1)
    sums = windows.sum(-1)
    means = sums / size if input.is_floating_point() else sums // size
    result: Tensor = input / (means * alpha + k) ** beta
    return result


@names_wrong_types
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """x over its p-norm along a dimension, which is at least eps."""
    if type(p) is float and p == 2 and type(dim) is int and input.is_floating_point() and input.numel() > 1:  # as usual
        length = ops.aten.linalg_vector_norm.default(input, 2, [dim], True)
    else:
        length = norm(input, p, dim, keepdim=True)
    length = length.clamp_min(eps).expand_as(input)
    result: Tensor = input / length if out is None else ops.aten.div(input, length, out=out)
    return result


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) * max(|x2|, eps)) along a dimension."""
    result: Tensor = ops.aten.cosine_similarity(x1, x2, dim, eps)
    return result


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    result: Tensor = ops.aten.pairwise_distance(x1, x2, p, eps, keepdim)
    return result


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norms of the differences of all pairs of rows of an input (N, M): N * (N - 1) / 2 numbers."""
    result: Tensor = ops.aten.pdist(input, p)
    return result


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k]: inputs (..., n1) and (..., n2), weight (out, n1, n2), bias (out)."""
    result: Tensor = ops.aten.bilinear(input1, input2, weight, bias)
    return result


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Int64 indices as vectors with 1 at the index; as many classes as the largest index needs, by default."""
    result: Tensor = ops.aten.one_hot(tensor, num_classes)
    return result
