"""Repeat forms of reductions, comparisons and selections, beside NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest


@pytest.fixture
def library(kernel_library):
    return kernel_library("repeats.cpp")


def _repeats(x, mask, repeats, stride):
    """The elements that are reduced, and where each is."""
    step = stride * 32 // x.itemsize
    where = (np.arange(repeats)[:, None] * step + np.arange(mask)).ravel()
    return x[where], where


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("mask", "repeats", "stride"), [(1, 1, 8), (64, 3, 8), (33, 8, 10), (17, 4, 3)])
def test_reduction(npu, library, dtype, mask, repeats, stride):
    x = np.random.default_rng(mask).integers(-30, 30, 2048).astype(dtype)
    kernel = library.aclrtlaunch_reduce_float if dtype == np.float32 else library.aclrtlaunch_reduce_half
    values, where = _repeats(x, mask, repeats, stride)
    for kind in range(3):
        y = npu.upload(np.zeros(2, dtype))
        npu.launch(kernel, 1, npu.upload(x), y, kind, mask, repeats, stride)
        got = npu.download(y, np.empty(2, dtype))
        if kind == 0:
            assert got[0] == values.astype(np.float64).sum()
        else:
            best = (np.argmax, np.argmin)[kind - 1](values)
            assert got[0] == values[best]
            assert got.view(f"u{got.itemsize}")[1] == where[best]


@pytest.mark.parametrize("mask", [1 << 127, 0x5555 << 64 | 0xF0F0, (1 << 128) - 1])
def test_bitwise_mask(npu, library, mask):
    x = np.random.default_rng(3).integers(-30, 30, 256).astype(np.float16)
    y = npu.upload(np.zeros(2, np.float16))
    words = [ctypes.c_uint64(mask & (2**64 - 1)), ctypes.c_uint64(mask >> 64)]
    npu.launch(library.aclrtlaunch_reduce_bits, 1, npu.upload(x), y, *words)
    where = np.flatnonzero([mask >> (i % 128) & 1 for i in range(256)])
    got = npu.download(y, np.empty(2, np.float16))
    best = where[np.argmax(x[where])]
    assert (got[0], got.view(np.uint16)[1]) == (x[best], best)


@pytest.mark.parametrize("repeats", [1, 6])
def test_pairs(npu, library, repeats):
    x = np.random.default_rng(repeats).standard_normal(repeats * 64).astype(np.float32)
    y = npu.upload(np.zeros(repeats * 32, np.float32))
    npu.launch(library.aclrtlaunch_pair_sums, 1, npu.upload(x), y, repeats)
    np.testing.assert_array_equal(npu.download(y, np.empty(repeats * 32, np.float32)), x[::2] + x[1::2])


@pytest.mark.parametrize("mask", [1, 40, 64])
@pytest.mark.parametrize("repeats", [1, 7])
def test_compare_and_select_with_a_repeated_operand(npu, library, mask, repeats):
    x = np.random.default_rng(mask).integers(-9, 9, (repeats, 64)).astype(np.float32)
    y = np.random.default_rng(repeats).integers(-9, 9, 64).astype(np.float32)
    z = npu.upload(np.full_like(x, 99))
    arguments = (ctypes.c_uint64(mask), ctypes.c_uint8(repeats))
    npu.launch(library.aclrtlaunch_larger, 1, npu.upload(x), npu.upload(y), z, *arguments)
    expected = np.where(np.arange(64) < mask, np.maximum(x, y), 99)
    np.testing.assert_array_equal(npu.download(z, x), expected)


@pytest.mark.parametrize("repeats", [1, 7])
def test_compare_with_a_scalar(npu, library, repeats):
    x = np.random.default_rng(repeats).integers(-9, 9, repeats * 64).astype(np.float32)
    z = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_at_least, 1, npu.upload(x), z, ctypes.c_float(2), ctypes.c_uint8(repeats))
    np.testing.assert_array_equal(npu.download(z, x), np.where(x >= 2, x, 0))


def test_accumulations_by_lanes(npu, library):
    random = np.random.default_rng(4)
    x, h = random.integers(-9, 9, 256).astype(np.float32), random.integers(-9, 9, 128).astype(np.float16)
    y = npu.upload(np.zeros((6, 128), np.float32))
    npu.launch(library.aclrtlaunch_accumulations, 1, npu.upload(x), npu.upload(h), y)
    got = npu.download(y, np.zeros((6, 128), np.float32))
    a, b, lane = x[:128], x[128:], np.arange(128) % 64
    even, sums = lane % 2 == 0, [1 + 2 * a, 1 + 3 * h.astype(np.float32), 1 + a * b, a + b, np.maximum(a + b, 0)]
    for row, (lanes, expected) in enumerate(zip([lane < 32, even, lane < 64, even, lane < 64], sums, strict=True)):
        np.testing.assert_array_equal(got[row], np.where(lanes, expected, 1), err_msg=str(row))
    one = np.float32(1).view(np.int32)
    index = got[5].view(np.int32)
    np.testing.assert_array_equal(index[:64], np.where(lane[:64] < 32, 5 + lane[:64], one))
    np.testing.assert_array_equal(index[64:], np.where(even[:64], lane[:64] - 2, one))


@pytest.mark.parametrize("repeats", [1, 4])
def test_the_compare_register(npu, library, repeats):
    x, y = np.random.default_rng(repeats).integers(-9, 9, (2, repeats, 64)).astype(np.float32)
    z = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_choose_by_first, 1, npu.upload(x), npu.upload(y), z, ctypes.c_uint8(repeats))
    np.testing.assert_array_equal(npu.download(z, x), np.where(x[0] < y[0], x, y))
