"""Activations take the dtypes that PyTorch's kernels are for, and refuse the others as these do."""

from __future__ import annotations

from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2

SHRINKS = ("hardshrink", "softshrink")
NAMES = ("gelu", "glu", "hardsigmoid", "hardswish", "logsigmoid", "mish", "softplus", "threshold", *SHRINKS)
DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def outcome(library: Any, name: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """The numbers, or the class of the error."""
    given = library.ones(shape, dtype=getattr(library, dtype))
    try:
        made = getattr(library.nn.functional, name)(given, *((0.5, 2) if name == "threshold" else ()))
    except (NotImplementedError, RuntimeError) as error:
        return type(error)
    assert made.dtype is getattr(library, dtype)
    return [round(number, 2) for number in made.flatten().tolist()]


@pytest.mark.parametrize("shape", [(2, 2), (0, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    ours, theirs = (outcome(library, name, dtype, shape) for library in (mindtorch_v2, pytorch))
    assert ours == theirs
