"""First values of parameters, as ``torch.nn.init``; each function changes its tensor and returns it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .._argument_types import names_wrong_types
from .._core import Tensor
from .._creation import empty_like, randperm
from .._creation import eye as identity
from .._frames import user_stacklevel
from .._generators import Generator
from .._ops import ops
from ..autograd import no_grad
from ..overrides import overridable

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
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


_calculate_fan_in_and_fan_out = _fans  # PyTorch's name, which libraries import


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """One of both: "fan_in" or "fan_out". Raises ValueError for another mode."""
    chosen = str(mode).lower()
    if chosen not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[0 if chosen == "fan_in" else 1]


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation; None for a tensor without elements, which stays as it is, with a warning."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=user_stacklevel())
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


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


@names_wrong_types
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix, of a tensor of two dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    with no_grad():
        tensor.zero_()
        small = min(rows, columns)
        tensor[:small, :small].copy_(identity(small, dtype=tensor.dtype, device=tensor.device))
    return tensor


@names_wrong_types
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight, of 3 to 5 dimensions, that leaves as many channels as they are as it can."""
    if not 3 <= tensor.dim() <= 5:
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    rows = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(rows, tensor.shape[1])):
                at = group * rows + channel, channel
                tensor[at + middle] = 1
    return tensor


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """From a normal distribution between ``a`` and ``b``: numbers that lie outside are drawn anew.

    Where few would lie inside, numbers are even between the two, and kept by the density that they have.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=user_stacklevel(),
        )
    below = [(1.0 + math.erf((end - mean) / std / math.sqrt(2.0))) / 2.0 for end in (a, b)]
    with no_grad():
        if below[1] - below[0] > 0.3:
            _draw_until_inside(tensor, mean, std, a, b, generator)
        else:
            _draw_by_density(tensor, mean, std, a, b, generator)
    return tensor


def _draw_until_inside(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> None:
    low, high = (tensor.new_tensor(end, device="cpu").item() for end in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        again = empty_like(result).normal_(mean, std, generator=generator)
        result = ops.aten.where(outside, again, result)
    if result is not tensor:
        tensor.copy_(result)


def _draw_by_density(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> None:
    highest = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # the logarithm of the density's largest value
    drawn, chance = empty_like(tensor), empty_like(tensor)

    def refused() -> Tensor:
        drawn.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(highest)
        result: Tensor = chance.uniform_(generator=generator).log_() > drawn
        return result

    result = tensor.uniform_(a, b, generator=generator)
    drawn.copy_(tensor)
    pending = refused()
    while pending.any():
        drawn.uniform_(a, b, generator=generator)
        result = ops.aten.where(pending, drawn, result)
        pending = pending & refused()
    if result is not tensor:
        tensor.copy_(result)


@names_wrong_types
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A matrix, over all dimensions but the first, of orthogonal rows or columns: Q of normally distributed numbers.

    It is computed by LAPACK, whose versions differ in last bits.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    import numpy as np

    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        matrix = flat.t() if rows < columns else flat
        q, r = np.linalg.qr(matrix.cpu().numpy())
        q = q * np.sign(np.diag(r))
        made = tensor.new_empty(q.shape, device="cpu")
        made.numpy()[...] = q
        tensor.view_as(tensor).copy_((made.t() if rows < columns else made).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


@names_wrong_types
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """From a normal distribution, with a part ``sparsity`` of each column zero, of a tensor of two dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


for _name in ("constant_", "kaiming_uniform_", "normal_", "uniform_"):  # those that PyTorch has overridden
    globals()[_name] = overridable(globals()[_name], "nn.init")


def _old_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same without an underscore, as PyTorch called it once."""
    new = function.__name__
    old = new[:-1]

    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        message = f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`."
        warnings.warn(message, FutureWarning, stacklevel=user_stacklevel())
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"``{new}`` by its old name."
    return deprecated


uniform, normal, constant, eye, dirac = (_old_name(f) for f in (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = _old_name(xavier_uniform_), _old_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _old_name(kaiming_uniform_), _old_name(kaiming_normal_)
orthogonal, sparse = _old_name(orthogonal_), _old_name(sparse_)
