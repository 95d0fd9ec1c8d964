"""Matmul<> beside NumPy: shares of blocks with tails, bias, transposed operands, base blocks."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

WORDS = 50  # of the tiling struct; the first are set here, in its order


def _tiling(m, n, k, single_m, single_n, base=(32, 32, 32), single_k=None, bias=0):
    single = (single_m, single_n, single_k or k)
    depths_and_steps = (1, 1, 1, 1)
    values = [1, m, n, k, k, *single, *base, *depths_and_steps, bias]
    words = np.zeros(WORDS, np.int32)
    words[: len(values)] = values
    return words


def _operands(m, n, k, dtype):
    rng = np.random.default_rng(m)
    if dtype == "int8":
        return rng.integers(-100, 100, (m, k)).astype(np.int8), rng.integers(-100, 100, (k, n)).astype(np.int8)
    numpy_dtype = np.float16 if dtype == "half" else np.float32
    return rng.standard_normal((m, k)).astype(numpy_dtype), rng.standard_normal((k, n)).astype(numpy_dtype)


@pytest.fixture
def library(kernel_library):
    return kernel_library("matmul.cpp")


@pytest.mark.parametrize("by_blocks", [False, True])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", ["half", "float", "int8"])
@pytest.mark.parametrize(("m", "n", "k", "single"), [(32, 32, 32, (32, 32)), (100, 70, 33, (64, 48))])
def test_product(npu, library, dtype, transposed, by_blocks, m, n, k, single):
    a, b = _operands(m, n, k, dtype)
    exact = np.int64 if dtype == "int8" else np.float64
    result = np.zeros((m, n), np.int32 if dtype == "int8" else np.float32)
    bias = np.arange(n).astype(result.dtype)
    blocks = -(-m // single[0]) * -(-n // single[1])  # two of them are on a cube core's vector cores
    memory = [np.ascontiguousarray(x.T) if swap else x for x, swap in zip((a, b), transposed, strict=True)]
    c = npu.upload(result)
    tiling = npu.upload(_tiling(m, n, k, *single, bias=1))
    flags = map(ctypes.c_bool, (*transposed, by_blocks))
    kernel = getattr(library, f"aclrtlaunch_matmul_{dtype}")
    npu.launch(kernel, -(-blocks // 2), *map(npu.upload, (*memory, bias)), c, None, tiling, *flags)
    expected = a.astype(exact) @ b.astype(exact) + bias
    np.testing.assert_allclose(npu.download(c, result), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("blocks", [1, 3])
def test_base_blocks_through_local_memory(npu, library, blocks):
    m, n, k = blocks * 2 * 64, 96, 48  # two vector cores a block, 64 rows each
    a, b = _operands(m, n, k, "half")
    result = np.zeros((m, n), np.float32)
    c, tiling = npu.upload(result), npu.upload(_tiling(m, n, k, 64, n))
    npu.launch(library.aclrtlaunch_matmul_leaky, blocks, npu.upload(a), npu.upload(b), c, None, tiling)
    product = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(npu.download(c, result), np.where(product > 0, product, product * 0.1), atol=1e-4)


@pytest.mark.parametrize("blocks", [1, 8])
def test_blocks_add_to_one_result(npu, library, blocks):
    m, n, k = 40, 24, blocks * 2 * 16
    a, b = _operands(m, n, k, "half")
    result = np.ones((m, n), np.float32)
    c, tiling = npu.upload(result), npu.upload(_tiling(m, n, k, m, n, single_k=16))
    npu.launch(library.aclrtlaunch_matmul_split_k, blocks, npu.upload(a), npu.upload(b), c, tiling)
    np.testing.assert_allclose(npu.download(c, result), a.astype(np.float64) @ b.astype(np.float64) + 1, atol=1e-4)


@pytest.mark.parametrize("scale", [0.0, 0.25])
def test_scaled_integers(npu, library, scale):
    m, n, k = 32, 48, 40
    a, b = _operands(m, n, k, "int8")
    scales = (np.random.default_rng(9).integers(1, 9, n) / 1024).astype(np.float32)
    result = np.zeros((m, n), np.float16)
    c, tiling = npu.upload(result), npu.upload(_tiling(m, n, k, m, n, base=(32, 32, 32)))
    arguments = npu.upload(a), npu.upload(b), npu.upload(scales.view(np.uint32).astype(np.uint64)), c, tiling
    npu.launch(library.aclrtlaunch_matmul_scaled, 1, *arguments, ctypes.c_uint64(np.float32(scale).view(np.uint32)))
    product = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(npu.download(c, result), (product * (scale or scales)).astype(np.float16))


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ((256, 32, 256), "Matmul: a base block of A takes 131072 bytes, L0A has 65536"),
        ((0, 32, 32), "the tiling's base block is 0 x 32 x 32: all must be positive"),
    ],
)
def test_a_base_block_that_does_not_fit(npu, library, base, message):
    memory = npu.upload(np.zeros((512, 512), np.float16))
    tiling = npu.upload(_tiling(256, 256, 256, 256, 256, base=base))
    npu.launch(library.aclrtlaunch_matmul_split_k, 1, memory, memory, memory, tiling)
    with pytest.raises(AsyncError, match=message):
        npu.synchronize()


def test_an_operand_that_is_too_small(npu, library):
    small, c = npu.upload(np.zeros(64, np.float16)), npu.upload(np.zeros((64, 64), np.float32))
    npu.launch(library.aclrtlaunch_matmul_split_k, 1, small, small, c, npu.upload(_tiling(64, 64, 64, 64, 64)))
    with pytest.raises(AsyncError, match=r"Matmul: A reaches .* bytes past the end of its memory"):
        npu.synchronize()


M, N, K, BASE_M, BASE_N = 64, 96, 48, 32, 48  # of matmul_config.cpp


@pytest.fixture
def configured(npu, kernel_library):
    """What a kernel of matmul_config.cpp makes of two matrices, and their product."""

    def run(kernel: str, tiling: np.ndarray | None, *, in_place: bool, dtype: type = np.float32):
        a, b = _operands(M, N, K, "half")
        result = np.zeros(M * N, dtype)
        c = npu.upload(result)
        arguments = npu.upload(a), npu.upload(b), c, None if tiling is None else npu.upload(tiling)
        function = getattr(kernel_library("matmul_config.cpp"), f"aclrtlaunch_{kernel}")
        npu.launch(function, 1, *arguments, ctypes.c_bool(in_place))
        return npu.download(c, result), a.astype(np.float64) @ b

    return run


def _ordered(product, *, by_columns):
    """The base blocks of a product behind one another."""
    pieces = product.reshape(M // BASE_M, BASE_M, N // BASE_N, BASE_N)
    return pieces.transpose(0, 2, 1, 3) if by_columns else pieces.transpose(2, 0, 1, 3)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    ("kernel", "own_order"),
    [
        *((name, None) for name in ("norm", "mdl", "ibshare", "listed", "basic", "special", "unknown")),
        ("by_rows", 0),
        ("by_columns", 1),
        ("constant", 1),
    ],
)
def test_a_config_says_in_which_order_blocks_come(configured, kernel, own_order, order):
    tiling = _tiling(M, N, K, M, N, base=(BASE_M, BASE_N, 16))
    tiling[17] = order
    result, product = configured(kernel, tiling, in_place=False)
    by_columns = (order if own_order is None else own_order) == 1
    np.testing.assert_allclose(result, _ordered(product, by_columns=by_columns).ravel(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("in_place", [False, True])
def test_constants_need_no_tiling_of_the_host(configured, in_place):
    result, product = configured("constant", None, in_place=in_place)
    expected = product if in_place else _ordered(product, by_columns=True)
    np.testing.assert_allclose(result, expected.ravel(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kernel", ["norm", "unknown"])
def test_without_any_tiling(configured, kernel):
    with pytest.raises(AsyncError, match="Matmul: Init, or a tiling in REGIST_MATMUL_OBJ, comes first"):
        configured(kernel, None, in_place=True)


@pytest.mark.parametrize(
    ("kernel", "dtype", "width"), [("fractals", np.float32, 16), ("split", np.float32, 8), ("halves", np.float16, 16)]
)
def test_results_in_fractals(configured, kernel, dtype, width):
    tiling = _tiling(M, N, K, M, N, base=(BASE_M, BASE_N, 16))
    result, product = configured(kernel, tiling, in_place=True, dtype=dtype)
    expected = product.reshape(M, N // width, width).swapaxes(0, 1).ravel()
    np.testing.assert_allclose(result, expected, rtol=1e-3 if dtype == np.float16 else 1e-5, atol=1e-3)
