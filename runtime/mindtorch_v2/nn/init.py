"""First values of parameters, as ``torch.nn.init``; each function changes its tensor and returns it."""

from __future__ import annotations

import math

from .._core import Tensor
from ..autograd import no_grad
from ..kernels.random import Generator

__all__ = [
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


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Evenly from [a, b)."""
    with no_grad():
        result: Tensor = tensor.uniform_(a, b, generator=generator)
    return result


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """From a normal distribution."""
    with no_grad():
        result: Tensor = tensor.normal_(mean, std, generator=generator)
    return result


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


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit of a weight has."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _gain(nonlinearity: str, a: float) -> float:
    gains = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + a**2))
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    return _gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Evenly, with the variance that keeps the signal's through a rectifier of slope ``a``."""
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normally, with the variance that keeps the signal's through a rectifier of slope ``a``."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Evenly, with a variance between what inputs and what outputs ask for."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normally, with a variance between what inputs and what outputs ask for."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))
