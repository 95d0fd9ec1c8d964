"""Elementary functions beside the same in higher precision; and integers that are computed in their own dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.needs import needed

needed("torch")

import torch as pytorch  # noqa: E402
from scipy import special  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

# The largest error, in units of the last place, of float32 and, where double is not the C library's, of float64.
FLOAT32 = {
    "exp": 2, "exp2": 2, "expm1": 2.5, "log": 1.5, "log2": 2, "log10": 2, "log1p": 2, "sin": 1, "cos": 1, "tan": 1.5,
    "asin": 1, "acos": 1, "atan": 1, "sinh": 3.5, "cosh": 3, "tanh": 3, "erfc": 1, "erfinv": 1,
}  # fmt: skip
FLOAT64 = {"exp": 2, "expm1": 2.5, "log": 1.5, "log1p": 2, "sinh": 3.5, "cosh": 3, "tanh": 3.5}
IN_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}


def exact(name: str, x: Any) -> Any:
    if name == "erfc":
        return special.erfc(x.astype(np.float64))
    if name == "erfinv":  # SciPy's is off where the result is far out
        size = np.abs(x.astype(np.float64))
        return np.copysign(np.where(size < 0.5, special.erfinv(size), special.erfcinv(1 - size)), x)
    return getattr(np, IN_NUMPY.get(name, name))(x.astype(np.longdouble))


def numbers(dtype: str) -> Any:
    random = np.random.default_rng(1)
    kind = np.dtype(dtype)
    bits = random.integers(0, 256, 100_000 * kind.itemsize, dtype=np.uint8)  # all magnitudes, infinities and NaN
    top = 89 if dtype == "float32" else 710
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, top, -top, top - 1, 1e5, 99999.9, 1e-40, -1e-40, 0.5, 2.0]
    parts = [
        random.uniform(-1, 1, 50_000), random.uniform(-top - 20, top + 20, 50_000),
        1 + random.uniform(-0.01, 0.01, 20_000), random.standard_normal(20_000) * 1e-4,
        np.arange(1, 30_000) * np.pi / 2, 2.0 ** np.arange(-140, 128),
        10.0 ** np.arange(-37, 38), np.array(ends),
    ]  # fmt: skip
    return np.concatenate([bits.view(kind), *(part.astype(kind) for part in parts)])


def off(found: Any, wanted: Any) -> Any:
    """How far numbers are off, in units of the last place; NaN where only one is no number."""
    rounded = wanted.astype(found.dtype)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(same, 0, np.abs(found - wanted) / np.spacing(np.abs(rounded)))


@pytest.mark.parametrize(("dtype", "name"), [*(("float32", n) for n in FLOAT32), *(("float64", n) for n in FLOAT64)])
def test_errors_are_small(dtype: str, name: str) -> None:
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        wanted = exact(name, x)
        found = getattr(ours, name)(ours.from_numpy(x)).numpy()
        error = off(found, wanted)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= (FLOAT32 if dtype == "float32" else FLOAT64)[name], (x[worst], found[worst], wanted[worst])
    zero = (found == 0) & (wanted == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


def test_angles_of_all_quarters() -> None:
    ends = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, -1e38, 3.5], np.float32)
    random = np.random.default_rng(2).standard_normal((2, 100_000)).astype(np.float32)
    y, x = (np.concatenate([grid.ravel(), drawn]) for grid, drawn in zip(np.meshgrid(ends, ends), random, strict=True))
    found = ours.atan2(ours.from_numpy(y), ours.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        wanted = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
        assert np.nanmax(off(found, wanted)) <= 1
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("name", FLOAT32)
def test_a_result_is_that_of_its_number_alone(name: str) -> None:
    x = numbers("float32")[-3000:]
    whole = getattr(ours, name)(ours.from_numpy(x))
    for start, size in ((0, 1), (1, 7), (5, 63), (17, 500)):
        part = getattr(ours, name)(ours.from_numpy(x[start : start + size].copy()))
        np.testing.assert_array_equal(part.numpy(), whole[start : start + size].numpy())
    in_place = ours.from_numpy(x.copy())
    getattr(in_place, f"{name}_")()
    np.testing.assert_array_equal(in_place.numpy(), whole.numpy())


INTEGERS = ("bool", "uint8", "int8", "int32", "int64")
PAIRS = (
    "add", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
ONES = ("neg", "abs", "relu", "logical_not", "bitwise_not", "isnan", "isinf", "isfinite", "square", "sign")
NUMBERS = (0, 1, -1, 3, 255, 300, -200, 2**31 - 1, -(2**31), 1.5)


def integers(torch: Any, dtype: str, seed: int, shape: tuple[int, ...]) -> Any:
    values = np.random.default_rng(seed).integers(-(2**31), 2**31, shape)
    ends = (0, -(2**31), 2**31 - 1)[: values.size]
    values.reshape(-1)[: len(ends)] = ends
    return torch.tensor(values).to(getattr(torch, dtype))


def both(call: Any) -> list[Any]:
    found = []
    for torch in (ours, pytorch):
        try:
            result = call(torch)
            found.append((str(result.dtype), result.tolist()))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            found.append(isinstance(error, Exception))
    return found


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("left", INTEGERS)
def test_pairs_of_integers(name: str, left: str) -> None:
    for right in INTEGERS:
        for shape in ((40, 33), (1, 33), (40, 1), (1,), (33, 40)):
            mine, theirs = both(
                lambda torch, right=right, shape=shape: getattr(torch, name)(
                    integers(torch, left, 1, (40, 33)),
                    integers(torch, right, 2, shape).t() if shape == (33, 40) else integers(torch, right, 2, shape),
                )
            )
            assert mine == theirs, (right, shape)


@pytest.mark.parametrize("name", [*PAIRS[:2], *PAIRS[4:]])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_beside_numbers(name: str, dtype: str) -> None:
    for number in NUMBERS:
        mine, theirs = both(
            lambda torch, n=number: getattr(torch, name)(integers(torch, dtype, 1, (50,)), torch.tensor(n))
        )
        assert mine == theirs, number
        if name in ("add", "mul", "eq", "ne", "lt", "le", "gt", "ge"):
            mine, theirs = both(lambda torch, n=number: getattr(integers(torch, dtype, 1, (50,)), name)(n))
            assert mine == theirs, number


@pytest.mark.parametrize("name", ONES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_alone(name: str, dtype: str) -> None:
    mine, theirs = both(lambda torch: getattr(torch, name)(integers(torch, dtype, 1, (7, 50))))
    assert mine == theirs


@pytest.mark.parametrize("alpha", [-1, 2, -300, 2**31])
@pytest.mark.parametrize("dtype", INTEGERS[1:])
def test_factors_of_sums_are_cut_to_size(dtype: str, alpha: int) -> None:
    mine, theirs = both(
        lambda torch: torch.add(integers(torch, dtype, 1, (90,)), integers(torch, dtype, 2, (90,)), alpha=alpha)
    )
    assert mine == theirs


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "float16", "float64", "complex64", "bool", "uint8", "int16", "int64"]
)
def test_elements_are_chosen_as_they_are(dtype: str) -> None:
    def call(torch: Any, function: str) -> Any:
        values = torch.tensor(np.random.default_rng(3).standard_normal((2, 30, 41)) * 99).to(getattr(torch, dtype))
        mask = torch.tensor(np.random.default_rng(4).random((30, 41)) > 0.5)
        if function == "where":
            return torch.where(mask, values[0], values[1, :, :1])
        return values[0].masked_fill(mask, True if dtype == "bool" else 1)

    for function in ("where", "masked_fill"):
        mine, theirs = both(lambda torch, f=function: call(torch, f))
        assert mine == theirs


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(3, 50, 7), (2, 5, 2500), (400,), (1, 1), (0, 3), (60, 1, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool", "uint8"])
def test_running(name: str, shape: tuple[int, ...], dtype: str) -> None:
    values = np.random.default_rng(5).uniform(0.7, 1.4, shape)
    for dim in range(len(shape)):
        found = []
        for torch in (ours, pytorch):
            x = torch.tensor(values).to(getattr(torch, dtype)).transpose(0, -1)
            found.append(getattr(torch, name)(x, dim).double().numpy())
        np.testing.assert_allclose(*found, rtol=2e-2 if dtype == "bfloat16" else 1e-5)


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name: str) -> None:
    for shape in ((5, 7), (7, 5), (2, 3, 4, 4), (0, 3), (3, 0), (1, 1)):
        for diagonal in (-9, -2, 0, 1, 3, 9, 2**62, -(2**62)):
            for dtype in ("float32", "bool", "complex128"):
                mine, theirs = both(
                    lambda torch, s=shape, d=diagonal, k=dtype: getattr(torch, name)(
                        torch.ones(s, dtype=getattr(torch, k)).transpose(-1, -2), d
                    )
                )
                assert mine == theirs, (shape, diagonal, dtype)
