"""In what two plain values differ, and whether they do only where they may."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.fuzz.outcome import Outcome, Returned

if TYPE_CHECKING:
    from benchmarks.fuzz.program import Call

__all__ = [
    "difference",
    "same_but_for_grad",
    "same_but_for_nan",
    "same_but_for_tangents",
    "same_form",
    "same_magnitudes",
]

_TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-9, "complex128": 1e-9}


def difference(ours: Any, theirs: Any, dtype: str = "") -> str | None:
    """In what two plain values differ, None where they do not."""
    if isinstance(theirs, Mapping) and "elements" in theirs:
        return _tensors_differ(ours, theirs)
    if isinstance(theirs, Mapping):
        if not isinstance(ours, Mapping) or ours.keys() != theirs.keys():
            return "keys"
        return next(filter(None, (difference(ours[key], theirs[key]) for key in theirs)), None)
    if isinstance(theirs, (list, tuple)):
        if not isinstance(ours, (list, tuple)):
            return "kind of result"
        if len(ours) != len(theirs):
            return "length"
        return next(filter(None, map(difference, ours, theirs)), None)
    if theirs == "object" or ours == "object":
        return None if theirs == ours else "kind of result"
    if type(ours) is not type(theirs):
        return f"{type(ours).__name__} for {type(theirs).__name__}"
    return None if _equal(ours, theirs, _TOLERANCE.get(dtype, 2e-5)) else "value"


def _tensors_differ(ours: Any, theirs: Mapping[str, Any]) -> str | None:
    if not isinstance(ours, Mapping) or "elements" not in ours:
        return "kind of result"
    for what in ("dtype", "shape", "device", "grad"):
        if ours[what] != theirs[what]:
            return f"{what} {ours[what]} for {theirs[what]}" if what in ("dtype", "grad", "device") else what
    mine, other = ours["elements"], theirs["elements"]
    tolerance = _TOLERANCE.get(theirs["dtype"], 2e-5)
    pairs = zip(_flat(mine), _flat(other), strict=False)
    if (mine is None) != (other is None) or not all(_equal(a, b, tolerance) for a, b in pairs):
        return "elements"
    return None


def _flat(value: Any) -> Any:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _equal(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, complex) and isinstance(b, complex):
        return _equal(a.real, b.real, tolerance) and _equal(a.imag, b.imag, tolerance)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def same_form(call: Call, ours: Outcome, theirs: Outcome | None) -> bool:
    if not isinstance(ours, Returned) or not isinstance(theirs, Returned):
        return False
    return difference(_without_elements(ours.value), _without_elements(theirs.value)) is None


def _without_elements(value: object) -> object:
    if isinstance(value, dict) and "elements" in value:
        return {**value, "elements": None}
    if isinstance(value, dict):
        return {key: _without_elements(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_elements(item) for item in value]
    return 0.0 if isinstance(value, (int, float)) else value


def same_but_for_nan(ours: Outcome, theirs: Outcome | None) -> bool:
    """Whether two tensors differ only where PyTorch's is NaN."""

    def masked(mine: object, other: object) -> object:
        if isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
            return [masked(a, b) for a, b in zip(mine, other, strict=True)]
        return other if isinstance(other, float) and math.isnan(other) else mine

    if not isinstance(ours, Returned) or not isinstance(theirs, Returned):
        return False
    mine, other = ours.value, theirs.value
    if not isinstance(mine, dict) or not isinstance(other, dict) or "elements" not in mine:
        return False
    return difference({**mine, "elements": masked(mine["elements"], other.get("elements"))}, other) is None


def same_but_for_grad(ours: Outcome, theirs: Outcome | None) -> bool:
    """Whether two results differ only where PyTorch's requires a gradient, and ours none."""

    def masked(mine: object, other: object) -> object:
        if isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
            return [masked(a, b) for a, b in zip(mine, other, strict=True)]
        if isinstance(mine, dict) and isinstance(other, dict) and other.get("grad") is True:
            return {**mine, "grad": True}
        return mine

    if not isinstance(ours, Returned) or not isinstance(theirs, Returned):
        return False
    return difference(masked(ours.value, theirs.value), theirs.value) is None


def same_magnitudes(ours: Outcome, theirs: Outcome | None) -> bool:
    """Whether two floating-point tensors differ only in the signs of their elements."""

    def unsigned(value: object) -> object:
        if isinstance(value, list):
            return [unsigned(item) for item in value]
        return abs(value) if isinstance(value, float) else value

    if not isinstance(ours, Returned) or not isinstance(theirs, Returned):
        return False
    mine, other = ours.value, theirs.value
    if not isinstance(mine, dict) or not isinstance(other, dict) or "float" not in str(mine.get("dtype")):
        return False
    mine, other = ({**value, "elements": unsigned(value.get("elements"))} for value in (mine, other))
    return difference(mine, other) is None


def same_but_for_tangents(call: Call, ours: Outcome, theirs: Outcome | None) -> bool:
    """Whether what a transform gives besides tangents is the same: jvp's first result, and what `has_aux` adds."""
    if not same_form(call, ours, theirs) or not isinstance(ours, Returned) or not isinstance(theirs, Returned):
        return False
    if not isinstance(ours.value, list) or not isinstance(theirs.value, list):
        return True  # tangents alone
    at = 1 if call.target.name.endswith(".jvp") else 0
    mine, other = (value[:at] + value[at + 1 :] for value in (ours.value, theirs.value))
    return difference(mine, other) is None
