"""Repeat forms: masks, strides and the counter mode, beside NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@pytest.fixture
def library(kernel_library):
    return kernel_library("masked.cpp")


@pytest.mark.parametrize("count", [1, 17, 64])
def test_counted_mask(npu, library, count):
    x, y = np.arange(256, dtype=np.float32), np.full(256, 0.5, np.float32)
    z = npu.upload(np.zeros_like(x))
    bits = [ctypes.c_uint64(value) for value in (0, 0, count)]
    npu.launch(library.aclrtlaunch_add_masked, 1, npu.upload(x), npu.upload(y), z, *bits)
    active = np.arange(256) % 64 < count
    np.testing.assert_array_equal(npu.download(z, x), np.where(active, x + y, -1))


@pytest.mark.parametrize("mask", [0, 1, 0x8000_0000_0000_0001, 0xFFFF_FFFF_FFFF_FFFF, 0x0123_4567_89AB_CDEF])
def test_bitwise_mask(npu, library, mask):
    x, y = np.arange(256, dtype=np.float32), np.full(256, 0.5, np.float32)
    z = npu.upload(np.zeros_like(x))
    bits = [ctypes.c_uint64(value) for value in (mask, 0, 0)]
    npu.launch(library.aclrtlaunch_add_masked, 1, npu.upload(x), npu.upload(y), z, *bits)
    active = np.array([mask >> (i % 64) & 1 for i in range(256)], bool)
    np.testing.assert_array_equal(npu.download(z, x), np.where(active, x + y, -1))


def test_a_mask_beyond_the_repeat_is_refused(npu, library):
    memory = npu.upload(np.zeros(256, np.float32))
    npu.launch(library.aclrtlaunch_add_masked, 1, memory, memory, memory, *(ctypes.c_uint64(v) for v in (0, 0, 65)))
    with pytest.raises(AsyncError, match="Add: mask 65, a repeat has 64 elements"):
        npu.synchronize()


def test_block_stride(npu, library):
    x = np.arange(512, dtype=np.float32)
    z = npu.upload(np.zeros(256, np.float32))
    npu.launch(library.aclrtlaunch_gather_blocks, 1, npu.upload(x), z)
    np.testing.assert_array_equal(npu.download(z, x[:256]), x.reshape(-1, 2, 8)[:, 0].ravel() + 1)


@pytest.mark.parametrize("count", [1, 64, 100, 256])
def test_counter_mode(npu, library, count):
    x = np.arange(1, 257, dtype=np.float32)
    z = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_counter_mode, 1, npu.upload(x), z, ctypes.c_uint64(count))
    np.testing.assert_array_equal(npu.download(z, x), np.where(np.arange(256) < count, 2 * x, 0))
