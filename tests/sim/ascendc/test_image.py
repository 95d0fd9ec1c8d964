"""LoadData3DParamsV2, DataCopyEnhancedParams: a convolution as a product of matrices, against NumPy."""

from __future__ import annotations

import ctypes
from dataclasses import astuple, dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Shape:
    """The struct of image.cpp."""

    height: int
    width: int
    channels: int
    windows: int
    filter_h: int
    filter_w: int
    stride: int
    dilation: int
    pad: int
    output_channels: int

    def packed(self) -> bytes:
        values = astuple(self)
        return np.array(values[:4], np.uint16).tobytes() + np.array(values[4:], np.uint8).tobytes()


def shape(height: int, width: int, channels: int, filter_: int, stride: int, dilation: int, pad: int) -> Shape:
    reach = dilation * (filter_ - 1) + 1
    rows, columns = ((size + 2 * pad - reach) // stride + 1 for size in (height, width))
    return Shape(height, width, channels, rows * columns, filter_, filter_, stride, dilation, pad, 16)


SHAPES = [
    shape(4, 8, 16, 1, 1, 1, 0),
    shape(4, 8, 32, 1, 1, 1, 0),
    shape(6, 6, 16, 3, 1, 1, 1),
    shape(9, 7, 16, 3, 2, 1, 0),
    shape(8, 8, 32, 2, 2, 2, 1),
]


def matrix_of_windows(x: np.ndarray, s: Shape) -> np.ndarray:
    """A row for each window of x (channels, height, width): groups of 16 channels, the filter, the 16 channels."""
    padded = np.pad(x, ((0, 0), (s.pad, s.pad), (s.pad, s.pad)))
    reach = s.dilation * (s.filter_h - 1) + 1
    rows = []
    for top in range(0, padded.shape[1] - reach + 1, s.stride):
        for left in range(0, padded.shape[2] - reach + 1, s.stride):
            window = padded[:, top : top + reach : s.dilation, left : left + reach : s.dilation]
            grouped = window.reshape(s.channels // 16, 16, s.filter_h, s.filter_w)
            rows.append(grouped.transpose(0, 2, 3, 1).ravel())
    return np.array(rows)


def fractal_rows(matrix: np.ndarray, *, transposed: bool) -> np.ndarray:
    """Rows of fractals of 16 x 16, each by rows or by columns."""
    m, k = matrix.shape
    blocks = matrix.reshape(m // 16, 16, k // 16, 16)
    return blocks.transpose((0, 2, 3, 1) if transposed else (0, 2, 1, 3)).ravel()


@pytest.mark.parametrize("s", SHAPES, ids=lambda s: "x".join(map(str, astuple(s))))
@pytest.mark.parametrize("relu", [False, True])
def test_windows_as_rows(npu, kernel_library, s, relu):
    random = np.random.default_rng(0)
    x = random.integers(-3, 4, (s.channels, s.height, s.width)).astype(np.float16)
    rows = matrix_of_windows(x, s)
    w = random.integers(-3, 4, (rows.shape[1], 16)).astype(np.float16)
    m = -(-s.windows // 16) * 16
    y = npu.upload(np.zeros(m * 16, np.float32))
    image = x.reshape(s.channels // 16, 16, s.height, s.width).transpose(0, 2, 3, 1)
    launch = kernel_library("image.cpp").aclrtlaunch_windows_left
    weights = npu.upload(fractal_rows(w, transposed=True))
    npu.launch(launch, 1, npu.upload(image), weights, y, ctypes.c_char_p(s.packed()), ctypes.c_bool(relu))
    got = npu.download(y, np.zeros((m, 16), np.float32))[: s.windows]
    product = rows.astype(np.float32) @ w.astype(np.float32)
    np.testing.assert_array_equal(got, np.maximum(product, 0) if relu else product)


@pytest.mark.parametrize("s", SHAPES[:2], ids=lambda s: "x".join(map(str, astuple(s))))
def test_windows_as_the_inner_dimension(npu, kernel_library, s):
    random = np.random.default_rng(1)
    x = random.integers(-3, 4, (s.channels, s.height, s.width)).astype(np.float16)
    rows = matrix_of_windows(x, s)
    w = random.integers(-3, 4, (16, s.windows)).astype(np.float16)
    n = rows.shape[1]
    y = npu.upload(np.zeros(16 * n, np.float32))
    image = x.reshape(s.channels // 16, 16, s.height, s.width).transpose(0, 2, 3, 1)
    launch = kernel_library("image.cpp").aclrtlaunch_windows_right
    weights = npu.upload(fractal_rows(w, transposed=False))
    npu.launch(launch, 1, npu.upload(image), weights, y, ctypes.c_char_p(s.packed()), ctypes.c_bool(False))
    got = npu.download(y, np.zeros((n // 16, 16, 16), np.float32)).transpose(1, 0, 2).reshape(16, n)
    np.testing.assert_array_equal(got, w.astype(np.float32) @ rows.astype(np.float32))
