"""Attention with a running softmax, on cube and vector cores, beside NumPy."""

from __future__ import annotations

import struct

import numpy as np
import pytest


@pytest.mark.parametrize("blocks", [1, 8])
@pytest.mark.parametrize(("tokens", "width"), [(64, 32), (256, 128)])
def test_attention(npu, kernel_library, blocks, tokens, width):
    q, k, v = np.random.default_rng(tokens).standard_normal((3, tokens, width)).astype(np.float16)
    out = np.zeros((tokens, width), np.float32)
    pointer = npu.upload(out)
    tiling = npu.upload(np.frombuffer(struct.pack("<IIf", tokens, width, width**-0.5), np.uint8))
    kernel = kernel_library("attention.cpp").aclrtlaunch_attention
    npu.launch(kernel, blocks, *map(npu.upload, (q, k, v)), pointer, None, tiling)
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * width**-0.5
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(npu.download(pointer, out), expected, atol=2e-3)
