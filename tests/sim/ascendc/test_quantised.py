"""Products of small integers and rounded floats, and conversions out of L0C, against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

# AscendC::DeqScale
NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 = range(7)
TYPES = {"to_half": np.float16, "to_half_by_halves": np.float16, "to_int16": np.int16, "to_int8": np.int8}
TYPES["to_uint8"] = np.uint8


@pytest.fixture
def library(kernel_library):
    return kernel_library("quantised.cpp")


def packed(values: np.ndarray) -> np.ndarray:
    nibbles = (values & 0xF).astype(np.uint8)
    return nibbles[:, 0::2] | nibbles[:, 1::2] << 4


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 64), (32, 48, 128), (16, 32, 192)])
def test_integers_of_4_bits(npu, library, m, n, k):
    rng = np.random.default_rng(m)
    a, b = rng.integers(-8, 8, (m, k)), rng.integers(-8, 8, (n, k))
    c = np.zeros((n // 16, m, 16), np.int32)
    pointer = npu.upload(c)
    sizes = map(ctypes.c_uint16, (m, n, k))
    npu.launch(library.aclrtlaunch_nibbles, 1, npu.upload(packed(a)), npu.upload(packed(b)), pointer, *sizes)
    np.testing.assert_array_equal(npu.download(pointer, c).transpose(1, 0, 2).reshape(m, n), a @ b.T)


def hf32(x: np.ndarray, *, away: bool) -> np.ndarray:
    """Floats with 11 bits behind the point."""
    bits = x.view(np.uint32).astype(np.uint64)
    bits += 0x7FF + (1 if away else bits >> 12 & 1)
    return (bits & ~np.uint64(0xFFF)).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize(("on", "away"), [(False, False), (True, False), (True, True)])
def test_floats_rounded_before_they_are_multiplied(npu, library, on, away):
    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    x[0, :4] = np.array([0x3F800800, 0x3F801800, 0xBF800800, 0x3F8007FF], np.uint32).view(np.float32)  # ties
    y = npu.upload(np.zeros((16, 16), np.float32))
    unit = npu.upload(np.eye(16, dtype=np.float32))
    npu.launch(library.aclrtlaunch_rounded, 1, npu.upload(x), unit, y, ctypes.c_bool(on), ctypes.c_bool(away))
    got = npu.download(y, np.zeros((16, 16), np.float32))
    np.testing.assert_array_equal(got, hf32(x, away=away) if on else x)


@pytest.fixture
def scaled_out(npu, library):
    """A product of integers, with a scale for each column and with one scale."""

    def run(column_scales: np.ndarray, scale: int, *, forgets: bool = False):
        a, b = np.random.default_rng(5).integers(-9, 10, (2, 32, 32)).astype(np.int8)
        outputs = [np.zeros((32, 32), dtype) for dtype in (np.float16, np.int8, np.int8)]
        pointers = [npu.upload(array) for array in outputs]
        inputs = map(npu.upload, (a, b, column_scales))
        numbers = ctypes.c_uint64(scale), ctypes.c_bool(forgets)
        npu.launch(library.aclrtlaunch_scaled_out, 1, *inputs, *pointers, *numbers)
        return a.astype(np.int32) @ b.T.astype(np.int32), *map(npu.download, pointers, outputs)

    return run


@pytest.mark.parametrize("offset", [0, 3, -40])
def test_scales_on_the_way_out_of_l0c(scaled_out, offset):
    scales = np.random.default_rng(6).integers(1, 9, 32) / 8
    product, halves, bytes_, fractals = scaled_out(words(scales), int(words(np.array([0.25]), offset)[0]))
    np.testing.assert_array_equal(halves, (product * scales).astype(np.float16))
    np.testing.assert_array_equal(bytes_, np.clip(np.rint(product * 0.25) + offset, -128, 127))
    np.testing.assert_array_equal(fractals, bytes_)  # one column of fractals, as they are 32 bytes wide


def test_scales_of_columns_that_nobody_gives(scaled_out):
    with pytest.raises(AsyncError, match="quantPre scales each column by its own number: give a tensor of these"):
        scaled_out(words(np.ones(32)), 0, forgets=True)


@pytest.fixture
def dequantise(npu, library):
    """What a kernel makes of a matrix of integers; these and the result."""

    def run(kernel: str, mode: int, scales: np.ndarray, *, relu: bool = False):
        x = np.random.default_rng(mode).integers(-128, 128, (16, 32)).astype(np.int8)
        unit = np.eye(16, 32, dtype=np.int8)
        y = npu.upload(np.zeros((16, 16), TYPES[kernel]))
        value = int(scales[0]) if scales.dtype == np.uint64 else int(scales[:1].view(np.uint16)[0])
        arguments = (npu.upload(x), npu.upload(unit), npu.upload(scales), y)
        numbers = (ctypes.c_uint8(mode), ctypes.c_uint64(value), ctypes.c_bool(relu))
        npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, *arguments, *numbers)
        integers = x[:, :16].astype(np.int32)
        return np.maximum(integers, 0) if relu else integers, npu.download(y, np.zeros((16, 16), TYPES[kernel]))

    return run


def words(scales: np.ndarray, offset: int = 0) -> np.ndarray:
    """What DEQ8 and DEQ16 take: a float, and an offset of 9 bits from bit 37 on."""
    return scales.astype(np.float32).view(np.uint32).astype(np.uint64) | np.uint64((offset & 0x1FF) << 37)


SCALES = np.linspace(0.11, 1.93, 16)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("mode", [DEQ16, VDEQ16])
def test_floats_scale_to_half(dequantise, mode, relu):
    x, got = dequantise("to_half", mode, words(SCALES), relu=relu)
    scales = SCALES.astype(np.float32)
    expected = (x.astype(np.float32) * (scales if mode == VDEQ16 else scales[0]).astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("mode", [DEQ, VDEQ])
def test_halves_scale_to_half(dequantise, mode):
    scales = SCALES.astype(np.float16)
    x, got = dequantise("to_half_by_halves", mode, scales)
    wide = scales.astype(np.float32)
    np.testing.assert_array_equal(got, (x.astype(np.float32) * (wide if mode == VDEQ else wide[0])).astype(np.float16))


@pytest.mark.parametrize(("kernel", "offset"), [("to_int8", 0), ("to_int8", -100), ("to_uint8", 99), ("to_uint8", 0)])
@pytest.mark.parametrize("mode", [DEQ8, VDEQ8])
def test_bytes_are_rounded_moved_and_cut_off(dequantise, kernel, offset, mode):
    x, got = dequantise(kernel, mode, words(SCALES, offset))
    scales = SCALES.astype(np.float32)
    limits = np.iinfo(TYPES[kernel])
    whole = np.rint(x.astype(np.float32) * (scales if mode == VDEQ8 else scales[0]).astype(np.float32)) + offset
    np.testing.assert_array_equal(got, np.clip(whole, limits.min, limits.max).astype(TYPES[kernel]))


def test_int16_is_rounded(dequantise):
    x, got = dequantise("to_int16", DEQ16, words(np.full(16, 300.5)))
    np.testing.assert_array_equal(
        got, np.clip(np.rint(x.astype(np.float32) * np.float32(300.5)), -(2**15), 2**15 - 1).astype(np.int16)
    )


@pytest.mark.parametrize(
    ("kernel", "mode"), [("to_half", NONE), ("to_half", DEQ8), ("to_int8", DEQ16), ("to_int16", DEQ)]
)
def test_a_mode_of_other_types(dequantise, kernel, mode):
    with pytest.raises(AsyncError, match="deqScale does not say how to make these types of one another"):
        dequantise(kernel, mode, words(SCALES))
