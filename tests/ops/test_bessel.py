"""The modified Bessel functions and the derivative of digamma, beside mpmath's."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindtorch_v2
from tests.runtime.both import agree

FUNCTIONS = {
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "trigamma": lambda x: mpmath.psi(1, x),
}
MOST = {"i0": 80, "i1": 80, "i0e": 1e4, "i1e": 1e4, "trigamma": 1e4}


def _called(t: Any, name: str, x: Any) -> Any:
    return t.polygamma(1, x) if name == "trigamma" else getattr(t.special, name)(x)


def _units_off(name: str, x: np.ndarray) -> float:
    """The largest error of ours, in units of the last place."""
    found = _called(mindtorch_v2, name, mindtorch_v2.from_numpy(x)).numpy()
    worst = 0.0
    with mpmath.workdps(40):
        for at, ours in zip(x.tolist(), found, strict=True):
            exact = FUNCTIONS[name](mpmath.mpf(at))
            worst = max(
                worst, float(abs(mpmath.mpf(float(ours)) - exact) / float(np.spacing(abs(x.dtype.type(exact)))))
            )
    return worst


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.data())
def test_values_are_within_a_few_units_of_the_last_place(name: str, dtype: str, data: st.DataObject) -> None:
    least = 1e-3 if name == "trigamma" else -MOST[name]
    numbers = st.floats(least, MOST[name]) | st.floats(max(least, -9.0), 9.0)
    x = np.array(data.draw(st.lists(numbers, min_size=1, max_size=20)), dtype)
    assert _units_off(name, x) < 6


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_where_fits_meet_and_of_tiny_numbers(name: str, dtype: str) -> None:
    tiny = [1e-30, 1e-10] if name != "trigamma" else [1e-15]
    ends = [np.nextafter(np.array(8, dtype), 0), 8.0, 80.0, np.nextafter(np.array(80, dtype), 99), *tiny, 0.5, 1.5]
    assert _units_off(name, np.array(ends, dtype)) < 6


@pytest.mark.parametrize("name", ["i0", "i1"])
@pytest.mark.parametrize(("dtype", "largest"), [("float32", 91.9), ("float64", 713.9)])
def test_values_are_finite_where_the_exponential_is_not(name: str, dtype: str, largest: float) -> None:
    assert _units_off(name, np.array([largest, largest - 5, -largest], dtype)) < 8


@given(st.lists(st.floats(-40, -0.01).filter(lambda x: abs(x - round(x)) > 0.01), min_size=1, max_size=20))
def test_trigamma_of_negative_numbers(numbers: list[float]) -> None:
    x = np.array(numbers)
    found = mindtorch_v2.polygamma(1, mindtorch_v2.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, [float(mpmath.psi(1, at)) for at in numbers], 1e-13)


ENDS = {  # at 0, -0, infinity and -infinity
    "i0": [1.0, 1.0, math.inf, math.inf],
    "i1": [0.0, -0.0, math.inf, -math.inf],
    "i0e": [1.0, 1.0, 0.0, 0.0],
    "i1e": [0.0, -0.0, 0.0, -0.0],
    "trigamma": [math.inf, math.inf, 0.0, math.nan],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_at_the_ends(name: str, dtype: str) -> None:
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan] * 5, dtype)
    found = _called(mindtorch_v2, name, mindtorch_v2.from_numpy(x)).numpy()
    np.testing.assert_array_equal(found, np.array([*ENDS[name], math.nan] * 5, dtype))
    sure = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found[sure]), np.signbit(np.array([*ENDS[name], math.nan] * 5)[sure]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_dtypes(name: str) -> None:
    for dtype in ("int64", "uint8", "bool"):
        agree(lambda t, dtype=dtype: _called(t, name, t.tensor([1, 3, 7, 2], dtype=getattr(t, dtype))[::2]))
    x = mindtorch_v2.linspace(0.25, 12, 50)
    for kind in (mindtorch_v2.float16, mindtorch_v2.bfloat16):
        expected = _called(mindtorch_v2, name, x.to(kind).float()).to(kind)
        assert _called(mindtorch_v2, name, x.to(kind)).tolist() == expected.tolist()
