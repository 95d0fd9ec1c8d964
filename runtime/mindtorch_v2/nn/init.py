"""First values of parameters, as ``torch.nn.init``; each function changes its tensor and returns it."""

from __future__ import annotations

import math
import warnings

from .._argument_types import names_wrong_types
from .._core import Tensor
from ..autograd import no_grad
from ..kernels.random import Generator

__all__ = [
    "calculate_gain",
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = ("linear", *(f"conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)))
_GAINS = {**dict.fromkeys((*_LINEAR, "sigmoid"), 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


@names_wrong_types
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Evenly from [a, b)."""
    with no_grad():
        result: Tensor = tensor.uniform_(a, b, generator=generator)
    return result


@names_wrong_types
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """From a normal distribution."""
    with no_grad():
        result: Tensor = tensor.normal_(mean, std, generator=generator)
    return result


@names_wrong_types
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value."""
    with no_grad():
        result: Tensor = tensor.fill_(val)
    return result


def zeros_(tensor: Tensor) -> Tensor:
    """0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """1."""
    return constant_(tensor, 1.0)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much a layer's weights are larger for the nonlinearity behind it; ``param`` is a leaky_relu's slope."""
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        if isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if not isinstance(nonlinearity, str) or nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit of a weight has."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation; None for a tensor without elements, which stays as it is, with a warning."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
        return None
    chosen = str(mode).lower()
    if chosen not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[0 if chosen == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@names_wrong_types
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Evenly, with the variance that keeps the signal's through a rectifier of slope ``a``."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


@names_wrong_types
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normally, with the variance that keeps the signal's through a rectifier of slope ``a``."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


@names_wrong_types
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Evenly, with a variance between what inputs and what outputs ask for."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


@names_wrong_types
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normally, with a variance between what inputs and what outputs ask for."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)
