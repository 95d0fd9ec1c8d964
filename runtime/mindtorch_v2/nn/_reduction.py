"""What losses are reduced to: by its name, or by the deprecated ``size_average`` and ``reduce``."""

from __future__ import annotations

import warnings
from typing import Any

from .._frames import user_stacklevel
from ..kernels.losses import reduced

__all__ = ["chosen", "code", "get_enum", "legacy_get_enum", "legacy_get_string", "name", "reduced"]

_CODES = {"none": 0, "mean": 1, "sum": 2}


def name(reduction: str, size_average: Any, reduce: Any) -> str:
    """``reduction``; or what ``size_average`` and ``reduce`` stand for where one is given, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def chosen(reduction: str, size_average: Any, reduce: Any) -> int:
    """The number of what `name` chooses."""
    if size_average is None and reduce is None and type(reduction) is str and reduction in _CODES:
        return _CODES[reduction]
    return code(name(reduction, size_average, reduce))


def code(reduction: str) -> int:
    """The number by which operators know a reduction. Raises ValueError for a name that there is not."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=user_stacklevel(),
        )
        return 1
    if not isinstance(reduction, str) or reduction not in _CODES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _CODES[reduction]


get_enum = code  # PyTorch's name


def legacy_get_string(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """What ``size_average`` and ``reduce`` stand for, of which neither need be given; PyTorch's name."""
    averaged = size_average is None or bool(size_average)
    summed = reduce is None or bool(reduce)
    found = "none" if not summed else "mean" if averaged else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.",
            stacklevel=user_stacklevel(),
        )
    return found


def legacy_get_enum(size_average: Any, reduce: Any, emit_warning: bool = True) -> int:
    """The number of what `legacy_get_string` finds; PyTorch's name."""
    return code(legacy_get_string(size_average, reduce, emit_warning))
