"""Calls under PyTorch and under mindtorch_v2: do dtype and value of the result, or the class of the error, agree?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as pytorch

import mindtorch_v2 as ours

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
NUMBERS: dict[str, Any] = {
    "2": 2,
    "-3": -3,
    "300": 300,
    "2.5": 2.5,
    "2.0": 2.0,
    "0.37": 0.37,
    "True": True,
    "nan": float("nan"),
    "1+1j": 1 + 1j,
}
_FIRST: dict[str, list[Any]] = {
    "bool": [True, False, True, False],
    "uint8": [0, 1, 7, 255],
    "int": [-7, 3, 0, 100],
    "float": [-2.5, 3.25, 0.0, 7.0],
    "complex64": [1 + 2j, -2.5, 0, 3j],
}
_SECOND: dict[str, list[Any]] = {
    "bool": [True, True, False, False],
    "uint8": [2, 3, 200, 255],
    "int": [2, -3, 5, 127],
    "float": [2.0, -1.5, float("nan"), 0.37],
    "complex64": [1 - 2j, 2, 1, 1j],
}
# Edges of the integer types, and numbers that some dtypes cannot hold.
EDGES: list[Any] = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    255,
    256,
    -300,
    32768,
    2**31,
    -(2**31) - 1,
    2**32,
    2**63 - 1,
    -(2**63),
]
EDGES += [0.37, -0.5, 2.9, 1e10, 65504.0, 70000.0, float("nan"), float("inf"), True, 1 + 0j, 1 + 2j]


@dataclass(frozen=True)
class Case:
    """A call, by name; ``tolerance`` is relative, 0 for equality of bits."""

    name: str
    call: Callable[[Any], Any]
    tolerance: float = 0.0


def first(torch: Any, dtype: str, dims: bool = True) -> Any:
    """A tensor of four elements, or one of them without dimensions."""
    return _tensor(torch, _FIRST, dtype, dims)


def second(torch: Any, dtype: str, dims: bool = True) -> Any:
    """As `first`, with other values."""
    return _tensor(torch, _SECOND, dtype, dims)


def _tensor(torch: Any, table: dict[str, list[Any]], dtype: str, dims: bool) -> Any:
    values = table.get(dtype) or table["int" if dtype.startswith("int") else "float"]
    return torch.tensor(values if dims else values[1], dtype=getattr(torch, dtype))


def differences(cases: Iterator[Case]) -> list[str]:
    """What does not agree, a line each."""
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in cases:
            theirs, ours_ = _outcome(pytorch, case), _outcome(ours, case)
            if not _agree(theirs, ours_, case.tolerance):
                found.append(f"{case.name}: PyTorch {_shown(theirs)}, ours {_shown(ours_)}")
    return found


def _outcome(torch: Any, case: Case) -> Any:
    try:
        return _plain(case.call(torch))
    except Exception as error:  # whatever it is, it is compared
        return error


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if not hasattr(value, "detach"):
        return value
    detached = value.detach()
    name = str(value.dtype)
    return name, tuple(value.shape), (detached.float() if name.endswith("bfloat16") else detached).numpy()


def _agree(theirs: Any, mine: Any, tolerance: float) -> bool:
    if "ComplexHalf" in str(theirs) and not isinstance(mine, Exception):
        return str(mine[0]) in ("torch.complex64", "torch.bool")  # there are no complex numbers of two halves here
    if isinstance(mine, NotImplementedError) and not isinstance(theirs, Exception):
        return "complex" in str(theirs) or "Complex" in str(mine)  # no kernel for complex numbers: said, not wrong
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        return _same_error(theirs, mine)
    return _same(theirs, mine, tolerance)


def _same_error(theirs: Any, mine: Any) -> bool:
    if isinstance(theirs, Exception) and "Complex" in str(theirs) and isinstance(mine, (TypeError, RuntimeError)):
        return True  # neither has the operator for complex numbers; PyTorch's class depends on where it finds out
    return isinstance(theirs, Exception) and isinstance(mine, type(theirs))


def _same(theirs: Any, mine: Any, tolerance: float) -> bool:
    if isinstance(theirs, list):
        return (
            isinstance(mine, list)
            and len(mine) == len(theirs)
            and all(_same(t, m, tolerance) for t, m in zip(theirs, mine, strict=True))
        )
    if not isinstance(theirs, tuple):
        return type(theirs) is type(mine) and bool(theirs == mine or (theirs != theirs and mine != mine))
    if not isinstance(mine, tuple) or theirs[:2] != mine[:2]:
        return False
    a, b = theirs[2], mine[2]
    if a.dtype.kind == "c":  # rounded as compilers do; where PyTorch makes 0 * inf, it may be a number
        return np.allclose(a, np.where(np.isnan(a), a, b), rtol=max(tolerance, 1e-6), atol=tolerance, equal_nan=True)
    if tolerance:
        return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    signs = np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))
    return np.array_equal(a, b, equal_nan=True) and signs


def _shown(outcome: Any) -> str:
    text = f"raises {outcome!r}" if isinstance(outcome, Exception) else f"gives {outcome}"
    return " ".join(text.split())[:160]
