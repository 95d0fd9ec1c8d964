"""PyTorch's names for sizes that are not known yet: here every size is a number, and they work on numbers.

`SymInt`, `SymFloat` and `SymBool` have no objects: ``isinstance(size, torch.SymInt)`` is False, as of any number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .overrides import overridable

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Unknown:
    """A value that only a compiler which traces with unknown sizes makes; none does here."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> _Unknown:
        raise TypeError(f"torch.{cls.__name__} has no objects here: sizes are numbers")


class SymInt(_Unknown):
    """A whole number that is not known yet."""

    __slots__ = ()


class SymFloat(_Unknown):
    """A floating-point number that is not known yet."""

    __slots__ = ()


class SymBool(_Unknown):
    """A truth value that is not known yet."""

    __slots__ = ()


def sym_not(a: Any) -> Any:
    """``not a``."""
    return not a


def sym_float(a: Any) -> Any:
    """``a`` as a float."""
    return a.__sym_float__() if hasattr(a, "__sym_float__") else float(a)


def sym_int(a: Any) -> Any:
    """``a`` rounded towards zero."""
    return int(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, as a float where either is one. Raises TypeError for truth values."""
    return _chosen(max, "sym_max", a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, as a float where either is one. Raises TypeError for truth values."""
    return _chosen(min, "sym_min", a, b)


def _chosen(choose: Any, name: str, a: Any, b: Any) -> Any:
    for value in (a, b):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name}() takes ints and floats, not {type(value).__name__}")
    return choose(float(a), float(b)) if isinstance(a, float) or isinstance(b, float) else choose(a, b)


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t`` where ``b``, else ``f``. Raises TypeError where ``b`` is no truth value, or the others differ in type."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise TypeError(
            f"sym_ite() takes a bool and two of one type, got {type(b).__name__}, {type(t).__name__} and "
            f"{type(f).__name__}"
        )
    return t if b else f


def _of_math(name: str) -> Callable[[Any], float]:
    """A function of `math` by PyTorch's name of it, ``_sym_cos``."""
    function = getattr(math, name)

    def called(a: Any) -> float:
        return float(function(a))

    called.__name__ = called.__qualname__ = f"_sym_{name}"
    called.__doc__ = f"``math.{name}`` of a number."
    return called


_MATH = ("acos", "asin", "atan", "cos", "cosh", "log2", "sin", "sinh", "sqrt", "tan", "tanh")
globals().update({f"_sym_{name}": overridable(_of_math(name), "") for name in _MATH})
for _name in ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sum"):
    globals()[_name] = overridable(globals()[_name], "")
sym_sqrt = globals()["_sym_sqrt"]
