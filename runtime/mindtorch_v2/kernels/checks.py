"""What programs assert of values, and ask of memory."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor

_IS_ZERO = "Expected Tensor with single nonzero value, but got zero"


def assert_nonzero(self: Tensor, assert_msg: str = _IS_ZERO) -> None:
    """Raises RuntimeError where the one element is 0, for a tensor of more elements, or none; not for meta tensors."""
    if self.is_meta:
        return
    if self.numel() != 1:
        values = "no values" if self.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")
    if not self.item():
        raise RuntimeError(assert_msg)


def assert_number(self: Any, assert_msg: str) -> None:
    """Raises RuntimeError where a number is 0."""
    if not self:
        raise RuntimeError(assert_msg)


def check_all(self: Tensor) -> Tensor:
    """A copy. Raises RuntimeError where an element is false."""
    if not bool(self.all()):
        raise RuntimeError("Test message for TORCH_CHECK_TENSOR_ALL")
    result: Tensor = self.clone()
    return result


def internal_overlap(self: Tensor) -> int:
    """0 where each element has a place of its own, 1 where a dimension is expanded, 2 where the strides do not tell."""
    steps = [(size, step) for size, step in zip(self.shape, self.stride(), strict=True) if size != 1]
    if not self.numel() or _core.is_dense(self):
        return 0
    return 1 if any(step == 0 for _, step in steps) else 2
