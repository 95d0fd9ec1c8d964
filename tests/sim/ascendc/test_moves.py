"""Gather, scatter, masks of elements, sorting and merging, beside NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@pytest.fixture
def library(kernel_library):
    return kernel_library("moves.cpp")


@pytest.mark.parametrize("n", [1, 63, 1000])
def test_gather(npu, library, n):
    rng = np.random.default_rng(n)
    x, index = rng.standard_normal(777).astype(np.float32), rng.integers(0, 777, n)
    y = npu.upload(np.zeros(n, np.float32))
    npu.launch(library.aclrtlaunch_gather_float, 1, npu.upload(x), npu.upload((index * 4).astype(np.uint32)), y, 777, n)
    np.testing.assert_array_equal(npu.download(y, np.empty(n, np.float32)), x[index])


@pytest.mark.parametrize(("offset", "message"), [(2, "does not meet an element of 4 bytes"), (3200, "its buffer has")])
def test_gather_beyond_or_between_elements(npu, library, offset, message):
    x, y = npu.upload(np.zeros(777, np.float32)), npu.upload(np.zeros(8, np.float32))
    npu.launch(library.aclrtlaunch_gather_float, 1, x, npu.upload(np.full(8, offset, np.uint32)), y, 777, 8)
    with pytest.raises(AsyncError, match=f"Gather: .*{message}"):
        npu.synchronize()


@pytest.mark.parametrize("mask", [0, 1, 77, 128])
def test_gather_masked(npu, library, mask):
    x = np.arange(256, dtype=np.float16)
    index = np.random.default_rng(mask).permutation(256)
    y = npu.upload(np.zeros_like(x))
    offsets = npu.upload((index * 2).astype(np.uint32))
    npu.launch(library.aclrtlaunch_gather_half_masked, 1, npu.upload(x), offsets, y, ctypes.c_uint64(mask))
    np.testing.assert_array_equal(npu.download(y, x), np.where(np.arange(256) % 128 < mask, x[index], -1))


@pytest.mark.parametrize("repeats", [1, 5])
def test_gather_of_blocks(npu, library, repeats):
    x = np.arange(512, dtype=np.int32).reshape(64, 8)
    index = np.random.default_rng(repeats).integers(0, 64, repeats * 8)
    y = npu.upload(np.zeros((repeats * 8, 8), np.int32))
    offsets = npu.upload((index * 32).astype(np.uint32))
    npu.launch(library.aclrtlaunch_gather_blocks, 1, npu.upload(x), offsets, y, ctypes.c_uint8(repeats))
    np.testing.assert_array_equal(npu.download(y, x[index]), x[index])


@pytest.mark.parametrize("n", [1, 65, 1000])
def test_scatter(npu, library, n):
    rng = np.random.default_rng(n)
    x, index = rng.standard_normal(n).astype(np.float32), rng.permutation(n)
    y = npu.upload(np.zeros(n, np.float32))
    npu.launch(library.aclrtlaunch_scatter_float, 1, npu.upload(x), npu.upload((index * 4).astype(np.uint32)), y, n)
    expected = np.zeros(n, np.float32)
    expected[index] = x
    np.testing.assert_array_equal(npu.download(y, x), expected)


PATTERNS = {1: [0, 2], 2: [1, 3], 3: [0], 4: [1], 5: [2], 6: [3], 7: [0, 1, 2, 3]}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("counted", "mask", "n"), [(False, 0, 384), (True, 384, 384), (True, 48, 96)])
def test_gather_mask_by_pattern(npu, library, pattern, counted, mask, n):
    x = np.random.default_rng(n).integers(-999, 999, n).astype(np.int16)
    y, kept = npu.upload(np.full(n, 7, np.int16)), npu.upload(np.zeros(1, np.uint32))
    arguments = (ctypes.c_uint8(pattern), ctypes.c_bool(counted), mask, n)
    npu.launch(library.aclrtlaunch_keep_pattern, 1, npu.upload(x), y, kept, *arguments)
    expected = x[np.isin(np.arange(n) % 4, PATTERNS[pattern])]
    assert npu.download(kept, np.empty(1, np.uint32))[0] == expected.size
    rest = np.full(n - expected.size, 7)
    np.testing.assert_array_equal(npu.download(y, x), np.concatenate([expected, rest]))


@pytest.mark.parametrize("n", [32, 1024])
def test_gather_mask_by_bits(npu, library, n):
    rng = np.random.default_rng(n)
    x, keep = rng.standard_normal(n).astype(np.float32), rng.integers(0, 2, n).astype(bool)
    y, kept = npu.upload(np.zeros(n, np.float32)), npu.upload(np.zeros(1, np.uint32))
    bits = np.packbits(keep, bitorder="little")
    npu.launch(library.aclrtlaunch_keep_bits, 1, npu.upload(x), npu.upload(bits), y, kept, n)
    assert npu.download(kept, np.empty(1, np.uint32))[0] == keep.sum()
    np.testing.assert_array_equal(npu.download(y, x)[: keep.sum()], x[keep])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("repeats", [1, 9])
def test_brcb(npu, library, dtype, repeats):
    x = np.arange(repeats * 8).astype(dtype)
    y = np.zeros((x.size, 32 // x.itemsize), dtype)
    pointer = npu.upload(y)
    kernel = library.aclrtlaunch_brcb_float if dtype == np.float32 else library.aclrtlaunch_brcb_half
    npu.launch(kernel, 1, npu.upload(x), pointer, ctypes.c_uint8(repeats))
    np.testing.assert_array_equal(npu.download(pointer, y), np.broadcast_to(x[:, None], y.shape))


@pytest.mark.parametrize(
    ("kernel", "dtype", "n"),
    [("sort_float", np.float32, n) for n in (32, 64, 128)]
    + [("sort_half", np.float16, n) for n in (32, 64, 128)]
    + [("sort_full", np.float32, n) for n in (32, 96, 1024)],
)
def test_sort(npu, library, kernel, dtype, n):
    rng = np.random.default_rng(n)
    x = rng.integers(-40, 40, n).astype(dtype)  # with equal scores, which keep their order
    index = rng.permutation(n).astype(np.uint32)
    values, order = npu.upload(np.zeros_like(x)), npu.upload(np.zeros_like(index))
    npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(x), npu.upload(index), values, order, n)
    expected = np.argsort(-x.astype(np.float64), kind="stable")
    np.testing.assert_array_equal(npu.download(values, x), x[expected])
    np.testing.assert_array_equal(npu.download(order, index), index[expected])


@pytest.mark.parametrize(("first", "second"), [(3, 0), (0, 17), (5, 6)])
def test_lists_begin_at_any_element(npu, library, first, second):
    x = np.random.default_rng(first).permutation(64).astype(np.float32)
    values, order = npu.upload(np.full_like(x, 99)), npu.upload(np.zeros(64, np.uint32))
    index = npu.upload(np.arange(64, dtype=np.uint32))
    npu.launch(library.aclrtlaunch_merge_rests, 1, npu.upload(x), index, values, order, first, second)
    expected = np.concatenate([np.argsort(-x[:32])[first:], 32 + np.argsort(-x[32:])[second:]])
    expected = expected[np.argsort(-x[expected])]
    zeros = np.zeros(first + second)
    np.testing.assert_array_equal(npu.download(values, x), [*x[expected], *zeros])
    np.testing.assert_array_equal(npu.download(order, np.empty(64, np.uint32)), [*expected, *zeros])


def test_merging_stops_when_a_list_is_used_up(npu, library):
    x = np.concatenate([np.arange(100, 132), np.arange(32) * 6]).astype(np.float32)
    values, taken = npu.upload(np.zeros_like(x)), npu.upload(np.zeros(2, np.uint32))
    index = npu.upload(np.arange(64, dtype=np.uint32))
    npu.launch(library.aclrtlaunch_merge_until_exhausted, 1, npu.upload(x), index, values, taken)
    greater = int((x[32:] > 100).sum())
    np.testing.assert_array_equal(npu.download(taken, np.empty(2, np.uint32)), [32, greater])
    expected = np.sort(np.concatenate([x[:32], x[32:][x[32:] > 100]]))[::-1]
    np.testing.assert_array_equal(npu.download(values, x)[: expected.size], expected)
