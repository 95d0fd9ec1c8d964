"""Pointwise functions of operands that are broadcast, long and short, and halves converted on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.needs import needed

needed("torch")

import torch as pytorch  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

# Runs about the sizes of blocks, 256 and 1024 elements, and of the shortest run that is a block of its own, 64.
SHAPES = ((3, 2500), (40, 1024), (2, 255), (700, 65), (300, 63), (5, 3, 257), (2, 3, 4, 1030))
DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8")


def numbers(torch: Any, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    random = np.random.default_rng(seed)
    values = random.standard_normal(shape) * 3 if "float" in dtype else random.integers(1, 100, shape)
    return torch.tensor(values).to(getattr(torch, dtype))


def same(call: Any) -> None:
    found, expected = call(ours), call(pytorch)
    assert str(found.dtype) == str(expected.dtype)
    kind = {2: "int16", 4: "int32", 8: "int64", 1: "uint8"}[found.element_size()]
    left, right = (
        result.contiguous().view(getattr(torch, kind)) for torch, result in ((ours, found), (pytorch, expected))
    )
    np.testing.assert_array_equal(left.numpy(), right.numpy())


def near(call: Any, dtype: str) -> None:
    """Where PyTorch multiplies and adds in one step on some machines."""
    found, expected = call(ours), call(pytorch)
    error = {"float64": 1e-14, "float32": 5e-6, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
    np.testing.assert_allclose(found.double().numpy(), expected.double().numpy(), rtol=error, atol=error)


def broadcast(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    ones = (1,) * (len(shape) - 1)
    return [shape, (*shape[:-1], 1), shape[-1:], (*ones, 1), (*ones, shape[-1]), (shape[0], *ones)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_of_two(shape: tuple[int, ...], dtype: str) -> None:
    for other in broadcast(shape):
        for name in ("add", "mul", "maximum", "gt", "div" if "float" in dtype else "bitwise_xor"):
            for turned in (False, True):

                def call(torch: Any, name: str = name, other: Any = other, turned: bool = turned) -> Any:
                    pair = [numbers(torch, shape, dtype, 1), numbers(torch, other, dtype, 2)]
                    return getattr(torch, name)(*(pair[::-1] if turned else pair))

                same(call)


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_three_and_of_numbers(dtype: str) -> None:
    for shape in SHAPES:
        column = (*shape[:-1], 1)

        def operands(torch: Any, shape: Any = shape, column: Any = column) -> Any:
            return (numbers(torch, size, dtype, seed) for seed, size in enumerate((shape, column, shape[-1:])))

        same(lambda torch: torch.where(next(operands(torch)) > 2, *list(operands(torch))[1:]))
        same(lambda torch: torch.clamp(next(operands(torch)), 1, 50))
        same(lambda torch: torch.clamp(*operands(torch)))
        same(lambda torch: next(operands(torch)) + 3)
        same(lambda torch: 3 - next(operands(torch)))
        same(lambda torch: next(operands(torch)).transpose(0, -1)[::2] * 2)
        if "float" in dtype:
            near(lambda torch: torch.lerp(*operands(torch)), dtype)
            near(lambda torch: torch.addcmul(*operands(torch), value=2), dtype)


SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    3.3e38,
    -3.39e38,
    1.0,
    1.00390625,
    1.01171875,
    65504,
    7e-8,
]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "name", ["neg", "abs", "relu", "square", "sqrt", "reciprocal", "floor", "trunc", "round", "sign"]
)
def test_halves_of_all_bits(name: str, dtype: str) -> None:
    bits = np.arange(-(2**15), 2**15, dtype=np.int16)

    def call(torch: Any) -> Any:
        result = getattr(torch, name)(torch.from_numpy(bits).view(getattr(torch, dtype)))
        return torch.where(result.isnan(), torch.full_like(result, 7), result)  # whatever NaN's other bits are

    same(call)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum"])
def test_halves_are_rounded_once(name: str) -> None:
    def call(torch: Any) -> Any:
        x = torch.cat([torch.tensor(SPECIAL), numbers(torch, (1500,), "float32", 3)]).bfloat16()
        result = getattr(torch, name)(x.reshape(-1, 1), x)
        return torch.where(result.isnan(), torch.full_like(result, 7), result)

    same(call)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
def test_runs_of_positive_numbers(name: str, dtype: str) -> None:
    x = np.abs(np.random.default_rng(4).standard_normal(1000)).astype(dtype)
    x[[3, 200, 999]] = -0.5, -100, np.nan
    for part in (x, -x, x[:63], x[100:164], x[64:200]):
        found, expected = (
            getattr(torch.nn.functional, name)(torch.from_numpy(part.copy())) for torch in (ours, pytorch)
        )
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=4e-7 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "int8", "complex64"])
def test_counts_and_slices_added(dtype: str) -> None:
    def values(torch: Any) -> Any:
        drawn = torch.tensor(np.random.default_rng(5).integers(-1, 2, (40, 130)))
        return (drawn.abs() if dtype in ("uint8", "bool") else drawn).to(getattr(torch, dtype))

    for dim in (0, 1, -1, (0, 1), None):
        assert ours.count_nonzero(values(ours), dim).tolist() == pytorch.count_nonzero(values(pytorch), dim).tolist()
    assert values(ours).t().count_nonzero(0).tolist() == values(pytorch).t().count_nonzero(0).tolist()
    for dim, places in ((0, [3, 3, 39, 0]), (1, [129, 5, 5, 1])):
        found, expected = (
            torch.ones_like(values(torch)).index_add(dim, torch.tensor(places), values(torch).narrow(dim, 0, 4))
            for torch in (ours, pytorch)
        )
        assert found.tolist() == expected.tolist()
        with pytest.raises((IndexError, RuntimeError)):
            values(ours).index_add(dim, ours.tensor([200]), values(ours).narrow(dim, 0, 1))
