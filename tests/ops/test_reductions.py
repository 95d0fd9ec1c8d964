"""Norms, sums that leave NaN out, extremes and truth of any dtype, shape and layout: as PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.needs import needed

needed("torch")

import torch as pytorch  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5, "float64": 1e-12}
SHAPES = ((), (1,), (5,), (0,), (3, 0), (4, 333), (333, 4), (2, 3, 40), (130, 1, 70))
DIMS = (None, 0, -1)
ORDERS = (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf)
INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")


def numbers(shape: tuple[int, ...]) -> Any:
    values = np.random.default_rng(0).standard_normal(shape) * 3
    if values.size > 20:
        values.reshape(-1)[[1, 8]] = 0, -0.0
    return values


def made(torch: Any, values: Any, dtype: str, transposed: bool = False) -> Any:
    tensor = torch.tensor(values).to(getattr(torch, dtype))
    return tensor.transpose(0, -1) if transposed and tensor.dim() else tensor


def outcome(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a call gives, as an array with its dtype, or that it is refused."""
    try:
        result = function(*given, **named)
    except (RuntimeError, IndexError):
        return "refused"
    result = result[0] if isinstance(result, tuple) else result
    return str(result.dtype).rpartition(".")[2], tuple(result.shape), result.detach().double().numpy()


def agree(wanted: Any, found: Any, tolerance: float) -> None:
    assert wanted[:2] == found[:2]
    if wanted != "refused":
        np.testing.assert_allclose(found[2], wanted[2], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_norms(dtype: str, order: float, transposed: bool) -> None:
    for shape in SHAPES:
        for dim in (*DIMS, [0, 1] if len(shape) > 1 else [0], []):
            for keepdim in (False, True):
                wanted, found = (
                    outcome(
                        torch.linalg.vector_norm, made(torch, numbers(shape), dtype, transposed), order, dim, keepdim
                    )
                    for torch in (pytorch, ours)
                )
                agree(wanted, found, TOLERANCE[dtype])


def test_norms_of_one_number_are_its_magnitude() -> None:
    for number in (1e300, -1e-300, 5e-324):
        for order in (1, 2, math.inf):
            assert ours.linalg.vector_norm(ours.tensor([number], dtype=ours.float64), order).item() == abs(number)


def test_the_norm_of_long_and_large() -> None:
    """Added up in double: neither does a square overflow, nor are small ones lost."""
    assert ours.full((3,), 1e30).norm().item() == pytest.approx(1e30 * math.sqrt(3), rel=1e-6)
    assert ours.full((2**24 + 2**22,), 1e-3).norm().item() == pytest.approx(1e-3 * math.sqrt(2**24 + 2**22), rel=1e-6)


@pytest.mark.parametrize("target", [None, "float16", "float64", "int64", "bool"])
@pytest.mark.parametrize("dtype", [*TOLERANCE, "int32", "uint8", "bool", "complex64"])
def test_sums_without_nan(dtype: str, target: str | None) -> None:
    tolerance = max(TOLERANCE.get(dtype, 0), TOLERANCE.get(target or "", 0), 1e-5)
    for shape in SHAPES:
        values = np.abs(numbers(shape))
        if values.size and dtype in TOLERANCE and target not in ("int64", "bool"):
            values.reshape(-1)[::3] = np.nan
        for dim in DIMS:
            wanted, found = (
                outcome(torch.nansum, made(torch, values, dtype), dim, dtype=target and getattr(torch, target))
                for torch in (pytorch, ours)
            )
            agree(wanted, found, tolerance)


def test_the_gradient_of_a_sum_without_nan() -> None:
    values = numbers((4, 30))
    values[:, ::4] = np.nan
    grads = []
    for torch in (pytorch, ours):
        x = torch.tensor(values, requires_grad=True)
        (torch.nansum(x, 1) ** 2).sum().backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(grads[1], grads[0])


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min", "any", "all", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_extremes_and_truth_of_integers(dtype: str, name: str) -> None:
    for shape in SHAPES:
        values = np.random.default_rng(1).integers(0 if dtype == "uint8" else -128, 128, shape)
        if dtype == "bool" or name in ("any", "all"):
            values = values % 2
        for dim in DIMS:
            for transposed in (False, True):
                given = () if dim is None else (dim,)
                wanted, found = (
                    outcome(getattr(made(torch, values, dtype, transposed), name), *given) for torch in (pytorch, ours)
                )
                agree(wanted, found, 0)
