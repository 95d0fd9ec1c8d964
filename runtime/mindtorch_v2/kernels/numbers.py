"""Operators of a tensor and a Python number, by way of a tensor without dimensions.

Compiled kernels take numbers as doubles; an integer may exceed what a double holds, and then goes as a tensor. The
tensor has the dtype that the operator computes in: so a number never decides between integer types, as a tensor would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .. import _core
from .._core import Tensor, dtype, full
from .._numbers import as_element, wrapped
from ._arrays import written_once
from ._native import native
from .creation import scalar_tensor, write

__all__ = [
    "add",
    "addcmul",
    "addmm",
    "baddbmm",
    "bitwise_and",
    "bitwise_and_of",
    "bitwise_or",
    "bitwise_or_of",
    "bitwise_xor",
    "bitwise_xor_of",
    "clamp",
    "clamp_between",
    "div",
    "div_mode",
    "eq",
    "floor_divide",
    "fmod",
    "ge",
    "gt",
    "le",
    "lerp_by",
    "lt",
    "masked_fill",
    "masked_fill_",
    "masked_fill_with",
    "masked_fill_with_",
    "mul",
    "mul_",
    "ne",
    "pow",
    "pow_of",
    "remainder",
    "remainder_of",
    "round_decimals",
    "rsub",
    "sub",
    "where_both",
    "where_other",
    "where_self",
]

_BOOL, _FLOAT32 = _core.dtypes["bool"], _core.dtypes["float32"]
_WIDE_UNSIGNED = tuple(_core.dtypes[name] for name in ("uint16", "uint32", "uint64"))


def _number(value: Any, beside: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """``value`` as arithmetic with ``beside`` takes it: in the dtype of the result, integers wrapped to its range."""
    target = dtype or _core.common_dtype(beside, value)
    return write(_core.alloc((), target, beside.device), wrapped(value, target))


def _with_number(name: str) -> Callable[..., Tensor]:
    """``aten::<name>`` with its second argument made a tensor; further arguments are handed on."""
    packet = getattr(torch.ops.aten, name)
    accepts_alpha = name.rstrip("_") in ("add", "sub")

    def function(self: Tensor, other: Any, *alpha: Any) -> Tensor:
        keywords = {"alpha": alpha[0]} if accepts_alpha and alpha else {}
        result: Tensor = packet(self, _number(other, self), **keywords)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of a tensor and a number."
    return function


add = _with_number("add")
mul, mul_ = _with_number("mul"), _with_number("mul_")
remainder, fmod = _with_number("remainder"), _with_number("fmod")
floor_divide = _with_number("floor_divide")
eq, ne, lt = _with_number("eq"), _with_number("ne"), _with_number("lt")
le, gt, ge = _with_number("le"), _with_number("gt"), _with_number("ge")
bitwise_and, bitwise_or, bitwise_xor = (_with_number(f"bitwise_{name}") for name in ("and", "or", "xor"))


def _of_number(name: str) -> Callable[..., Tensor]:
    """``aten::<name>``, which is the same the other way round, of a number and a tensor."""
    packet = getattr(torch.ops.aten, name)

    def function(self: Any, other: Tensor) -> Tensor:
        result: Tensor = packet(other, self)
        return result

    function.__name__ = function.__qualname__ = f"{name}_of"
    function.__doc__ = f"``{name}`` of a number and a tensor."
    return function


bitwise_and_of, bitwise_or_of, bitwise_xor_of = (_of_number(f"bitwise_{name}") for name in ("and", "or", "xor"))


def sub(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """self - alpha * other"""
    result: Tensor = torch.ops.aten.sub(self, _subtrahend(other, self), alpha=alpha)
    return result


def rsub(self: Tensor, other: Any, alpha: Any) -> Tensor:
    """other - alpha * self"""
    result: Tensor = torch.ops.aten.sub(_subtrahend(other, self), self, alpha=alpha)
    return result


def _subtrahend(number: Any, beside: Tensor) -> Tensor:
    if beside.dtype is _BOOL or isinstance(number, bool):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return _number(number, beside)


def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any) -> Tensor:
    """self + value * tensor1 * tensor2 of integers, whose factor may be one that no double holds."""
    target = _core.common_dtype(self, tensor1, tensor2)
    if target is _BOOL:
        raise NotImplementedError("addcmul() is not implemented for bool: use `|` and `&`")
    result: Tensor = self + _scaled(tensor1, value, target) * tensor2
    return result


def _scaled(tensor: Tensor, factor: Any, dtype: torch.dtype) -> Tensor:
    """The product with a factor, computed in the dtype that the result has, which must hold the factor."""
    result: Tensor = tensor.to(dtype) * as_element(factor, dtype)
    return result


def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * mat1 @ mat2 of integers, with factors that no double may hold."""
    product = torch.ops.aten.mm(mat1, mat2)
    result: Tensor = _scaled(product, alpha, self.dtype)
    return result if beta == 0 else _scaled(self, beta, self.dtype) + result


def baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * batch1 @ batch2 of integers, with the whole parts of the factors."""
    product = torch.ops.aten.bmm(batch1, batch2)
    result: Tensor = self * as_element(beta, self.dtype) + product * as_element(alpha, self.dtype)
    return result


def div(self: Tensor, other: Any) -> Tensor:
    """self / other: floating-point, however large an integer ``other`` is."""
    result: Tensor = torch.ops.aten.div(self, _number(other, self, _quotient_dtype(self, other)))
    return result


def _quotient_dtype(self: Tensor, other: Any) -> torch.dtype:
    found = _core.common_dtype(self, other)  # which refuses what is not promoted
    return found if found.is_floating_point or found.is_complex else _core.common_dtype(self, 1.0)


def div_mode(self: Tensor, other: Any, *, rounding_mode: str | None) -> Tensor:
    """self / other, rounded by ``rounding_mode``."""
    if rounding_mode is None:
        quotient: Tensor = torch.ops.aten.div(self, other)
        return quotient
    result: Tensor = torch.ops.aten.div(self, _number(other, self), rounding_mode=rounding_mode)
    return result


def pow(self: Tensor, exponent: Any) -> Tensor:
    """Integers to the power of a number."""
    if isinstance(exponent, int) and exponent < 0 and not self.is_complex():
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    target = _core.common_dtype(self, exponent)
    if target is _BOOL:
        return self.clone() if exponent else torch.ones_like(self)
    result: Tensor = torch.ops.aten.pow(self, _choice(exponent, self))
    return result


def pow_of(self: Any, exponent: Tensor) -> Tensor:
    """A number to the power of a tensor's elements: also an integer that no double holds."""
    result: Tensor = torch.ops.aten.pow(_number(self, exponent), exponent)
    return result


def lerp_by(self: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """``lerp`` by a tensor without dimensions, of any dtype."""
    result: Tensor = torch.ops.aten.lerp(self, end, weight.to(self.dtype))
    return result


def remainder_of(self: Any, other: Tensor) -> Tensor:
    """The remainder of a number divided by a tensor."""
    result: Tensor = torch.ops.aten.remainder(_number(self, other), other)
    return result


def where_other(condition: Tensor, self: Tensor, other: Any) -> Tensor:
    """``where`` with a number for ``other``."""
    result: Tensor = torch.ops.aten.where(condition, self, _chosen(other, self))
    return result


def where_self(condition: Tensor, self: Any, other: Tensor) -> Tensor:
    """``where`` with a number for ``self``."""
    result: Tensor = torch.ops.aten.where(condition, _chosen(self, other), other)
    return result


def where_both(condition: Tensor, self: Any, other: Any) -> Tensor:
    """``where`` with two numbers."""
    first, second = (scalar_tensor(n, dtype=_core.common_dtype(n), device=condition.device) for n in (self, other))
    result: Tensor = torch.ops.aten.where(condition, first, second)
    return result


def _choice(number: Any, beside: Tensor) -> Tensor:
    """As `_number`, but an integer that the dtype cannot hold is refused."""
    target = _core.common_dtype(beside, number)
    if target.is_floating_point or target.is_complex:
        return _number(number, beside, target)
    return scalar_tensor(number, dtype=target, device=beside.device)


def _chosen(number: Any, beside: Tensor) -> Tensor:
    """As `_choice`; what is too much for float32 is refused, too, where half precision makes it infinite."""
    target = _core.common_dtype(beside, number)
    checked = target is _FLOAT32 or target.is_complex
    return _choice(as_element(number, target) if checked else number, beside)


def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``self`` with ``value`` where ``mask`` holds."""
    out = _core.alloc(_core.broadcast_shapes(self.shape, mask.shape), self.dtype, self.device)
    return _fill_where(mask, value, self, out)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``masked_fill`` in place; of elements in one place all are filled where the mask holds for any."""
    once = written_once(self)
    if once.shape == self.shape:
        return _fill_where(mask, value, self, self)
    shared = [d for d in range(self.dim()) if once.shape[d] != self.shape[d]]
    _fill_where(mask.expand(self.shape).any(shared, True), value, once, once)
    return self


def masked_fill_with(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """``masked_fill`` with the value of a tensor without dimensions."""
    return masked_fill(self, mask, value.item())


def masked_fill_with_(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """``masked_fill_with`` in place."""
    number = value.item()  # which may be one of those written to
    filled: Tensor = torch.ops.aten.masked_fill_.Scalar(self, mask, number)
    return filled


def _fill_where(mask: Tensor, value: Any, self: Tensor, out: Tensor) -> Tensor:
    native("mt_where", "desc", "desc", "desc", "desc")(mask, _element(value, self.dtype), self, out)
    return out


def _element(number: Any, target: dtype) -> Tensor:
    """A number that a dtype must hold, as a tensor: `full` alone makes of one too large for a half an infinite one."""
    return full((), as_element(number, target), dtype=target)


def clamp(self: Tensor, min: Any, max: Any) -> Tensor:
    """Each element moved into the range from ``min`` to ``max``, which must fit the result's dtype."""
    numbers = [number for number in (min, max) if number is not None]
    target = _core.common_dtype(self, *numbers)
    if target is _BOOL or target in _WIDE_UNSIGNED:  # as in PyTorch; the kernel compares numbers with a sign
        raise NotImplementedError(f"clamp() is not implemented for {target}")
    out = _core.alloc(self.shape, target, self.device)
    lowest, highest = _range(target)
    low = _element(lowest if min is None else min, target)
    high = _element(highest if max is None else max, target)
    native("mt_clamp", "desc", "desc", "desc", "desc")(self, low, high, out)
    return out


def round_decimals(self: Tensor, *, decimals: int) -> Tensor:
    """Each element rounded to decimals: scaled by a power of 10, rounded and scaled back."""
    aten = torch.ops.aten
    scale = 10.0 ** abs(decimals)
    if decimals == 0:
        rounded: Tensor = aten.round(self)
        return rounded
    result: Tensor = aten.round(self * scale) / scale if decimals > 0 else aten.round(self / scale) * scale
    return result


def clamp_between(self: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """Each element moved into the range of the limits' elements; the upper one wins."""
    aten = torch.ops.aten
    target = _core.common_dtype(*(tensor for tensor in (self, min, max) if tensor is not None))
    found = self.to(target)
    low, high = (None if limit is None else limit.to(target) for limit in (min, max))
    nothing = target if target.is_floating_point else None
    if low is not None:
        found = aten.where(_beyond(found < low, low, nothing), low, found)
    if high is not None:
        found = aten.where(_beyond(found > high, high, nothing), high, found)
    return found  # type: ignore[no-any-return]


def _beyond(outside: Tensor, limit: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Where a limit is taken: also where it is NaN."""
    return outside if dtype is None else outside | limit.isnan()


def _range(dtype: torch.dtype) -> tuple[Any, Any]:
    """The least and the largest value of a dtype, which stand for a missing limit."""
    if dtype.is_floating_point or dtype.is_complex:
        return -float("inf"), float("inf")
    bits = 8 * dtype.itemsize
    return (-1 << bits - 1, (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)
