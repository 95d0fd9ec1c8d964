"""Advanced mathematics and functions over rows, beside NumPy and the standard library."""

from __future__ import annotations

import math

import numpy as np
import pytest


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


# By number in kernels/math.cpp; each over float64.
FUNCTIONS = [
    _sigmoid,
    np.tanh,
    np.sin,
    np.cos,
    np.vectorize(math.erf),
    lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    lambda x: x * _sigmoid(x),
    lambda x: x * _sigmoid(2 * x),
    lambda x: x**x,
    lambda x: x**3,
    np.floor,
    np.ceil,
    np.trunc,
    np.round,
    np.sign,
    np.log2,
    lambda x: np.fmod(x, x),
    lambda x: np.minimum(x, 1),
    lambda x: x * x * _sigmoid(x),
    np.arctan,
    lambda x: x - np.trunc(x),
    np.arccosh,
]
DOMAINS = {8: (0.1, 4), 15: (0.1, 9), 16: (0.1, 9), 21: (1, 9)}  # others take -5 to 5


@pytest.fixture
def library(kernel_library):
    return kernel_library("math.cpp")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("function", range(len(FUNCTIONS)))
@pytest.mark.parametrize(("n", "blocks"), [(1, 1), (1000, 1), (4099, 7)])
def test_function(npu, library, dtype, function, n, blocks):
    low, high = DOMAINS.get(function, (-5, 5))
    x = np.random.default_rng(n).uniform(low, high, n).astype(dtype)
    y = npu.upload(np.zeros_like(x))
    kernel = library.aclrtlaunch_math_float if dtype == np.float32 else library.aclrtlaunch_math_half
    npu.launch(kernel, blocks, npu.upload(x), y, function, n)
    expected = FUNCTIONS[function](x.astype(np.float64)).astype(dtype)
    close = {"rtol": 2e-6, "atol": 2e-6} if dtype == np.float32 else {"rtol": 1e-3, "atol": 1e-6}
    np.testing.assert_allclose(npu.download(y, x), expected, **close)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize(("m", "k", "used"), [(1, 8, 8), (17, 64, 64), (5, 104, 99)])
def test_softmax(npu, library, kind, m, k, used):
    x = np.random.default_rng(k).uniform(-20, 20, (m, k)).astype(np.float32)
    y, sums, maxima = (npu.upload(np.zeros(shape, np.float32)) for shape in ((m, k), (m, 8), (m, 8)))
    npu.launch(library.aclrtlaunch_softmax, 1, npu.upload(x), y, sums, maxima, kind, m, k, used)
    exps = np.exp(x[:, :used].astype(np.float64) - x[:, :used].max(1, keepdims=True))
    expected = np.zeros((m, k))
    expected[:, :used] = exps / exps.sum(1, keepdims=True)
    np.testing.assert_allclose(npu.download(y, x), expected, rtol=1e-5, atol=1e-7)
    per_row = np.empty((m, 8), np.float32)
    np.testing.assert_allclose(npu.download(sums, per_row), exps.sum(1, keepdims=True).repeat(8, 1), rtol=1e-5)
    np.testing.assert_array_equal(npu.download(maxima, per_row), x[:, :used].max(1, keepdims=True).repeat(8, 1))


@pytest.mark.parametrize(("m", "k"), [(1, 8), (9, 64)])
def test_softmax_in_parts(npu, library, m, k):
    parts = np.random.default_rng(k).uniform(-20, 20, (2, m, k)).astype(np.float32)
    y = npu.upload(np.zeros_like(parts))
    npu.launch(library.aclrtlaunch_softmax_in_parts, 1, npu.upload(parts), y, m, k)
    exps = np.exp(parts.astype(np.float64) - parts.max((0, 2))[None, :, None])
    np.testing.assert_allclose(npu.download(y, parts), exps / exps.sum((0, 2))[None, :, None], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize(("m", "k"), [(1, 8), (7, 72)])
def test_rows(npu, library, kind, m, k):
    rng = np.random.default_rng(k)
    x, gamma, beta = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), k, k))
    outputs = [np.zeros((m, k), np.float32), np.zeros(m, np.float32), np.zeros(m, np.float32)]
    memory = [npu.upload(output) for output in outputs]
    npu.launch(library.aclrtlaunch_rows, 1, *map(npu.upload, (x, gamma, beta)), *memory, kind, m, k)
    y, means, variances = (npu.download(pointer, output) for pointer, output in zip(memory, outputs, strict=True))
    wide = x.astype(np.float64)
    close = {"rtol": 1e-5, "atol": 1e-5}
    if kind == 0:
        normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(y, normal * gamma + beta, **close)
        np.testing.assert_allclose(means, wide.mean(1), **close)
        np.testing.assert_allclose(variances, wide.var(1), **close)
    elif kind == 1:
        np.testing.assert_allclose(y, wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * gamma, **close)
    elif kind == 3:
        np.testing.assert_allclose(y[0], wide.sum(0), **close)
    else:
        np.testing.assert_allclose(means, wide.mean(1) if kind == 4 else wide.sum(1), **close)
