"""Elementwise instructions on arbitrary lengths and block counts, beside NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

LENGTHS = [1, 7, 8, 255, 1024, 4099]


@pytest.fixture
def library(kernel_library):
    return kernel_library("elementwise.cpp")


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_half_by_a_scalar(npu, library, n, blocks):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float16)
    y = npu.upload(np.full_like(x, 7))
    factor = np.float16(1.7)
    npu.launch(library.aclrtlaunch_muls_half, blocks, npu.upload(x), y, ctypes.c_uint16(factor.view(np.uint16)), n)
    np.testing.assert_array_equal(npu.download(y, x), x * factor)


@pytest.mark.parametrize("negate", [False, True])
def test_scalars_of_several_types(npu, library, negate):
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    y = npu.upload(np.zeros_like(x))
    arguments = ctypes.c_float(0.3), ctypes.c_bool(negate), ctypes.c_uint16(1001)
    npu.launch(library.aclrtlaunch_scale_float, 4, npu.upload(x), y, *arguments)
    np.testing.assert_array_equal(npu.download(y, x), x * np.float32(0.3) * np.float32(-1 if negate else 1))


@pytest.mark.parametrize(
    ("kernel", "reference", "low", "high"),
    [
        ("exp_float", np.exp, -90, 90),
        ("ln_float", np.log, 1e-3, 1e6),
        ("sqrt_float", np.sqrt, 0, 1e6),
        ("rsqrt_float", lambda x: 1 / np.sqrt(x), 1e-3, 1e6),
        ("reciprocal_float", lambda x: 1 / x, 1e-3, 1e6),
        ("abs_float", np.abs, -5, 5),
        ("relu_float", lambda x: np.maximum(x, 0), -5, 5),
        ("exp_half", np.exp, -8, 11),
        ("abs_half", np.abs, -5, 5),
    ],
)
@pytest.mark.parametrize("n", [3, 2049])
def test_unary(npu, library, kernel, reference, low, high, n):
    dtype = np.float16 if kernel.endswith("half") else np.float32
    x = np.random.default_rng(n).uniform(low, high, n).astype(dtype)
    y = npu.upload(np.zeros_like(x))
    npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 3, npu.upload(x), y, n)
    with np.errstate(over="ignore"):
        expected = reference(x.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(npu.download(y, x), expected, rtol=1e-3 if dtype == np.float16 else 5e-7, atol=1e-38)


def test_special_values_of_exp(npu, library):
    x = np.array([-np.inf, -200, -0.0, 0.0, 100, np.inf, np.nan], np.float32)
    y = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_exp_float, 1, npu.upload(x), y, x.size)
    np.testing.assert_array_equal(npu.download(y, x), np.array([0, 0, 1, 1, np.inf, np.inf, np.nan], np.float32))


def test_nothing_is_written_past_the_length(npu, library):
    x = np.ones(64, np.float32)
    y = npu.upload(np.full(64, 5, np.float32))
    npu.launch(library.aclrtlaunch_abs_float, 1, npu.upload(x), y, 61)
    np.testing.assert_array_equal(npu.download(y, x), np.r_[np.ones(61), 5, 5, 5].astype(np.float32))
