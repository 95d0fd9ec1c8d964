"""Raw intrinsics beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@pytest.fixture
def library(kernel_library):
    return kernel_library("raw.cpp")


@pytest.mark.parametrize("repeats", [1, 50])
@pytest.mark.parametrize("blocks", [1, 6])
def test_arithmetic(npu, library, repeats, blocks):
    x, y = np.random.default_rng(repeats).uniform(-3, 3, (2, blocks * repeats * 64)).astype(np.float32)
    z = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_raw_float, blocks, npu.upload(x), npu.upload(y), z, repeats)
    np.testing.assert_allclose(npu.download(z, x), np.maximum(np.exp(x) * 2 + y, y / 4), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("n", [1, 63, 65, 1001])
def test_cast(npu, library, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    y = npu.upload(np.zeros(n + 8, np.float16))
    npu.launch(library.aclrtlaunch_raw_cast, 1, npu.upload(x), y, n)
    expected = np.concatenate([x.astype(np.float16), np.zeros(8, np.float16)])
    np.testing.assert_array_equal(npu.download(y, expected), expected)


def test_reductions(npu, library):
    x = np.random.default_rng(7).permutation(128).astype(np.float32)
    y = npu.upload(np.zeros(576, np.float32))
    npu.launch(library.aclrtlaunch_raw_reductions, 1, npu.upload(x), y)
    rows = npu.download(y, np.zeros(576, np.float32)).reshape(9, 64)
    repeats, blocks = x.reshape(2, 64), x.reshape(16, 8)
    np.testing.assert_array_equal(rows[0, :2], repeats.sum(1))
    np.testing.assert_array_equal(rows[1, 0:4:2], repeats.max(1))
    np.testing.assert_array_equal(rows[1].view(np.uint32)[1:4:2], repeats.argmax(1))
    np.testing.assert_array_equal(rows[2, :2], repeats.min(1))
    for row, expected in ((3, blocks.sum(1)), (4, blocks.max(1)), (5, blocks.min(1))):
        np.testing.assert_array_equal(rows[row, :16], expected)
        assert (rows[row, 16:] == 1).all()
    np.testing.assert_array_equal(rows[6:8].ravel(), 2 * x + 1)
    np.testing.assert_array_equal(rows[8], np.repeat(x[:8], 8))


def test_bursts_of_bytes(npu, library):
    x = np.arange(1, 65, dtype=np.uint8)
    z = npu.upload(np.zeros(64, np.uint8))
    npu.launch(library.aclrtlaunch_raw_bytes, 1, npu.upload(x), z)
    expected = np.zeros(64, np.uint8)
    expected[:21] = np.concatenate([x[at : at + 7] for at in (0, 11, 22)])
    expected[32:50] = np.concatenate([x[at : at + 6] for at in (0, 10, 20)])
    np.testing.assert_array_equal(npu.download(z, expected), expected)


def test_an_address_outside_of_the_unified_buffer(npu, library):
    npu.launch(library.aclrtlaunch_raw_outside, 1, npu.upload(np.zeros(1, np.float32)))
    with pytest.raises(AsyncError, match=r"vexp: dst is at .*, outside of the unified buffer"):
        npu.synchronize()
