"""What optimizers refuse: rates, betas and other options, with PyTorch's errors."""

from __future__ import annotations

from typing import Any

from .._core import Tensor

__all__ = ["check_betas", "check_least", "check_one_number", "check_rate", "check_ways"]


def check_one_number(lr: Any) -> None:
    """Raises ValueError for a rate that is a tensor of several numbers."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_rate(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    """Raises ValueError for a rate below 0, or of several numbers."""
    check_one_number(lr)
    check_least(lr, message)


def check_least(value: Any, message: str, least: float = 0.0) -> None:
    """Raises ValueError, with a message for the value, where it is below the least one, or NaN."""
    if not value >= least:
        raise ValueError(message.format(value))


def check_betas(betas: Any) -> None:
    """Raises ValueError for one of two betas that is not from 0 up to 1."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_ways(fused: Any, differentiable: Any, foreach: Any) -> None:
    """Raises RuntimeError for ways to compute a step that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
