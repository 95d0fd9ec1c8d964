"""What distributions share: broadcasting of parameters, probabilities and logits of one another."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from ..overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "standard_normal",
    "sum_rightmost",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


class lazy_property:  # noqa: N801  (PyTorch's name)
    """An attribute that is computed when it is first read, with gradients, and kept."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped, self.__doc__ = wrapped, wrapped.__doc__
        self.name = wrapped.__name__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.name] = value
        return value


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape; numbers take the dtype and device of the first tensor, or the default dtype.

    Raises ValueError for anything else.
    """
    if not all(isinstance(value, numbers.Number) or is_tensor_like(value) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects like it.")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    like = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    tensors = [value if is_tensor_like(value) else torch.tensor(value, **like) for value in values]
    alike: tuple[Tensor, ...] = torch.broadcast_tensors(*tensors)
    return alike


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Numbers of mean 0 and variance 1."""
    drawn: Tensor = torch.empty(shape, dtype=like.dtype, device=like.device).normal_()
    return drawn


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    return value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1) if dim else value


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log-odds, or with several categories of logarithms up to a constant."""
    result: Tensor = torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)
    return result


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds of probabilities, or with several categories their logarithms."""
    inner = clamp_probs(probs)
    result: Tensor = torch.log(inner) - torch.log1p(-inner) if is_binary else torch.log(inner)
    return result


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries of square matrices on and below a diagonal, row by row. Raises ValueError for no such diagonal."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse: lower triangular matrices of such entries. Raises ValueError for numbers that fit none."""
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not abs(n - round(n)) < torch.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as a lower triangular part")
    n = round(n)
    rows, columns = torch.tril_indices(n, n, diag)
    whole = vec.new_zeros((*vec.shape[:-1], n, n))
    whole[..., rows, columns] = vec
    return whole
