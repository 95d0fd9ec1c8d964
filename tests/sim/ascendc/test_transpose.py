"""Transposition of tiles beside NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest


@pytest.fixture
def library(kernel_library):
    return kernel_library("transpose.cpp")


def test_tile(npu, library):
    x = np.arange(256, dtype=np.float16).reshape(16, 16)
    y = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_transpose_tile, 1, npu.upload(x), y)
    np.testing.assert_array_equal(npu.download(y, x), x.T)


@pytest.mark.parametrize("tiles", [1, 2, 7])
def test_rows_of_half(npu, library, tiles):
    x = np.random.default_rng(tiles).standard_normal((16, 16 * tiles)).astype(np.float16)
    y = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_transpose_half, 1, npu.upload(x), y, ctypes.c_uint8(tiles))
    np.testing.assert_array_equal(npu.download(y, x.reshape(-1, 16)), x.T)


def test_rows_of_float(npu, library):
    x = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    y = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_transpose_float, 1, npu.upload(x), y)
    np.testing.assert_array_equal(npu.download(y, np.empty((8, 16), np.float32)), x.T)


@pytest.mark.parametrize("dst_high", [False, True])
@pytest.mark.parametrize("src_high", [False, True])
def test_halves_of_bytes(npu, library, dst_high, src_high):
    x = np.random.default_rng(0).integers(-128, 128, (16, 32)).astype(np.int8)
    y = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_transpose_bytes, 1, npu.upload(x), y, *map(ctypes.c_bool, (dst_high, src_high)))
    expected = np.zeros_like(x)
    half = {False: slice(0, 16), True: slice(16, 32)}
    expected[:, half[dst_high]] = x[:, half[src_high]].T
    np.testing.assert_array_equal(npu.download(y, x), expected)
