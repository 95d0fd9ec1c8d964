"""CumSum and TopK, against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


def sums(npu, library, kernel: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y, last = npu.upload(np.zeros_like(x)), npu.upload(np.zeros_like(x[0]))
    rows, columns = (ctypes.c_uint32(n) for n in x.shape)
    npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(x), y, last, rows, columns)
    return npu.download(y, x), npu.download(last, x[0])


def test_sums_along_rows(npu, kernel_library):
    x = np.random.default_rng(0).integers(-50, 50, (5, 24)).astype(np.float32)
    y, last = sums(npu, kernel_library("scan.cpp"), "sums_across", x)
    np.testing.assert_array_equal(y, np.cumsum(x, 1))
    assert (last == -1).all()  # outputLastRow is off


def test_sums_down_columns(npu, kernel_library):
    x = np.random.default_rng(1).integers(-20, 20, (7, 32)).astype(np.float16)
    y, last = sums(npu, kernel_library("scan.cpp"), "sums_down", x)
    np.testing.assert_array_equal(y, np.cumsum(x.astype(np.float32), 0))
    np.testing.assert_array_equal(last, y[-1])


def best(npu, library, kernel: str, x: np.ndarray, n: int, k: int, *, largest: bool):
    """The values and indices that a kernel of scan.cpp gives for each row of x."""
    small = kernel == "best_small"
    steps = [k, k] if small else [-(-k // per) * per for per in (32 // x.itemsize, 8)]
    padded = [-(-x.shape[0] * step // 32) * 32 for step in steps]
    outputs = [np.zeros(padded[0], x.dtype), np.zeros(padded[1], np.int32)]
    pointers = [npu.upload(array) for array in outputs]
    numbers = [ctypes.c_int32(value) for value in (*x.shape, n, k)]
    npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(x), *pointers, *numbers, ctypes.c_bool(largest))
    got = [npu.download(pointer, array) for pointer, array in zip(pointers, outputs, strict=True)]
    return [a[: x.shape[0] * step].reshape(x.shape[0], step)[:, :k] for a, step in zip(got, steps, strict=True)]


def expected(x: np.ndarray, n: int, k: int, *, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    keys = -x[:, :n].astype(np.float32) if largest else x[:, :n].astype(np.float32)
    order = np.argsort(keys, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(x, order, 1), order


@pytest.mark.parametrize("kernel", ["best", "best_small"])
@pytest.mark.parametrize("largest", [True, False])
def test_the_best_of_each_row(npu, kernel_library, kernel, largest):
    x = np.random.default_rng(2).integers(0, 30, (4, 32 if kernel == "best_small" else 64)).astype(np.float32)
    values, indices = best(npu, kernel_library("scan.cpp"), kernel, x, 30, 10, largest=largest)
    right, where = expected(x, 30, 10, largest=largest)
    np.testing.assert_array_equal(values, right)
    np.testing.assert_array_equal(indices, where)


def test_rows_that_are_finished_and_indices_that_are_given(npu, kernel_library):
    x = np.random.default_rng(3).permutation(96).reshape(3, 32).astype(np.float16)
    values, indices = best(npu, kernel_library("scan.cpp"), "best_named", x, 32, 5, largest=True)
    right, where = expected(x, 32, 5, largest=True)
    np.testing.assert_array_equal(values, right)
    np.testing.assert_array_equal(indices[[0, 2]], where[[0, 2]] + 100)
    assert (indices[1] == 32).all()


def test_k_must_fit_the_row(npu, kernel_library):
    with pytest.raises(AsyncError, match="k = 31 of n = 30 of inner = 32: 1 <= k <= n <= inner"):
        best(npu, kernel_library("scan.cpp"), "best", np.zeros((1, 32), np.float32), 30, 31, largest=True)
