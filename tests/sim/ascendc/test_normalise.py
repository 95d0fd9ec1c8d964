"""DeepNorm and Normalize, of rows whose last columns do not count."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

F16, F32 = np.dtype("f2"), np.dtype("f4")
ROWS, COLUMNS, USED = 4, 32, 30


@pytest.fixture
def library(kernel_library):
    return kernel_library("normalise.cpp")


def rows(*shape: int, dtype: np.dtype, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(F32, 1e-5), (F16, 2e-3)])
def test_rows_with_a_residual_beside_them(npu, library, dtype, tolerance, own):
    x, gx = (rows(ROWS, COLUMNS, dtype=dtype, seed=seed) for seed in (1, 2))
    gamma, beta = (rows(COLUMNS, dtype=dtype, seed=seed) for seed in (3, 4))
    y, moments = np.zeros_like(x), np.full((2, 16), 7, dtype)
    out = [npu.upload(y), npu.upload(moments)]
    kernel = library.aclrtlaunch_deepened_half if dtype == F16 else library.aclrtlaunch_deepened_float
    npu.launch(kernel, 1, *(npu.upload(each) for each in (x, gx, gamma, beta)), *out, own)
    wide = (0.5 * x.astype(float) + gx.astype(float))[:, :USED]
    mean, variance = wide.mean(1), wide.var(1)
    expected = (wide - mean[:, None]) / np.sqrt(variance[:, None] + 0.25) * gamma.astype(float)[:USED] + beta[:USED]
    y, moments = npu.download(out[0], y), npu.download(out[1], moments)
    np.testing.assert_allclose(y[:, :USED], expected, rtol=tolerance, atol=tolerance)
    assert not y[:, USED:].any()
    np.testing.assert_allclose(moments[:, :ROWS], [mean, variance], rtol=tolerance, atol=tolerance)
    assert (moments[:, ROWS:] == 7).all()


@pytest.mark.parametrize("kind", range(5))
def test_rows_by_known_moments(npu, library, kind):
    x = rows(ROWS, COLUMNS, dtype=F16, seed=1)
    gamma, beta = (rows(COLUMNS, dtype=F32, seed=seed) for seed in (3, 4))
    moments = np.abs(rows(2, 8, dtype=F32, seed=5))
    y, rstd = np.zeros_like(x), np.full(8, 7, F32)
    out = [npu.upload(y), npu.upload(rstd)]
    npu.launch(library.aclrtlaunch_normalised, 1, *(npu.upload(each) for each in (x, moments, gamma, beta)), *out, kind)
    factor = 1 / np.sqrt(moments[1, :ROWS].astype(float) + 0.25)
    expected = (x[:, :USED].astype(float) - moments[0, :ROWS, None]) * factor[:, None]
    expected = expected * (1 if kind in (2, 3) else gamma[:USED]) + (0 if kind in (1, 3) else beta[:USED])
    np.testing.assert_allclose(npu.download(out[0], y)[:, :USED], expected, rtol=1e-3, atol=1e-3)
    rstd = npu.download(out[1], rstd)
    np.testing.assert_allclose(rstd[:ROWS], factor, rtol=1e-6)
    assert (rstd[ROWS:] == 7).all()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        *enumerate(
            [
                "DeepNorm: inputGx needs 512 bytes, its buffer has 480",
                "DeepNorm: src needs 512",
                "Normalize: dst needs 512",
                "Normalize: gamma needs 120 bytes, its buffer has 64",
            ]
        )
    ],
)
def test_operands_that_are_too_short(npu, library, kind, said):
    npu.launch(library.aclrtlaunch_wrong, 1, npu.upload(np.ones(128, F32)), kind)
    with pytest.raises(AsyncError, match=said):
        npu.synchronize()


@pytest.mark.parametrize(("kind", "name"), [(4, "DeepNorm"), (5, "Normalize")])
def test_operands_that_are_not_there_yet(npu, library, checker, kind, name):
    if checker == "0":
        pytest.skip("the checker tells")
    npu.launch(library.aclrtlaunch_wrong, 1, npu.upload(np.ones(128, F32)), kind)
    with pytest.raises(AsyncError, match=rf"error\[race\]: {name} reads what DataCopy on another pipe"):
        npu.synchronize()
