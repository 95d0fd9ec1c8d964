"""Quotients and remainders of integers, quotients of complex numbers, the next number: beside Python and NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import mindtorch_v2

LEAST = -(1 << 63)
EDGES = [0, 1, 2, 3, 1 << 24, 1 << 49, (1 << 50) - 1, 1 << 50, (1 << 50) + 1, 1 << 51, 1 << 53, (1 << 63) - 1]
INTEGERS = st.integers(LEAST, -LEAST - 1) | st.integers(-9, 9) | st.sampled_from([*EDGES, *(-e for e in EDGES), LEAST])
PAIRS = st.lists(st.tuples(INTEGERS, INTEGERS.filter(bool)), min_size=1, max_size=80)


def _wrapped(number: int) -> int:
    return (number - LEAST) % (1 << 64) + LEAST


def _cut(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGRAL = {
    "floor_divide": (lambda t, a, b: t.floor_divide(a, b), lambda a, b: a // b),
    "div, cut": (lambda t, a, b: t.div(a, b, rounding_mode="trunc"), _cut),
    "remainder": (lambda t, a, b: t.remainder(a, b), lambda a, b: a % b),
    "fmod": (lambda t, a, b: t.fmod(a, b), lambda a, b: a - _cut(a, b) * b),
}


@pytest.mark.parametrize("name", INTEGRAL)
@given(PAIRS)
def test_integers_divide_as_pythons(name: str, pairs: list[tuple[int, int]]) -> None:
    ours, python = INTEGRAL[name]
    a, b = (mindtorch_v2.tensor(column) for column in zip(*pairs, strict=True))
    expected = [_wrapped(python(x, y)) for x, y in pairs]
    assert ours(mindtorch_v2, a, b).tolist() == expected
    step = mindtorch_v2.stack([a, a], 1)[:, 0]
    assert ours(mindtorch_v2, step, b).tolist() == expected
    divisor = pairs[0][1]
    assert ours(mindtorch_v2, a, b[0]).tolist() == [_wrapped(python(x, divisor)) for x, _ in pairs]


@pytest.mark.parametrize("name", INTEGRAL)
def test_quotients_just_below_a_whole_number(name: str) -> None:
    ours, python = INTEGRAL[name]
    b = np.random.default_rng(0).integers(1, 1 << 25, 3000)
    a = b * np.minimum(b, 1 << 24) + np.array([-1, 0, 1]).repeat(1000)
    found = ours(mindtorch_v2, mindtorch_v2.from_numpy(a), mindtorch_v2.from_numpy(b)).tolist()
    assert found == [python(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("name", INTEGRAL)
def test_narrow_integers_divide_as_pytorchs(name: str, dtype: str) -> None:
    ours, _python = INTEGRAL[name]
    rng, kind = np.random.default_rng(0), np.iinfo(dtype)
    a, b = (rng.integers(kind.min, kind.max, 500, dtype, endpoint=True) for _ in range(2))
    b[b == 0] = 1
    a[:9], b[:9] = kind.min, kind.max
    found = ours(mindtorch_v2, mindtorch_v2.from_numpy(a), mindtorch_v2.from_numpy(b)).numpy()
    np.testing.assert_array_equal(found, ours(torch, torch.from_numpy(a), torch.from_numpy(b)).numpy())


@pytest.mark.parametrize("at", [0, 70])
def test_division_by_zero_is_refused(at: int) -> None:
    b = mindtorch_v2.ones(71, dtype=mindtorch_v2.int64)
    b[at] = 0
    for ours, _python in INTEGRAL.values():
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            ours(mindtorch_v2, mindtorch_v2.ones_like(b), b)


def _floats(**limits: Any) -> Any:
    return arrays.arrays("float32", st.integers(1, 80), elements=st.floats(width=32, **limits))


@given(_floats(), _floats(), st.integers(0, 3))
def test_quotients_of_complex_numbers(a: np.ndarray, b: np.ndarray, zeros: int) -> None:
    n = min(len(a), len(b)) // 2 * 2
    a, b = a[:n].view("complex64"), b[:n].view("complex64").copy()
    b[: zeros % (len(b) + 1)] = 0
    found = (mindtorch_v2.from_numpy(a) / mindtorch_v2.from_numpy(b)).numpy()
    with np.errstate(all="ignore"):
        for x, y, z in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
            if y == 0 or not all(map(math.isfinite, (x.real, x.imag, y.real, y.imag))):
                continue
            scale = max(abs(y.real), abs(y.imag))  # products of scaled numbers are near enough in float64
            u = complex(y.real / scale, y.imag / scale)
            exact = x / scale / u
            size = abs(exact)
            if size < 3e38:
                np.testing.assert_allclose([z.real, z.imag], [exact.real, exact.imag], 2e-7, max(size * 1e-14, 2e-45))


def test_quotients_of_what_is_not_finite_are_the_c_librarys() -> None:
    odd = [
        complex(x, y) for x in (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan) for y in (0.0, -1.0, math.inf, math.nan)
    ]
    a, b = (each.reshape(-1) for each in np.meshgrid(np.array(odd, "complex64"), np.array(odd, "complex64")))
    alone = [mindtorch_v2.tensor(x) / mindtorch_v2.tensor(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    together = mindtorch_v2.from_numpy(a) / mindtorch_v2.from_numpy(b)
    np.testing.assert_array_equal(together.numpy().view("float32"), mindtorch_v2.stack(alone).numpy().view("float32"))
    wide = mindtorch_v2.from_numpy(a.astype("complex128")) / mindtorch_v2.from_numpy(b.astype("complex128"))
    np.testing.assert_array_equal(together.numpy(), wide.numpy().astype("complex64"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(st.data())
def test_the_next_number(dtype: str, data: st.DataObject) -> None:
    odd = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, float(np.finfo(dtype).tiny)])
    numbers = st.floats(width=32 if dtype == "float32" else 64) | odd
    pairs = np.array(data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40)), dtype)
    a, b = np.ascontiguousarray(pairs.T)
    found = mindtorch_v2.nextafter(mindtorch_v2.from_numpy(a), mindtorch_v2.from_numpy(b)).numpy()
    expected = np.nextafter(a, b)
    np.testing.assert_array_equal(found, expected)
    sure = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[sure], np.signbit(expected)[sure])
