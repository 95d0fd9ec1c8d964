"""Load3D by its registers, repeated, transposed and fractal by fractal, against NumPy."""

from __future__ import annotations

import ctypes
from dataclasses import astuple, dataclass

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@dataclass(frozen=True)
class Shape:
    """The struct of windows.cpp: a feature map, the windows' matrix, the filter."""

    height: int
    width: int
    channels: int
    rows: int
    columns: int
    filter: int = 1
    stride: int = 1
    pad: int = 0

    def packed(self) -> bytes:
        values = astuple(self)
        return np.array(values[:5], np.uint16).tobytes() + np.array([*values[5:], 0], np.uint8).tobytes()[:4]


def windows(x: np.ndarray, s: Shape, deep: int, padding: float = 0) -> np.ndarray:
    """A row for each window of x (channels, height, width), of which as many are there as fit."""
    padded = np.pad(x, ((0, 0), (s.pad, s.pad), (s.pad, s.pad)), constant_values=padding)
    rows = []
    for top in range(0, padded.shape[1] - s.filter + 1, s.stride):
        for left in range(0, padded.shape[2] - s.filter + 1, s.stride):
            window = padded[:, top : top + s.filter, left : left + s.filter]
            rows.append(window.reshape(-1, deep, s.filter, s.filter).transpose(0, 2, 3, 1).ravel())
    return np.array(rows)


@pytest.fixture
def load(npu, kernel_library):
    """What a kernel of windows.cpp makes of a feature map, and that map."""
    library = kernel_library("windows.cpp")

    def run(kernel: str, s: Shape, out: tuple[int, int], inner: int, *more, dtype=np.float16):
        x = np.random.default_rng(s.rows).integers(1, 100, (s.channels, s.height, s.width)).astype(dtype)
        deep = 32 // x.itemsize
        image = x.reshape(-1, deep, s.height, s.width).transpose(0, 2, 3, 1)
        y = npu.upload(np.zeros(out, np.float32))
        arguments = (npu.upload(image), npu.upload(np.eye(inner, dtype=dtype)), y, ctypes.c_char_p(s.packed()))
        npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, *arguments, *more)
        return npu.download(y, np.zeros(out, np.float32)), x

    return run


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "half"), (np.float32, "float")])
@pytest.mark.parametrize(("rows", "channels"), [(16, 16), (32, 16), (16, 48), (64, 32)])
def test_a_matrix_is_transposed_as_a_whole(load, dtype, name, rows, channels):
    s = Shape(1, rows, channels, rows, channels)
    got, x = load(f"transposed_{name}", s, (channels, rows), rows, dtype=dtype)
    np.testing.assert_array_equal(got, x.reshape(channels, rows))


@pytest.mark.parametrize("padding", [0.0, 3.0])
@pytest.mark.parametrize(("stride", "times"), [(1, 2), (2, 2), (1, 3), (0, 2)])
def test_parts_below_each_other(load, padding, stride, times):
    s = Shape(8, 8, 16, 16, 9 * 16, filter=3, pad=1)
    more = (ctypes.c_uint16(stride), ctypes.c_uint8(times), ctypes.c_uint8(0), ctypes.c_float(padding))
    got, x = load("repeated", s, (16 * times, 144), 144, *more)
    whole = windows(x, s, 16, padding)
    first = [part * stride * 16 for part in range(times)]
    np.testing.assert_array_equal(got, np.concatenate([whole[start : start + 16] for start in first]))


@pytest.mark.parametrize(("stride", "times"), [(1, 3), (2, 2), (3, 3)])
def test_parts_beside_each_other(load, stride, times):
    s = Shape(8, 8, 16, 64, 16, filter=3, pad=1)
    more = (ctypes.c_uint16(stride), ctypes.c_uint8(times), ctypes.c_uint8(1), ctypes.c_float(0))
    got, x = load("repeated", s, (64, 16 * times), 16 * times, *more)
    whole = windows(x, s, 16)
    first = [part * stride * 16 for part in range(times)]
    np.testing.assert_array_equal(got, np.concatenate([whole[:, start : start + 16] for start in first], axis=1))


@pytest.mark.parametrize("s", [Shape(8, 8, 16, 64, 144, 3, 1, 1), Shape(9, 9, 32, 16, 32 * 4, 2, 2, 0)])
def test_fractals_one_by_one(load, s):
    got, x = load("fractals_left", s, (s.rows, s.columns), s.columns)
    np.testing.assert_array_equal(got, windows(x, s, 16)[: s.rows])


@pytest.mark.parametrize("s", [Shape(4, 4, 16, 16, 144, 3, 1, 1), Shape(4, 4, 32, 16, 32, 1, 1, 0)])
def test_fractals_of_the_right_side(load, s):
    got, x = load("fractals_right", s, (16, s.columns), 16)
    np.testing.assert_array_equal(got, windows(x, s, 16))


def test_nothing_is_loaded_where_nothing_is_asked_for(load):
    s = Shape(1, 16, 16, 16, 16)
    got, x = load("nothing_to_load", s, (16, 16), 16)
    np.testing.assert_array_equal(got, x.reshape(16, 16).T)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("transposed_bytes", "LoadData: enTranspose exists for types of 2 and 4 bytes"),
        ("between_windows", "LoadData: leftTopW is not where a window begins"),
    ],
)
def test_fault(load, kernel, message):
    with pytest.raises(AsyncError) as error:
        load(kernel, Shape(1, 16, 16, 16, 16), (16, 16), 16)
    assert message in error.value.message
