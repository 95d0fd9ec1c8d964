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


def test_an_address_outside_of_the_unified_buffer(npu, library):
    npu.launch(library.aclrtlaunch_raw_outside, 1, npu.upload(np.zeros(1, np.float32)))
    with pytest.raises(AsyncError, match=r"vexp: dst is at .*, outside of the unified buffer"):
        npu.synchronize()
