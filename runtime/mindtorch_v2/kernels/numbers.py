"""Operators of a tensor and a Python number, by way of a tensor without dimensions.

Compiled kernels take numbers as doubles; an integer may exceed what a double holds, and then goes as a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .._core import Tensor
from .creation import scalar_tensor

__all__ = [
    "add",
    "add_",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "div",
    "div_",
    "div_mode",
    "eq",
    "floor_divide",
    "fmod",
    "fmod_",
    "ge",
    "gt",
    "le",
    "lt",
    "mul",
    "mul_",
    "ne",
    "remainder",
    "remainder_",
    "remainder_of",
    "rsub",
    "sub",
    "sub_",
    "where_both",
    "where_other",
    "where_self",
]


def _with_number(name: str) -> Callable[..., Tensor]:
    """``aten::<name>`` with its second argument made a tensor; further arguments are handed on."""
    packet = getattr(torch.ops.aten, name)
    accepts_alpha = name.rstrip("_") in ("add", "sub")

    def function(self: Tensor, other: Any, *alpha: Any) -> Tensor:
        keywords = {"alpha": alpha[0]} if accepts_alpha and alpha else {}
        result: Tensor = packet(self, scalar_tensor(other, device=self.device), **keywords)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of a tensor and a number."
    return function


add, add_ = _with_number("add"), _with_number("add_")
sub, sub_ = _with_number("sub"), _with_number("sub_")
mul, mul_ = _with_number("mul"), _with_number("mul_")
div, div_ = _with_number("div"), _with_number("div_")
remainder, remainder_ = _with_number("remainder"), _with_number("remainder_")
fmod, fmod_ = _with_number("fmod"), _with_number("fmod_")
floor_divide = _with_number("floor_divide")
eq, ne, lt = _with_number("eq"), _with_number("ne"), _with_number("lt")
le, gt, ge = _with_number("le"), _with_number("gt"), _with_number("ge")
bitwise_and, bitwise_or, bitwise_xor = (_with_number(f"bitwise_{name}") for name in ("and", "or", "xor"))


def rsub(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """other - alpha * self"""
    result: Tensor = torch.ops.aten.sub(scalar_tensor(other, device=self.device), self, alpha=alpha)
    return result


def div_mode(self: Tensor, other: Any, *, rounding_mode: str | None) -> Tensor:
    """self / other, rounded by ``rounding_mode``."""
    result: Tensor = torch.ops.aten.div(self, scalar_tensor(other, device=self.device), rounding_mode=rounding_mode)
    return result


def remainder_of(self: Any, other: Tensor) -> Tensor:
    """The remainder of a number divided by a tensor."""
    result: Tensor = torch.ops.aten.remainder(scalar_tensor(self, device=other.device), other)
    return result


def where_other(condition: Tensor, self: Tensor, other: Any) -> Tensor:
    """``where`` with a number for ``other``."""
    number = scalar_tensor(other, dtype=torch.result_type(self, other), device=self.device)
    result: Tensor = torch.ops.aten.where(condition, self, number)
    return result


def where_self(condition: Tensor, self: Any, other: Tensor) -> Tensor:
    """``where`` with a number for ``self``."""
    number = scalar_tensor(self, dtype=torch.result_type(other, self), device=other.device)
    result: Tensor = torch.ops.aten.where(condition, number, other)
    return result


def where_both(condition: Tensor, self: Any, other: Any) -> Tensor:
    """``where`` with two numbers."""
    first, second = scalar_tensor(self, device=condition.device), scalar_tensor(other, device=condition.device)
    result: Tensor = torch.ops.aten.where(condition, first, second)
    return result
