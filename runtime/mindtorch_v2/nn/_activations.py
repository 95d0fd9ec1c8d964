"""Activations as functions, each the operator of its name, in place where ``inplace``."""

from __future__ import annotations

from typing import Any

from .._argument_types import check_number, names_wrong_types
from .._core import Tensor
from .._numbers import check_factor
from .._ops import ops

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "logsigmoid",
    "mish",
    "prelu",
    "relu6",
    "relu_",
    "selu",
    "selu_",
    "softplus",
    "softshrink",
    "softsign",
    "tanhshrink",
    "threshold",
    "threshold_",
]


def _called(name: str, inplace: bool, input: Tensor, *args: Any, out: Tensor | None = None) -> Tensor:
    written = {} if out is None else {"out": out}
    result: Tensor = getattr(ops.aten, f"{name}_" if inplace else name)(input, *args, **written)
    return result


@names_wrong_types
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return _called("elu", inplace, input, alpha)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return elu(input, alpha, True)


@names_wrong_types
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1)."""
    return _called("celu", inplace, input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return celu(input, alpha, True)


@names_wrong_types
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the constants that keep mean 0 and variance 1."""
    return _called("selu", inplace, input)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return selu(input, True)


@names_wrong_types
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else ``negative_slope * x``."""
    if not input.is_floating_point():
        raise NotImplementedError(f"leaky_relu(): not implemented for {input.dtype}")
    check_number("leaky_relu", "negative_slope", 2, negative_slope)
    check_factor(negative_slope, input)
    work = ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu
    result: Tensor = work(input, negative_slope)
    return result


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, True)


def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    return _called("relu", True, input)


@names_wrong_types
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x moved into the range from 0 to 6."""
    return _called("relu6", inplace, input)


@names_wrong_types
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x moved into the range from ``min_val`` to ``max_val``."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _called("hardtanh", inplace, input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, True)


@names_wrong_types
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x + 3, moved into the range from 0 to 6, over 6."""
    return _called("hardsigmoid", inplace, input)


@names_wrong_types
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)"""
    return _called("hardswish", inplace, input)


@names_wrong_types
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))"""
    return _called("mish", inplace, input)


@names_wrong_types
def softplus(input: Tensor, beta: float = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold."""
    return _called("softplus", False, input, beta, threshold, out=out)


@names_wrong_types
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)), without overflow on the way."""
    return _called("log_sigmoid", False, input, out=out)


@names_wrong_types
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where its magnitude is above ``lambd``, else 0."""
    return _called("hardshrink", False, input, lambd)


@names_wrong_types
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x moved by ``lambd`` towards 0; 0 where it is less far from it."""
    return _called("softshrink", False, input, lambd, out=out)


@names_wrong_types
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)"""
    result: Tensor = input / (input.abs() + 1)
    return result


@names_wrong_types
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)"""
    result: Tensor = input - input.tanh()
    return result


@names_wrong_types
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above a threshold, else ``value``."""
    return _called("threshold", inplace, input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return _called("threshold", True, input, threshold, value)


@names_wrong_types
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _called("glu", False, input, dim)


@names_wrong_types
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else ``weight * x``."""
    return _called("prelu", False, input, weight)
