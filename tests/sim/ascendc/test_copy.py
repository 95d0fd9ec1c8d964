"""DataCopy rounds down to 32 bytes and DataCopyPad fills up to them: what arrives where, element by element."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

WINDOW, UNTOUCHED = 256, -7
# The checker objects to counts that lose elements and to padding that holds no value.
unchecked = pytest.mark.parametrize("checker", ["0"], indirect=True)
u16, u32 = ctypes.c_uint16, ctypes.c_uint32


@pytest.fixture
def shown(npu, kernel_library):
    library = kernel_library("copy.cpp")

    def run(kernel, *arguments):
        x = np.arange(1, WINDOW + 1, dtype=np.int32)
        y = npu.upload(np.full_like(x, UNTOUCHED))
        npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(x), y, *arguments)
        return npu.download(y, x)

    return run


def test_slices(npu, kernel_library):
    x = np.arange(1, 3 * 87 + 1, dtype=np.int32).reshape(3, 87)
    y, expected = npu.upload(np.zeros_like(x)), np.zeros_like(x)
    for columns in (slice(16, 40), slice(47, 71)):
        expected[::2, columns] = x[::2, columns]
    npu.launch(kernel_library("copy.cpp").aclrtlaunch_copy_slices, 1, npu.upload(x), y, u32(7))
    np.testing.assert_array_equal(npu.download(y, x), expected)


def test_slices_of_broken_pieces(npu, kernel_library):
    x = npu.upload(np.zeros((3, 87), np.int32))
    npu.launch(kernel_library("copy.cpp").aclrtlaunch_copy_slices, 1, x, x, u32(6))
    with pytest.raises(AsyncError, match="elements 16 to 70 of 87, is not made of whole pieces of 24 with gaps of 6"):
        npu.synchronize()


def _expected(pieces):
    window = np.full(WINDOW, UNTOUCHED, np.int32)
    for at, values in pieces:
        window[at : at + len(values)] = values
    return window


@unchecked
@pytest.mark.parametrize(("count", "copied"), [(0, 0), (7, 0), (8, 8), (15, 8), (250, 248)])
def test_a_count_rounds_down_to_whole_blocks(shown, count, copied):
    np.testing.assert_array_equal(shown("copy_count", u32(count)), _expected([(0, range(1, copied + 1))]))


def test_strides_are_gaps_in_blocks(shown):
    got = shown("copy_blocks", u16(3), u16(2), u16(1), u16(3))
    pieces = [(40 * i, range(24 * i + 1, 24 * i + 17)) for i in range(3)]
    np.testing.assert_array_equal(got, _expected(pieces))


def _padded(shown, count, length, src_gap, dst_gap, is_pad, left, right, value):
    sizes = ctypes.c_bool(is_pad), ctypes.c_uint8(left), ctypes.c_uint8(right), ctypes.c_int32(value)
    return shown("copy_padded", u16(count), u32(length), u32(src_gap), u32(dst_gap), *sizes)


def test_without_padding_the_dummies_repeat_each_blocks_first_element(shown):
    got = _padded(shown, 2, 12, 8, 1, False, 0, 0, 99)
    np.testing.assert_array_equal(got, _expected([(0, [1, 2, 3, 1, 1, 1, 1, 1]), (16, [6, 7, 8, 6, 6, 6, 6, 6])]))


def test_padding_values_and_dummies(shown):
    got = _padded(shown, 1, 12, 0, 0, True, 2, 1, 99)
    np.testing.assert_array_equal(got, _expected([(0, [99, 99, 1, 2, 3, 99, 99, 99])]))


@unchecked
def test_padding_that_is_not_enabled_leaves_poison(shown):
    got = _padded(shown, 1, 12, 0, 0, False, 2, 1, 99)
    np.testing.assert_array_equal(got, _expected([(0, [-1, -1, 1, 2, 3, -1, -1, -1])]))


def test_out_of_local_memory_only_the_bytes_asked_for_are_written(shown):
    got = shown("copy_out_unpadded", u16(2), u32(12), u32(1), u32(8))
    np.testing.assert_array_equal(got, _expected([(0, [1, 2, 3]), (5, [17, 18, 19])]))
