"""The incomplete gamma functions, beside mpmath's and PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2
from tests.runtime.both import agree

NAMES = ["gammainc", "gammaincc"]
SMALL = {"float32": 1e-30, "float64": 1e-290}  # what is below has not all its digits


def _exact(name: str, a: float, x: float) -> mpmath.mpf:
    with mpmath.workdps(40):
        ends = (0, x) if name == "gammainc" else (x, mpmath.inf)
        return mpmath.gammainc(mpmath.mpf(a), *ends, regularized=True)


def _ours(name: str, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return getattr(mindtorch_v2.special, name)(*map(mindtorch_v2.from_numpy, (a, x))).numpy()


def _check(name: str, a: np.ndarray, x: np.ndarray, units: float) -> None:
    """That errors are below so many units, and those of the rounding of what the exponential is taken of."""
    unit = float(np.finfo(a.dtype).eps)
    for at, to, found in zip(a.tolist(), x.tolist(), _ours(name, a, x).tolist(), strict=True):
        exact = _exact(name, at, to)
        if exact < SMALL[a.dtype.name]:
            assert found < 2 * SMALL[a.dtype.name]
            continue
        of_exponent = 4 * abs(float(mpmath.log(exact))) * 2.0**-52
        assert abs(found - exact) <= (units * unit + of_exponent) * exact, (at, to, found, exact)


PLACES = {  # of a, and of x by a
    "usual": (st.floats(0.05, 8), lambda a: st.floats(0.01, a + 8)),
    "small": (st.floats(1e-12, 1), lambda a: st.floats(1e-12, 1)),
    "small beside more": (st.floats(1e-12, 2), lambda a: st.floats(1, 40)),
    "middle": (st.floats(8, 100), lambda a: st.floats(a / 2, 1.5 * a + 5)),
    "large": (st.floats(100, 3000), lambda a: st.floats(a - 7 * math.sqrt(a), a + 7 * math.sqrt(a))),
    "far apart": (st.floats(1e-3, 300), lambda a: st.floats(1e-3, 400)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(st.data())
def test_values(name: str, place: str, dtype: str, data: st.DataObject) -> None:
    of_a, of_x = PLACES[place]
    pairs = data.draw(st.lists(of_a.flatmap(lambda a: st.tuples(st.just(a), of_x(a))), min_size=1, max_size=5))
    a, x = (np.array(numbers, dtype) for numbers in zip(*pairs, strict=True))
    _check(name, a, x, 64 if dtype == "float64" else 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_values_where_ways_meet(name: str, dtype: str) -> None:
    ends = [(1, 1), (8, 8), (8, 16), (2, 10), (100, 100), (100, 130), (100, 70), (0.5, 0.85), (4, 5), (99.5, 104.5)]
    a, x = (
        np.array([number for end in numbers for number in (np.nextafter(end, 0), end, np.nextafter(end, 999))], dtype)
        for numbers in zip(*[tuple(np.array(pair, dtype)) for pair in ends], strict=True)
    )
    _check(name, a, x, 64 if dtype == "float64" else 1)


@pytest.mark.parametrize("name", NAMES)
def test_ends_are_pytorchs(name: str) -> None:
    numbers = [0.0, -0.0, math.inf, -math.inf, math.nan, -1.0, -1e-30, 1e-20, 1e30, 0.5, 2.5, 50.0, 150.0, 2e5]
    for dtype in ("float32", "float64"):

        def case(t: Any, dtype: str = dtype) -> Any:
            given = t.tensor(numbers, dtype=getattr(t, dtype))
            return getattr(t.special, name)(given[:, None], given)

        agree(case)


def test_huge_and_tiny_numbers() -> None:
    a, x = np.array([2.5, 1e300, 1e300, 5e-324, 5e-324, 1e-320]), np.array([1e300, 1e-300, 1e300, 1.0, 1e300, 5e-324])
    np.testing.assert_allclose(_ours("gammainc", a, x), [1, 0, 0.5, 1, 1, 1])
    np.testing.assert_allclose(_ours("gammaincc", a, x), [0, 1, 0.5, 0, 0, 0], atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_does_not_depend_on_those_beside_it(name: str) -> None:
    drawn = np.random.default_rng(0)
    a, x = drawn.gamma(2, 2, (2, 100_000)), drawn.gamma(2, 2, (2, 100_000))
    for dtype in ("float32", "float64"):
        first, second = a.astype(dtype).ravel(), x.astype(dtype).ravel()
        whole = _ours(name, first, second)
        for least, most in ((7, 71), (1, 2), (199_990, 200_000), (33, 33_000)):
            np.testing.assert_array_equal(_ours(name, first[least:most], second[least:most]), whole[least:most])
        alone = [_ours(name, first[i : i + 1], second[i : i + 1])[0] for i in range(5000)]
        np.testing.assert_array_equal(alone, whole[:5000])


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_dtypes(name: str) -> None:
    def call(t: Any, a: Any, x: Any) -> Any:
        return getattr(t.special, name)(a, x)

    agree(lambda t: call(t, t.tensor([[1.0], [2.5]]), t.tensor([0.5, 1.0, 3.0])))
    agree(lambda t: call(t, t.linspace(0.1, 9, 24).view(4, 6).mT, t.linspace(0.1, 20, 48)[::2].view(6, 4)))
    agree(lambda t: call(t, t.empty(0, 3), t.ones(3)))
    agree(lambda t: call(t, t.tensor(2.0, dtype=t.float64), t.ones(3)))
    agree(lambda t: call(t, t.tensor([1, 2, 3]), t.tensor([0.5, 2, 8])))
    with pytest.raises(RuntimeError, match="must match the size"):
        call(mindtorch_v2, mindtorch_v2.ones(2, 3), mindtorch_v2.ones(2))
    agree(lambda t: getattr(t.linspace(0.5, 5, 9), name.replace("gammainc", "igamma") + "_")(t.ones(9)))
    whole = mindtorch_v2.tensor([1, 2, 3])  # which PyTorch does not take
    assert call(mindtorch_v2, whole, whole).tolist() == call(mindtorch_v2, whole.float(), whole.float()).tolist()
    a, x = mindtorch_v2.linspace(0.25, 12, 50), mindtorch_v2.linspace(0.5, 9, 50)
    for kind in (mindtorch_v2.float16, mindtorch_v2.bfloat16):
        expected = call(mindtorch_v2, a.to(kind).float(), x.to(kind).float()).to(kind)
        assert call(mindtorch_v2, a.to(kind), x.to(kind)).tolist() == expected.tolist()
