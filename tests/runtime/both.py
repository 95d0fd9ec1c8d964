"""Runs the same code under PyTorch and under mindtorch_v2, and compares what it gives."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import mindtorch_v2

Case = Callable[[Any], Any]
_numbers = itertools.count()


def fresh_namespace() -> str:
    """An operator namespace that no other test uses."""
    return f"test{next(_numbers)}"


@dataclass(frozen=True)
class Outcome:
    """What a case returned, in plain values, or raised."""

    value: Any = None
    error: Exception | None = None


def outcome(library: Any, case: Case) -> Outcome:
    """Runs ``case(library)``, a module with PyTorch's API."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(value=plain(case(library)))
        except Exception as error:  # whatever it is, it is compared
            return Outcome(error=error)


def agree(case: Case, quoted: str | None = None) -> None:
    """Both libraries give equal values; or, with ``quoted``, both raise, and both messages contain it.

    Ours must raise PyTorch's class or a subclass.
    """
    theirs, ours = outcome(torch, case), outcome(mindtorch_v2, case)
    if quoted is None:
        for result in (theirs, ours):
            if result.error is not None:
                raise result.error
        assert close(ours.value, theirs.value), f"PyTorch gives {theirs.value}, mindtorch_v2 gives {ours.value}"
        return
    assert theirs.error is not None, f"PyTorch raises nothing but gives {theirs.value}"
    assert quoted in str(theirs.error), f"PyTorch says: {theirs.error}"
    assert ours.error is not None, f"mindtorch_v2 raises nothing but gives {ours.value}"
    assert isinstance(ours.error, type(theirs.error)), f"expected {type(theirs.error)}, got {ours.error!r}"
    assert quoted in str(ours.error), f"mindtorch_v2 says: {ours.error}"


def agree_or_raise(case: Case) -> None:
    """Both give equal values, or both raise: ours PyTorch's class or a subclass."""
    theirs, ours = outcome(torch, case), outcome(mindtorch_v2, case)
    if theirs.error is None:
        agree(case)
    else:
        assert ours.error is not None, f"PyTorch raises {theirs.error!r}, mindtorch_v2 gives {ours.value}"
        assert isinstance(ours.error, type(theirs.error)), f"expected {theirs.error!r}, got {ours.error!r}"


def plain(value: Any) -> Any:
    """Tensors as (dtype, shape, values, requires_grad), containers element by element, the rest as it is."""
    if hasattr(value, "requires_grad") and hasattr(value, "tolist"):
        elements = value.detach().tolist() if value.device.type != "meta" else None
        return str(value.dtype), tuple(value.shape), elements, value.requires_grad
    if isinstance(value, (list, tuple)):
        return type(value).__name__ if type(value) not in (list, tuple) else "sequence", [plain(v) for v in value]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return value


def close(a: Any, b: Any) -> bool:
    """Equality of plain values; numbers within float32's rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)
