"""The AscendC kernels of the built-in operators beside NumPy, across block counts and lengths with tails."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from mindtorch_v2.npu import build, paths

LENGTHS = [1, 31, 4096, 100_003]
BLOCKS = [1, 7, 40]
DTYPES = {"f32": np.float32, "f16": np.float16}


@pytest.fixture(scope="module")
def elementwise():
    return ctypes.CDLL(str(build.build_ascendc("elementwise", [paths.kernel_sources() / "elementwise.cpp"])))


@pytest.fixture(scope="module")
def reduction():
    return ctypes.CDLL(str(build.build_ascendc("sum", [paths.kernel_sources() / "sum.cpp"])))


def _run(npu, kernel, blocks, inputs, *scalars):
    n = inputs[0].size
    guarded = np.full(n + 32, 9, inputs[0].dtype)  # what lies past the end must stay
    out = npu.upload(guarded)
    npu.launch(kernel, blocks, *map(npu.upload, inputs), out, *scalars, ctypes.c_uint32(n))
    result = npu.download(out, guarded)
    np.testing.assert_array_equal(result[n:], 9)
    return result[:n]


def _inputs(n, dtype, count=2):
    rng = np.random.default_rng(n)
    return [rng.uniform(-4, 4, n).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_binary(npu, elementwise, suffix, n, blocks):
    x, y = _inputs(n, DTYPES[suffix])
    y[np.abs(y) < 0.1] = 0.1
    for name, reference in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)):
        kernel = getattr(elementwise, f"aclrtlaunch_{name}_{suffix}")
        np.testing.assert_array_equal(_run(npu, kernel, blocks, [x, y]), reference(x, y), err_msg=name)


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_unary_and_scalar(npu, elementwise, suffix, n, blocks):
    dtype = DTYPES[suffix]
    (x,) = _inputs(n, dtype, 1)
    value = dtype(1.3)
    scalar = ctypes.c_float(float(value))
    exact = [
        ("relu", (), np.maximum(x, 0)),
        ("neg", (), -x),
        ("adds", (scalar,), x + value),
        ("muls", (scalar,), x * value),
    ]
    for name, scalars, expected in exact:
        kernel = getattr(elementwise, f"aclrtlaunch_{name}_{suffix}")
        np.testing.assert_array_equal(_run(npu, kernel, blocks, [x], *scalars), expected, err_msg=name)
    got = _run(npu, getattr(elementwise, f"aclrtlaunch_exp_{suffix}"), blocks, [x])
    np.testing.assert_allclose(got, np.exp(x.astype(np.float64)), rtol=5e-7 if dtype == np.float32 else 1e-3)


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_add_alpha(npu, elementwise, suffix, n):
    dtype = DTYPES[suffix]
    x, y = _inputs(n, dtype)
    alpha = dtype(-0.7)
    kernel = getattr(elementwise, f"aclrtlaunch_add_alpha_{suffix}")
    got = _run(npu, kernel, 5, [x, y], ctypes.c_float(float(alpha)))
    np.testing.assert_array_equal(got, x + y * alpha)


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("threshold", [0.0, 1.5])
def test_threshold_backward(npu, elementwise, suffix, n, threshold):
    grad, x = _inputs(n, DTYPES[suffix])
    x[: n // 2] = threshold  # the threshold itself does not pass
    kernel = getattr(elementwise, f"aclrtlaunch_threshold_backward_{suffix}")
    got = _run(npu, kernel, 7, [grad, x], ctypes.c_float(threshold))
    np.testing.assert_array_equal(got, np.where(x > threshold, grad, 0))


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_fill(npu, elementwise, suffix, n):
    out = np.zeros(n + 16, DTYPES[suffix])
    pointer = npu.upload(out)
    kernel = getattr(elementwise, f"aclrtlaunch_fill_{suffix}")
    npu.launch(kernel, 3, pointer, ctypes.c_float(-2.5), ctypes.c_uint32(n))
    np.testing.assert_array_equal(npu.download(pointer, out), np.where(np.arange(n + 16) < n, -2.5, 0))


@pytest.mark.parametrize("suffix", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_sum(npu, reduction, suffix, n, blocks):
    (x,) = _inputs(n, DTYPES[suffix], 1)
    out = npu.upload(np.zeros(1, x.dtype))
    workspace = npu.upload(np.zeros(8 * blocks, np.float32))
    kernel = getattr(reduction, f"aclrtlaunch_sum_{suffix}")
    npu.launch(kernel, blocks, npu.upload(x), out, workspace, ctypes.c_uint32(n))
    expected = x.astype(np.float64).sum()
    assert npu.download(out, np.empty(1, x.dtype))[0] == pytest.approx(expected, rel=1e-3 if suffix == "f16" else 1e-5)
