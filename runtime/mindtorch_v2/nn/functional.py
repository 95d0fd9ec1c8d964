"""Layers, activations and losses as functions, as ``torch.nn.functional``."""

from __future__ import annotations

import warnings

from .._argument_types import as_int, names_wrong_types
from .._core import Tensor
from .._core import dtype as DType
from .._frames import user_stacklevel
from .._functional import broadcast_tensors
from .._ops import ops
from ..overrides import overridable
from . import _activations, _attention, _dropouts, _embedding, _losses, _normalization, _reduction, _spatial
from . import grad as grad
from ._activations import *  # noqa: F403  (activations with and without ``inplace``)
from ._attention import *  # noqa: F403
from ._attention import canonical_mask as _canonical_mask  # noqa: F401  (libraries import it)
from ._attention import none_or_dtype as _none_or_dtype  # noqa: F401
from ._dropouts import *  # noqa: F403
from ._embedding import *  # noqa: F403
from ._linear_cross_entropy import linear_cross_entropy
from ._losses import *  # noqa: F403
from ._normalization import *  # noqa: F403  (normalization, similarities and distances)
from ._spatial import *  # noqa: F403  (convolution, pooling, padding, resampling)
from ._spatial import GRID_SAMPLE_INTERPOLATION_MODES as GRID_SAMPLE_INTERPOLATION_MODES
from ._spatial import GRID_SAMPLE_PADDING_MODES as GRID_SAMPLE_PADDING_MODES

__all__ = [
    "cross_entropy",
    "dropout",
    "gelu",
    "grouped_mm",
    "l1_loss",
    "linear",
    "linear_cross_entropy",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "tanh",
    *_activations.__all__,
    *_attention.__all__,
    *_dropouts.__all__,
    *_embedding.__all__,
    *_losses.__all__,
    *_normalization.__all__,
    *_spatial.__all__,
]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``; input (..., in), weight (out, in), bias (out)."""
    result: Tensor = ops.aten.linear(input, weight, bias)
    return result


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Products of groups of matrices, as of experts that have not as many tokens; ``offs`` (groups) int32.

    Of (rows, k) and (groups, k, n) it is (rows, n), where group i has the rows from ``offs[i - 1]`` to ``offs[i]``;
    of (groups, m, k) and (k, columns) it is (m, columns), of (m, inner) and (inner, n) it is (groups, m, n). Two
    batches are multiplied as they are.

    Raises RuntimeError for other shapes, for dtypes but float32, bfloat16 and float16, and for a ``bias``.
    """
    result: Tensor = ops.aten._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)
    return result


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    result: Tensor = ops.aten.relu_(input) if inplace else ops.aten.relu(input)
    return result


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit."""
    result: Tensor = ops.aten.gelu(input, approximate=approximate)
    return result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    result: Tensor = ops.aten.silu_(input) if inplace else ops.aten.silu(input)
    return result


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    result: Tensor = ops.aten.sigmoid(input)
    return result


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    result: Tensor = ops.aten.tanh(input)
    return result


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension."""
    if dim is None:
        dim = _implicit_dim("softmax", input)
    result: Tensor = ops.aten.softmax(input, dim, dtype)
    return result


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input)
    result: Tensor = ops.aten.log_softmax(input, dim, dtype)
    return result


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """`softmax` of the negative."""
    if dim is None:
        dim = _implicit_dim("softmin", input)
    result: Tensor = ops.aten.softmax(-input, dim, dtype)
    return result


def _implicit_dim(name: str, input: Tensor) -> int:
    """The dimension of a softmax that was given none: 0 of none, 1 or 3 dimensions, else 1."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=user_stacklevel(),
    )
    return 0 if input.dim() in (0, 1, 3) else 1


@names_wrong_types
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes elements with probability p while training, and scales the rest."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result: Tensor = ops.aten.dropout(input, p, training)
    if not inplace:
        return result
    return input.copy_(result) if training and p and input.numel() else input  # as it is, it may be a leaf


@names_wrong_types
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference, times ``weight`` where it is given, reduced."""
    pair = _same_sizes(input, target)
    reduction = _reduction.name(reduction, size_average, reduce)
    if weight is not None:
        return _weighted((pair[0] - pair[1]).square(), weight, input, reduction)
    result: Tensor = ops.aten.mse_loss(*pair, _reduction.code(reduction))
    return result


@names_wrong_types
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The magnitude of the difference, times ``weight`` where it is given, reduced."""
    pair = _same_sizes(input, target)
    reduction = _reduction.name(reduction, size_average, reduce)
    if weight is not None:
        return _weighted((pair[0] - pair[1]).abs(), weight, input, reduction)
    chosen = _reduction.code(reduction)
    return _reduction.reduced((pair[0] - pair[1]).abs(), chosen)


@names_wrong_types
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the score of each target class; input (C), (N, C) or (N, C, ...) of log-probabilities."""
    chosen = _reduction.chosen(reduction, size_average, reduce)
    ignored = ignore_index if type(ignore_index) is int else as_int("nll_loss_nd", "ignore_index", ignore_index)
    result: Tensor = ops.aten.nll_loss_nd(input, target, weight, chosen, ignored)
    return result


@names_wrong_types
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of scores (C), (N, C) or (N, C, ...) with class indices, or with probabilities of input's shape."""
    chosen = _reduction.chosen(reduction, size_average, reduce)
    ignored = ignore_index if type(ignore_index) is int else as_int("cross_entropy_loss", "ignore_index", ignore_index)
    result: Tensor = ops.aten.cross_entropy_loss(input, target, weight, chosen, ignored, label_smoothing)
    return result


def _same_sizes(input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Input and target as they are broadcast, which is warned of where it changes one."""
    if target.size() == input.size():
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=user_stacklevel(),
    )
    return broadcast_tensors(input, target)


def _weighted(errors: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """Errors times weights of the input's size; the mean is by the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    weighted = errors * weight
    result: Tensor = weighted if reduction == "none" else weighted.sum()
    return result / weight.sum() if reduction == "mean" else result


globals().update({name: overridable(globals()[name], "nn.functional") for name in __all__})
