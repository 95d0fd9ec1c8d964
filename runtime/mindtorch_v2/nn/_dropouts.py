"""Dropout of channels and with selu's constants, and what else is drawn by chance, as functions."""

from __future__ import annotations

import warnings

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._frames import user_stacklevel
from .._ops import ops
from .._type_info import contiguous_format

__all__ = [
    "alpha_dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "gumbel_softmax",
    "rrelu",
    "rrelu_",
]


def _called(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result: Tensor = getattr(ops.aten, f"{name}_" if inplace else name)(input, p, training)
    return result


def _channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    """Dropout of channels, which are the second dimension; the first where there is no batch."""
    if batched:
        return _called("feature_dropout", input, p, training, inplace)
    result: Tensor = _called("feature_dropout", input.unsqueeze(0), p, training, inplace).squeeze(0)
    return input if inplace else result


def _warn_of_dims(name: str, dims: int, expected: str, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists "
        f"to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, "
        "and an optional "
        f"batch dimension (i.e. {expected} inputs).",
        stacklevel=user_stacklevel(),
    )


@names_wrong_types
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes channels of an input (N, C, L) or (C, L) with probability p while training, and scales the rest."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists "
            "to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, input.dim() == 3)


@names_wrong_types
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes channels of an input (N, C, H, W) with probability p while training, and scales the rest.

    Three dimensions are taken for (N, C, L), with a warning.
    """
    if input.dim() not in (3, 4):
        _warn_of_dims("dropout2d", input.dim(), "3D or 4D", 2)
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=user_stacklevel(),
        )
    return _channels(input, p, training, inplace, True)


@names_wrong_types
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes channels of (N, C, D, H, W) or (C, D, H, W) with probability p while training, and scales the rest."""
    if input.dim() not in (4, 5):
        _warn_of_dims("dropout3d", input.dim(), "4D or 5D", 3)
    return _channels(input, p, training, inplace, input.dim() == 5)


@names_wrong_types
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Sets elements to selu's least value with probability p while training, and keeps mean 0 and variance 1."""
    return _called("alpha_dropout", input, p, training, inplace)


@names_wrong_types
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels, the second dimension."""
    return _called("feature_alpha_dropout", input, p, training, inplace)


@names_wrong_types
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x where it is positive, else x times a number between the bounds: drawn while training, else their mean."""
    result: Tensor = (ops.aten.rrelu_ if inplace else ops.aten.rrelu)(input, lower, upper, training)
    return result


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, True)


@names_wrong_types
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of Gumbel's softmax; with ``hard`` 1 at its largest element, else 0, with the sample's gradient."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=user_stacklevel())
    drawn = -ops.aten.empty_like(logits, memory_format=contiguous_format).exponential_().log()
    soft: Tensor = ((logits + drawn) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = ops.aten.zeros_like(logits).scatter_(dim, soft.detach().argmax(dim, True), 1.0)
    result: Tensor = chosen - soft.detach() + soft
    return result
