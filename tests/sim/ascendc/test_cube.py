"""Products on the cube core beside NumPy, and its memories' limits."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@pytest.fixture
def library(kernel_library):
    return kernel_library("cube.cpp")


def _bf16(x):
    """Truncated to bfloat16, as its bits and as float32."""
    bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    return bits, (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("dtype", ["half", "bf16"])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (32, 48, 80), (128, 64, 32)])
def test_product(npu, library, dtype, relu, m, n, k):
    rng = np.random.default_rng(m)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    if dtype == "half":
        memory = [x.astype(np.float16) for x in (a, b)]
        a, b = (x.astype(np.float32) for x in memory)
    else:
        (a_bits, a), (b_bits, b) = _bf16(a), _bf16(b)
        memory = [a_bits, b_bits]
    c = np.zeros((m, n), np.float32)
    pointer = npu.upload(c)
    sizes = map(ctypes.c_uint16, (m, n, k))
    kernel = getattr(library, f"aclrtlaunch_product_{dtype}")
    npu.launch(kernel, 1, *map(npu.upload, memory), pointer, *sizes, ctypes.c_bool(relu))
    expected = a.astype(np.float64) @ b
    expected = np.maximum(expected, 0) if relu else expected
    np.testing.assert_allclose(npu.download(pointer, c), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("width", [16, 8])
def test_fractals_of_floats_are_split_where_it_is_asked(npu, library, width):
    m, n, k = 32, 48, 16
    a, b = (np.random.default_rng(3).standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((n // width, m, width), np.float32)
    pointer = npu.upload(c)
    sizes = map(ctypes.c_uint16, (m, n, k))
    kernel = library.aclrtlaunch_product_fractals
    npu.launch(kernel, 1, npu.upload(a), npu.upload(b), pointer, *sizes, ctypes.c_uint32(width))
    product = a.astype(np.float64) @ b
    expected = product.reshape(m, n // width, width).swapaxes(0, 1)
    np.testing.assert_allclose(npu.download(pointer, c), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("blocks", [1, 4])
def test_accumulation_over_parts(npu, library, parts, blocks):
    rng = np.random.default_rng(parts)
    a = rng.standard_normal((blocks * 16, parts * 16)).astype(np.float16)
    b = rng.standard_normal((parts * 16, 16)).astype(np.float16)
    c = np.zeros((blocks * 16, 16), np.float16)
    pointer = npu.upload(c)
    kernel = library.aclrtlaunch_product_in_parts
    npu.launch(kernel, blocks, npu.upload(a), npu.upload(b), pointer, ctypes.c_uint16(parts))
    np.testing.assert_allclose(npu.download(pointer, c), a.astype(np.float64) @ b, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("dtype", "result"), [(np.int8, np.int32), (np.float32, np.float32)])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 32), (48, 32, 96)])
def test_transposed_operand(npu, library, dtype, result, m, n, k):
    rng = np.random.default_rng(m)
    a, b = rng.integers(-99, 99, (m, k)).astype(dtype), rng.integers(-99, 99, (n, k)).astype(dtype)
    c = np.zeros((n // 16, m, 16), result)
    pointer = npu.upload(c)
    kernel = library.aclrtlaunch_transposed_int8 if dtype == np.int8 else library.aclrtlaunch_transposed_float
    npu.launch(kernel, 1, npu.upload(a), npu.upload(b), pointer, *map(ctypes.c_uint16, (m, n, k)))
    expected = a.astype(np.int64) @ b.T.astype(np.int64)
    np.testing.assert_array_equal(npu.download(pointer, c).transpose(1, 0, 2).reshape(m, n), expected)


def test_bias_table(npu, library):
    rng = np.random.default_rng(0)
    b, bias = rng.integers(-9, 9, (16, 32)).astype(np.float16), rng.integers(-9, 9, 32).astype(np.float32)
    c = np.zeros((16, 32), np.float32)
    pointer = npu.upload(c)
    npu.launch(library.aclrtlaunch_constant_times_b, 1, npu.upload(b), npu.upload(bias), pointer, ctypes.c_float(0.5))
    expected = np.full((16, 16), 0.5) @ b.astype(np.float64) + bias
    np.testing.assert_array_equal(npu.download(pointer, c), expected)


@pytest.mark.parametrize("n", [16, 64])
@pytest.mark.parametrize("blocks", [1, 3, 24])
def test_vector_cores_wait_for_their_cube(npu, library, n, blocks):
    rng = np.random.default_rng(n)
    a = rng.integers(-4, 5, (blocks, n, n)).astype(np.float16)
    b = rng.integers(-4, 5, (n, n)).astype(np.float16)
    c, order = np.zeros((blocks, n, n), np.float32), np.zeros((blocks * 3, 8), np.int32)
    c_memory, order_memory = npu.upload(c), npu.upload(order)
    arguments = (npu.upload(a), npu.upload(b), c_memory, order_memory, ctypes.c_uint16(n))
    npu.launch(library.aclrtlaunch_product_then_add, blocks, *arguments)
    np.testing.assert_array_equal(npu.download(c_memory, c), a.astype(np.float64) @ b + 1)
    np.testing.assert_array_equal(npu.download(order_memory, order)[:blocks, 0], 1 + 10 + 20)


@pytest.mark.parametrize(
    ("kernel", "code", "message"),
    [
        ("waits_for_nobody", 507034, "CrossCoreWaitFlag: flag 5 was never set: every core of the block waits or has"),
        ("too_large_for_l0", 507035, "InitBuffer: 1 x 65568 bytes do not fit the L0A: 0 of 65536 bytes are taken"),
        ("wrong_memory", 507035, "Mmad: fm must lie in L0A, it lies in L1"),
    ],
)
def test_fault(npu, library, kernel, code, message):
    npu.launch(getattr(library, f"aclrtlaunch_{kernel}"), 1, npu.upload(np.zeros(32, np.float32)))
    with pytest.raises(AsyncError) as error:
        npu.synchronize()
    assert error.value.code == code
    assert message in error.value.message
