"""Compare and Select beside NumPy, and the tail that Compare leaves alone."""

from __future__ import annotations

import ctypes
import operator

import numpy as np
import pytest

MODES = [operator.lt, operator.gt, operator.eq, operator.le, operator.ge, operator.ne]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("mode", range(6))
@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("n", [128, 1024, 1056])
def test_select_where_the_comparison_holds(npu, kernel_library, dtype, mode, scalar, n):
    library = kernel_library("select.cpp")
    rng = np.random.default_rng(n)
    x, y = rng.integers(-3, 4, (2, n)).astype(dtype)
    bits, z = npu.upload(np.zeros(n // 8, np.uint8)), npu.upload(np.zeros_like(x))
    kernel = library.aclrtlaunch_select_float if dtype == np.float32 else library.aclrtlaunch_select_half
    npu.launch(kernel, 1, npu.upload(x), npu.upload(y), bits, z, mode, ctypes.c_bool(scalar), ctypes.c_float(1.0), n)

    other = np.full_like(x, 1) if scalar else y
    compared = n // (256 // x.itemsize) * (256 // x.itemsize)  # the rest keeps the zeros it was given
    holds = MODES[mode](x, other) & (np.arange(n) < compared)
    np.testing.assert_array_equal(npu.download(bits, np.empty(n // 8, np.uint8)), np.packbits(holds, bitorder="little"))
    np.testing.assert_array_equal(npu.download(z, x), np.where(holds, x, other))
