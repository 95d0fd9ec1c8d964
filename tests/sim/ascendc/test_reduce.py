"""Reductions within, over and between blocks, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def library(kernel_library):
    return kernel_library("reduce.cpp")


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000, 5000])
def test_sum(npu, library, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    y = npu.upload(np.zeros(2, np.float32))
    npu.launch(library.aclrtlaunch_reduce_float, 1, npu.upload(x), y, 0, n)
    got = npu.download(y, np.empty(2, np.float32))[0]
    assert got == pytest.approx(x.astype(np.float64).sum(), rel=1e-5, abs=1e-4)


def test_sum_of_half_rounds_each_repeat(npu, library):
    x = np.full(4096, 0.1, np.float16)
    y = npu.upload(np.zeros(2, np.float16))
    npu.launch(library.aclrtlaunch_reduce_half, 1, npu.upload(x), y, 0, x.size)
    assert npu.download(y, np.empty(2, np.float16))[0] == pytest.approx(float(x[0]) * 4096, rel=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("n", [1, 100, 2000])
def test_best_value_and_its_lowest_index(npu, library, dtype, n):
    x = np.random.default_rng(n).integers(-9, 9, n).astype(dtype)
    kernel = library.aclrtlaunch_reduce_float if dtype == np.float32 else library.aclrtlaunch_reduce_half
    for kind, arg in ((1, np.argmax), (2, np.argmin)):
        y = npu.upload(np.zeros(2, dtype))
        npu.launch(kernel, 1, npu.upload(x), y, kind, n)
        got = npu.download(y, np.empty(2, dtype))
        assert got[0] == x[arg(x)]
        assert got.view(f"u{got.itemsize}")[1] == arg(x)


def test_registers(npu, library):
    x = np.random.default_rng(2).permutation(100).astype(np.float32)
    y = npu.upload(np.zeros(8, np.float32))
    npu.launch(library.aclrtlaunch_registers, 1, npu.upload(x), y)
    got = npu.download(y, np.empty(8, np.float32))
    assert got[[0, 1, 2, 4]].tolist() == [4950, 4950, 99, 0]
    assert got.view(np.uint32)[[3, 5]].tolist() == [x.argmax(), x.argmin()]


def test_rows_and_blocks(npu, library):
    x = np.random.default_rng(1).standard_normal((16, 64)).astype(np.float32)
    outputs = [np.zeros(shape, np.float32) for shape in (16, (16, 8), (16, 2))]
    memory = [npu.upload(output) for output in outputs]
    npu.launch(library.aclrtlaunch_reduce_rows, 1, npu.upload(x), *memory, 16)
    sums, maxima, best = (npu.download(pointer, output) for pointer, output in zip(memory, outputs, strict=True))
    np.testing.assert_allclose(sums, x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(maxima, x.reshape(16, 8, 8).max(2))
    np.testing.assert_array_equal(best[:, 0], x.max(1))
    np.testing.assert_array_equal(best.view(np.uint32)[:, 1], x.argmax(1))


@pytest.mark.parametrize("blocks", [1, 7, 48])
def test_atomic_addition_between_blocks(npu, library, blocks):
    y = np.zeros((1 + blocks, 8), np.float32)
    y[1:] = 1000
    pointer = npu.upload(y)
    y[1:] = np.arange(1, blocks + 1)[:, None]
    npu.launch(library.aclrtlaunch_add_atomically, blocks, pointer)
    y[0] = blocks * (blocks + 1) / 2
    np.testing.assert_array_equal(npu.download(pointer, y), y)


@pytest.mark.parametrize("blocks", [1, 2, 48])
def test_blocks_that_wait_for_each_other(npu, library, blocks):
    x, y = npu.upload(np.zeros(blocks, np.int32)), npu.upload(np.zeros(blocks, np.int32))
    npu.launch(library.aclrtlaunch_rotate, blocks, x, y)
    expected = np.roll(np.arange(blocks) * 10, -1)
    np.testing.assert_array_equal(npu.download(y, np.empty(blocks, np.int32)), expected)
