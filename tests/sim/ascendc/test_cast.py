"""Cast in every rounding mode, beside exact arithmetic in double; bfloat16 beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.sim.ascendc.device import AsyncError

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)


@pytest.fixture
def cast(npu, kernel_library):
    library = kernel_library("cast.cpp")

    def run(kernel, x, dtype, mode):
        y = npu.upload(np.zeros(x.size, dtype))
        npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(x), y, mode, x.size)
        return npu.download(y, np.empty(x.size, dtype))

    return run


def _floats(n=4000, scale=100.0):
    rng = np.random.default_rng(0)
    ties = np.r_[np.arange(-20, 20) + 0.5, np.nextafter(np.float32([0.5, 8.5]), np.float32(0))]
    special = [0.0, -0.0, 1e-8, -1e-8, 6e-5, 65504, 65519, 1e5, 3.4e38]
    values = [rng.standard_normal(n) * scale, ties, special, [-v for v in special], rng.standard_normal(n) * 1e-5]
    return np.concatenate(values).astype(np.float32)


def _rounded(x, nearest, next_up, next_down, mode):
    """`x` rounded to the type of `nearest`, from its neighbours; ties of ROUND go away from zero."""
    exact = x.astype(np.float64)
    with np.errstate(over="ignore"):
        below = np.where(nearest.astype(np.float64) > exact, next_down(nearest), nearest)
        above = np.where(nearest.astype(np.float64) < exact, next_up(nearest), nearest)
    if mode == FLOOR:
        return below
    if mode == CEIL:
        return above
    inner, outer = np.where(exact < 0, above, below), np.where(exact < 0, below, above)
    if mode == TRUNC:
        return inner
    if mode == ODD:
        return np.where(inner.view(np.uint16) & 1 == 1, inner, outer)
    distance_in, distance_out = abs(exact - inner.astype(np.float64)), abs(outer.astype(np.float64) - exact)
    return np.where(distance_in < distance_out, inner, outer)


@pytest.mark.parametrize("mode", [NONE, RINT])
def test_float_to_half_to_nearest_even(cast, mode):
    x = np.r_[_floats(), np.float32([np.inf, -np.inf, np.nan])]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(cast("float_to_half", x, np.float16, mode), x.astype(np.float16))


@pytest.mark.parametrize("mode", [FLOOR, CEIL, ROUND, TRUNC, ODD])
def test_float_to_half_directed(cast, mode):
    x = _floats()
    x = x[np.abs(x) < 65504]
    ties = (np.float16(1) + np.arange(64) * 2.0**-11).astype(np.float32)  # halfway between two halves
    x = np.r_[x, ties, -ties]
    nearest = x.astype(np.float16)
    up = lambda v: np.nextafter(v, np.float16(np.inf))  # noqa: E731
    down = lambda v: np.nextafter(v, np.float16(-np.inf))  # noqa: E731
    got = cast("float_to_half", x, np.float16, mode)
    np.testing.assert_array_equal(got, _rounded(x, nearest, up, down, mode).astype(np.float16))


def test_half_to_float_is_exact(cast):
    for x in np.arange(65536, dtype=np.uint16).view(np.float16).reshape(8, -1):
        np.testing.assert_array_equal(cast("half_to_float", x, np.float32, NONE), x.astype(np.float32))


def test_bfloat16_rounds_as_pytorch_does(cast):
    ties = np.float32(1) + np.arange(256, dtype=np.float32) * np.float32(2**-8)  # halfway between two bfloat16s
    x = np.r_[_floats(), ties, -ties, np.float32([np.inf, -np.inf, np.nan])]
    expected = torch.from_numpy(x).to(torch.bfloat16)
    got = cast("float_to_bfloat16", x, np.uint16, RINT)
    finite = ~np.isnan(x)
    np.testing.assert_array_equal(got[finite], expected.view(torch.uint16).numpy()[finite])
    back = cast("bfloat16_to_float", got, np.float32, NONE)
    np.testing.assert_array_equal(back, expected.float().numpy())


_ROUND = {
    RINT: np.rint,
    FLOOR: np.floor,
    CEIL: np.ceil,
    ROUND: lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    TRUNC: np.trunc,
}


@pytest.mark.parametrize("mode", _ROUND)
@pytest.mark.parametrize(
    ("kernel", "source", "target"),
    [
        ("float_to_int32", np.float32, np.int32),
        ("float_to_int16", np.float32, np.int16),
        ("half_to_int8", np.float16, np.int8),
        ("half_to_uint8", np.float16, np.uint8),
    ],
)
def test_float_to_integer_saturates(cast, kernel, source, target, mode):
    with np.errstate(over="ignore"):
        x = np.r_[_floats(), np.float32([np.inf, -np.inf, np.nan])].astype(source)
    info = np.iinfo(target)
    expected = np.nan_to_num(np.clip(_ROUND[mode](x.astype(np.float64)), info.min, info.max), nan=0).astype(target)
    np.testing.assert_array_equal(cast(kernel, x, target, mode), expected)


@pytest.mark.parametrize("mode", _ROUND)
def test_float_to_float_rounds_to_integers(cast, mode):
    x = _floats(scale=1e6)
    np.testing.assert_array_equal(
        cast("float_to_float", x, np.float32, mode), _ROUND[mode](x.astype(np.float64)).astype(np.float32)
    )


def test_integers(cast):
    big = np.array([0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31), 123456789], np.int32)
    np.testing.assert_array_equal(cast("int32_to_float", big, np.float32, RINT), big.astype(np.float32))
    wide = np.array([5, -5, 2**40, -(2**40)], np.int64)
    np.testing.assert_array_equal(cast("int64_to_int32", wide, np.int32, NONE), [5, -5, 2**31 - 1, -(2**31)])
    bytes_ = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(cast("uint8_to_half", bytes_, np.float16, NONE), bytes_.astype(np.float16))


def test_odd_is_for_float_to_half_only(cast):
    with pytest.raises(AsyncError, match="Cast: CAST_ODD exists for float to half only"):
        cast("float_to_int32", np.ones(8, np.float32), np.int32, ODD)
