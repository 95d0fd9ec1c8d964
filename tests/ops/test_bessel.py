"""The Bessel functions of orders 0 and 1 and the derivative of digamma, beside mpmath's."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2
from tests.runtime.both import agree

FUNCTIONS = {
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "modified_bessel_k0": lambda x: mpmath.besselk(0, x),
    "modified_bessel_k1": lambda x: mpmath.besselk(1, x),
    "scaled_modified_bessel_k0": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "scaled_modified_bessel_k1": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
    "bessel_j0": lambda x: mpmath.besselj(0, x),
    "bessel_j1": lambda x: mpmath.besselj(1, x),
    "bessel_y0": lambda x: mpmath.bessely(0, x),
    "bessel_y1": lambda x: mpmath.bessely(1, x),
    "trigamma": lambda x: mpmath.psi(1, x),
}
WAVES = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
POSITIVE = ("trigamma", "bessel_y0", "bessel_y1", *(name for name in FUNCTIONS if "_k" in name))  # of such numbers only
MOST = dict.fromkeys(FUNCTIONS, 1e4) | dict.fromkeys(("i0", "i1", "modified_bessel_k0", "modified_bessel_k1"), 80)
TABLES = ["I1.kFar", "K1.kOfLog", "J0.kNear", "J1.kOdd", "kReciprocal", "kTemme"]  # some, as all take half a minute
FITS = Path(__file__).parents[2] / "runtime/kernels/cpu/fits.py"


def _called(t: Any, name: str, x: Any) -> Any:
    return t.polygamma(1, x) if name == "trigamma" else getattr(t.special, name)(x)


def _units_off(name: str, x: np.ndarray) -> float:
    """The largest error of ours, in units of the last place; of a wave, of its height's last place."""
    found = _called(mindtorch_v2, name, mindtorch_v2.from_numpy(x)).numpy()
    worst = 0.0
    with mpmath.workdps(40):
        for at, ours in zip(x.tolist(), found, strict=True):
            exact = FUNCTIONS[name](mpmath.mpf(at))
            height = max(abs(exact), math.sqrt(2 / math.pi / abs(at)) if name in WAVES and abs(at) > 0.5 else 0)
            worst = max(worst, float(abs(mpmath.mpf(float(ours)) - exact) / float(np.spacing(x.dtype.type(height)))))
    return worst


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=30)
@given(st.data())
def test_values_are_within_a_few_units_of_the_last_place(name: str, dtype: str, data: st.DataObject) -> None:
    least = 1e-3 if name in POSITIVE else -MOST[name]
    numbers = st.floats(least, MOST[name]) | st.floats(max(least, -9.0), 9.0)
    x = np.array(data.draw(st.lists(numbers, min_size=1, max_size=20)), dtype)
    assert _units_off(name, x) < (16 if name in WAVES else 6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_where_fits_meet_and_of_tiny_numbers(name: str, dtype: str) -> None:
    tiny = [1e-30, 1e-10] if name != "trigamma" else [1e-15]
    below = [np.nextafter(np.array(end, dtype), 0) for end in (2, 8)]
    ends = [*below, 2.0, 8.0, 80.0, np.nextafter(np.array(80, dtype), 99), *tiny, 0.5, 1.5]
    assert _units_off(name, np.array(ends, dtype)) < (16 if name in WAVES else 6)


@pytest.mark.parametrize("name", ["i0", "i1"])
@pytest.mark.parametrize(("dtype", "largest"), [("float32", 91.9), ("float64", 713.9)])
def test_values_are_finite_where_the_exponential_is_not(name: str, dtype: str, largest: float) -> None:
    assert _units_off(name, np.array([largest, largest - 5, -largest], dtype)) < 8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WAVES)
@given(st.lists(st.floats(1e4, 1e15), min_size=1, max_size=9))
def test_waves_far_out(name: str, dtype: str, numbers: list[float]) -> None:
    assert _units_off(name, np.array([12.5, *numbers], dtype)) < 6


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1"])
def test_zeros_near_0_are_met_to_the_last_place(name: str) -> None:
    zeros = [float(mpmath.besseljzero(int(name[-1]), k)) for k in (1, 2)]
    x = np.array([*zeros, *(np.nextafter(zero, 9) for zero in zeros), *(zero + 1e-9 for zero in zeros)])
    found = _called(mindtorch_v2, name, mindtorch_v2.from_numpy(x)).numpy()
    with mpmath.workdps(40):
        np.testing.assert_allclose(found, [float(FUNCTIONS[name](mpmath.mpf(at))) for at in x.tolist()], 2e-15)


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
    **{name: [math.inf, math.inf, 0.0, math.nan] for name in FUNCTIONS if "_k" in name},
    "bessel_j0": [1.0, 1.0, math.nan, math.nan],
    "bessel_j1": [0.0, -0.0, math.nan, math.nan],
    "bessel_y0": [-math.inf, -math.inf, math.nan, math.nan],
    "bessel_y1": [-math.inf, -math.inf, math.nan, math.nan],
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


@pytest.mark.parametrize("name", [name for name in POSITIVE if name != "trigamma"])
def test_negative_numbers_have_no_value(name: str) -> None:
    assert _called(mindtorch_v2, name, mindtorch_v2.tensor([-0.5, -3.0, -50.0, -1e6])).isnan().all()


def test_the_tables_of_the_sources_are_those_that_are_made() -> None:
    made = subprocess.run([sys.executable, str(FITS), "--check", *TABLES], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert len(made.stdout.splitlines()) == 17
