"""Instructions that no other test has, each on 64 elements, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

F32, F16, I32, I16, I8, U16 = (np.dtype(name) for name in ("float32", "float16", "int32", "int16", "int8", "uint16"))
_erfc, _lgamma = np.vectorize(math.erfc), np.vectorize(math.lgamma)


def _gelu(a):
    return a / (1 + np.exp(-1.5957691216057308 * (a + 0.044715 * a**3)))


def _first(count, values, rest):
    """The first elements are ``values``, the others what they were."""
    return np.concatenate([np.broadcast_to(values, count), rest[count:]])


# kernel: dtypes of the sources and of the result, and the result of x, z and what y was
EXACT = {
    "Neg_of_float": (F32, F32, lambda x, z, y: -x),
    "Neg_of_int32_t": (I32, I32, lambda x, z, y: -x),
    "Not_of_int16_t": (I16, I16, lambda x, z, y: ~x),
    "Max_of_float": (F32, F32, lambda x, z, y: np.maximum(x, z)),
    "Max_of_int32_t": (I32, I32, lambda x, z, y: np.maximum(x, z)),
    "Min_of_half": (F16, F16, lambda x, z, y: np.minimum(x, z)),
    "And_of_int16_t": (I16, I16, lambda x, z, y: x & z),
    "Or_of_uint16_t": (U16, U16, lambda x, z, y: x | z),
    "AddRelu_of_float": (F32, F32, lambda x, z, y: np.maximum(x + z, 0)),
    "SubRelu_of_half": (F16, F16, lambda x, z, y: np.maximum(x - z, 0)),
    "Maxs_of_float": (F32, F32, lambda x, z, y: np.maximum(x, 2)),
    "Mins_of_int32_t": (I32, I32, lambda x, z, y: np.minimum(x, 2)),
    "ShiftLeft_of_int32_t": (I32, I32, lambda x, z, y: x << 2),
    "ShiftRight_of_int32_t": (I32, I32, lambda x, z, y: x >> 2),
    "ClampMin_of_float": (F32, F32, lambda x, z, y: np.maximum(x, 2)),
    "Axpy_of_half": (F16, F32, lambda x, z, y: y + 2 * x.astype(F32)),
    "ArithProgression_of_float": (F32, F32, lambda x, z, y: 3 + np.arange(64) / 2),
    "Copy_of_float": (F32, F32, lambda x, z, y: _first(32, x[:32], y)),
    "BlockReduceMin_of_float": (F32, F32, lambda x, z, y: _first(8, x.reshape(8, 8).min(1), y)),
    "WholeReduceMin_of_float": (F32, F32, lambda x, z, y: _first(1, x.min(), y)),
    "Broadcast_of_float": (F32, F32, lambda x, z, y: np.tile(x[:32], 2)),
    "BroadCast_of_float": (F32, F32, lambda x, z, y: np.repeat(x[:2], 32)),
    "ReGlu_of_float": (F32, F32, lambda x, z, y: x * np.maximum(z, 0)),
    "Xor_of_int16_t": (I16, I16, lambda x, z, y: x ^ z),
    "AddReluCast_of_half": (F16, I8, lambda x, z, y: np.rint(np.maximum(x + z, 0))),
    "AddReluCast_of_float": (F32, F16, lambda x, z, y: np.maximum(x + z, 0)),
    "SubReluCast_of_int16_t": (I16, I8, lambda x, z, y: np.clip(x - z, 0, 127)),
    "MulCast_of_half": (F16, I8, lambda x, z, y: np.rint(x.astype(F32) * z.astype(F32))),
    "AddDeqRelu_of_int32_t": (I32, F16, lambda x, z, y: np.maximum(x + z, 0) / 8),
    "DisableDmaAtomic_of_float": (F32, F32, lambda x, z, y: x),
    "SetAtomicType_of_float": (F32, F32, lambda x, z, y: x + y),
    "vabs_of_float": (F32, F32, lambda x, z, y: np.abs(x)),
    "vsqrt_of_float": (F32, F32, lambda x, z, y: np.sqrt(x)),
    "vrec_of_float": (F32, F32, lambda x, z, y: 1 / x),
    "vrelu_of_float": (F32, F32, lambda x, z, y: np.maximum(x, 0)),
    "vsub_of_float": (F32, F32, lambda x, z, y: x - z),
    "vmul_of_float": (F32, F32, lambda x, z, y: x * z),
    "vmin_of_float": (F32, F32, lambda x, z, y: np.minimum(x, z)),
    "vadds_of_float": (F32, F32, lambda x, z, y: x + 2),
    "vmaxs_of_float": (F32, F32, lambda x, z, y: np.maximum(x, 2)),
    "vmins_of_float": (F32, F32, lambda x, z, y: np.minimum(x, 2)),
    "vconv_f162f32_of_half": (F16, F32, lambda x, z, y: x),
    "vconv_f322f16_of_float": (F32, F16, lambda x, z, y: x.astype(F16)),
    "vconv_f322s32r_of_float": (F32, I32, lambda x, z, y: np.rint(x)),
    "vconv_f322s32f_of_float": (F32, I32, lambda x, z, y: np.floor(x)),
    "vconv_f322s32c_of_float": (F32, I32, lambda x, z, y: np.ceil(x)),
    "vconv_f322s32z_of_float": (F32, I32, lambda x, z, y: np.trunc(x)),
    "vconv_s322f32_of_int32_t": (I32, F32, lambda x, z, y: x),
    "vand_of_int16_t": (I16, I16, lambda x, z, y: x & z),
    "vor_of_int16_t": (I16, I16, lambda x, z, y: x | z),
    "vnot_of_int16_t": (I16, I16, lambda x, z, y: ~x),
    "set_mask_count_of_float": (F32, F32, lambda x, z, y: _first(40, np.abs(x[:40]), y)),
    "copy_ubuf_to_ubuf_of_float": (
        F32,
        F32,
        lambda x, z, y: np.concatenate([x[:16], y[16:24], x[24:40], y[40:]]),
    ),
    "SetAtomicMax_of_float": (F32, F32, lambda x, z, y: np.maximum(x, y)),
    "SetAtomicMin_of_float": (F32, F32, lambda x, z, y: np.minimum(x, y)),
    "set_atomic_add_of_float": (F32, F32, lambda x, z, y: x + y),
    "set_atomic_max_of_float": (F32, F32, lambda x, z, y: np.maximum(x, y)),
    "set_atomic_min_of_float": (F32, F32, lambda x, z, y: np.minimum(x, y)),
    "fills": (F32, F32, lambda x, z, y: _first(48, 2.5, y)),
    "bound": (F32, F32, lambda x, z, y: x),
}
CLOSE = {
    "MulAddDst_of_float": lambda x, z, y: x * z + y,
    "BlockReduceSum_of_float": lambda x, z, y: _first(8, x.reshape(8, 8).sum(1), y),
    "RepeatReduceSum_of_float": lambda x, z, y: _first(1, x.sum(), y),
    "Acos_of_float": lambda x, z, y: np.arccos(x),
    "Asin_of_float": lambda x, z, y: np.arcsin(x),
    "Asinh_of_float": lambda x, z, y: np.arcsinh(x),
    "Atanh_of_float": lambda x, z, y: np.arctanh(x),
    "Cosh_of_float": lambda x, z, y: np.cosh(x),
    "Sinh_of_float": lambda x, z, y: np.sinh(x),
    "Tan_of_float": lambda x, z, y: np.tan(x),
    "Erfc_of_float": lambda x, z, y: _erfc(x),
    "Lgamma_of_float": lambda x, z, y: _lgamma(x),
    "Log_of_float": lambda x, z, y: np.log(x),
    "Log10_of_float": lambda x, z, y: np.log10(x),
    "FasterGelu_of_float": lambda x, z, y: x / (1 + np.exp(-1.702 * x)),
    "GeGLU_of_float": lambda x, z, y: x * _gelu(z),
    "Hypot_of_float": lambda x, z, y: np.hypot(x, z),
    "vln_of_float": lambda x, z, y: np.log(x),
    "vrsqrt_of_float": lambda x, z, y: 1 / np.sqrt(x),
}


def _values(dtype: np.dtype, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype.kind == "f":
        return (random.integers(-64, 65, 64) / 16).astype(dtype)
    return random.integers(-100 if dtype.kind == "i" else 0, 100, 64).astype(dtype)


@pytest.fixture
def run(npu, kernel_library):
    """Launches a kernel of every.cpp on x, z and y."""

    def launch(kernel: str, x: np.ndarray, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        pointers = [npu.upload(array) for array in (x, z, y)]
        npu.launch(getattr(kernel_library("every.cpp"), f"aclrtlaunch_{kernel}"), 1, *pointers)
        return npu.download(pointers[2], y)

    return launch


@pytest.mark.parametrize("kernel", EXACT)
def test_exact(run, kernel):
    source, target, function = EXACT[kernel]
    x, z, y = _values(source, 0), _values(source, 1), _values(target, 2)
    if kernel in ("vsqrt_of_float", "vrec_of_float"):
        x = np.abs(x) + np.float32(0.25)
    np.testing.assert_array_equal(run(kernel, x, z, y), np.asarray(function(x, z, y)).astype(target))


@pytest.mark.parametrize("kernel", CLOSE)
def test_close(run, kernel):
    random = np.random.default_rng(3)
    x, z, y = (random.uniform(0.1, 0.9, 64).astype(F32) for _ in range(3))
    np.testing.assert_allclose(run(kernel, x, z, y), CLOSE[kernel](x, z, y), rtol=2e-6, atol=1e-7)


def _bfloat16(values: np.ndarray) -> np.ndarray:
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def test_brain_floats(run):
    x = np.random.default_rng(4).normal(size=64).astype(F32)
    short = _bfloat16(x)
    zeros = np.zeros(64, U16)
    np.testing.assert_array_equal(run("vconv_f322bf16r_of_float", x, x, zeros), short)
    wide = run("vconv_bf162f32_of_bfloat16_t", short, short, np.zeros(64, F32))
    np.testing.assert_array_equal(wide.view(np.uint32), short.astype(np.uint32) << 16)


def test_additions_of_other_kinds(run):
    x, z, y = _values(F16, 5), _values(I32, 6)[:32], np.arange(64, dtype=I32)
    y[:32] = _values(F16, 7).view(I32)
    got = run("kinds_of_additions", x, z, y)
    np.testing.assert_array_equal(got[:32].view(F16), x + y[:32].view(F16))
    np.testing.assert_array_equal(got[32:56], (z + y[32:])[:24])
    np.testing.assert_array_equal(got[56:], z[:8])


def test_questions_of_a_kernel(run):
    got = run("questions", np.zeros(16, I32), np.zeros(16, I32), np.full(16, -1, I32))
    assert got.tolist() == [1, 1, 0, 1, 1, 6, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1]


def test_elements_by_their_addresses(run):
    x, y = np.arange(16, dtype=I32), np.zeros(16, I32)
    got = run("past_the_cache", x, x, y)
    assert got.tolist() == [0] * 5 + [4] + [0] * 10


def test_an_address_past_the_memory(run):
    with pytest.raises(AsyncError, match="outside of the device memory"):
        run("past_the_end", *[np.zeros(16, I32)] * 3)


def test_a_kernel_may_give_up(run):
    with pytest.raises(AsyncError, match="Trap"):
        run("traps", *[np.zeros(16, I32)] * 3)
