"""Quantisation, masked rows, padding, gradients of softmax, lists of tensors, an allocator; what is not simulated."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

F16, F32, I8, I32, I64, U8, U64 = map(np.dtype, ("f2", "f4", "i1", "i4", "i8", "u1", "u8"))
ROWS, COLUMNS = 4, 32


@pytest.fixture
def run(npu, kernel_library):
    """Launches a kernel of advanced.cpp; arrays are uploaded, and those at the places `out` come back."""

    def launch(kernel: str, *arguments, out: tuple[int, ...]):
        given = [npu.upload(each) if isinstance(each, np.ndarray) else each for each in arguments]
        npu.launch(getattr(kernel_library("advanced.cpp"), f"aclrtlaunch_{kernel}"), 1, *given)
        npu.synchronize()
        results = [npu.download(given[place], arguments[place]) for place in out]
        return results[0] if len(results) == 1 else results

    return launch


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def to_int8(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), -128, 127).astype(I8)


@pytest.mark.parametrize("kind", range(5))
def test_quantisation(run, random, kind):
    x = random.uniform(-90, 90, (ROWS, COLUMNS)).astype(F32)
    scales, offsets = (random.integers(1, 9, COLUMNS).astype(F32) / 4 for _ in range(2))
    before = np.full((ROWS, COLUMNS), 99, I8)
    y = run("quantise", x, scales, offsets, before, kind, out=(3,))
    expected = to_int8(x * (scales if kind in (2, 3) else F32.type(2)) + (offsets if kind == 3 else F32.type(1.5)))
    if kind == 1:
        expected.ravel()[64:] = 99
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("one", [False, True])
def test_products_become_floats(run, random, one):
    x = random.integers(-1000, 1000, (5, 8)).astype(I32)
    scales = (random.integers(1, 9, 8) / 8).astype(F32)
    y = run("dequantise", x, scales, np.full((5, 16), 7, F16), 5, one, out=(2,))
    expected = np.full((5, 16), 7, F16)
    expected[:, :5] = (x * (F32.type(0.5) if one else scales))[:, :5]
    np.testing.assert_array_equal(y, expected)


def test_scales_as_bits(run, random):
    x = random.integers(-1000, 1000, (3, 8)).astype(I32)
    scales = (random.integers(1, 9, 8) / 8).astype(F32)
    y = run("dequantise_bits", x, scales.view(np.uint32).astype(U64), np.zeros((3, 8), F32), 3, out=(2,))
    np.testing.assert_array_equal(y, x * scales)


@pytest.mark.parametrize("kind", range(3))
def test_weights_become_halves(run, random, kind):
    x = random.integers(-128, 128, (COLUMNS, ROWS) if kind == 1 else (ROWS, COLUMNS)).astype(I8)
    offsets, scales = (random.integers(-8, 9, COLUMNS).astype(F16) / F16.type(4) for _ in range(2))
    y = run("antiquantise", x, offsets, scales, np.zeros(x.shape, F16), kind, out=(3,))
    if kind == 2:
        expected = (x.astype(F32) + 3) * 0.5
    elif kind == 1:
        expected = (x + offsets.astype(F32)[:, None]) * scales.astype(F32)[:, None]
    else:
        expected = (x + offsets.astype(F32)) * scales.astype(F32)
    np.testing.assert_array_equal(y, expected.astype(F16))


@pytest.mark.parametrize(("kind", "width"), [(0, 32), (0, 64), (1, 32), (2, 32), (2, 64), (2, 8), (3, 32)])
def test_masked_rows(run, random, kind, width):
    x = random.normal(size=(ROWS, COLUMNS)).astype(F32)
    mask = random.integers(0, 256 if width == 8 or kind == 3 else 2, (ROWS, width)).astype(U8)
    y = run("masked_rows", x, mask, np.zeros_like(x), width, kind, out=(2,))
    bits = kind == 3 or width == 8
    chosen = np.unpackbits(mask, axis=1, bitorder="little")[:, :COLUMNS] if bits else mask[:, :COLUMNS]
    expected = {0: np.where(chosen, F32.type(-7), x), 1: np.where(chosen, x, F32.type(-7))}
    np.testing.assert_array_equal(y, expected.get(kind, np.where(chosen, x * 2, F32.type(0))))


def test_columns_come_and_go(run, random):
    x = random.normal(size=(4, 8)).astype(F32)
    wide, narrow = run("pads", x, np.zeros((4, 16), F32), np.zeros((4, 8), F32), out=(1, 2))
    expected = np.pad(x[:, :7], ((0, 0), (2, 7)), constant_values=9)
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(narrow, expected[:, 1:9])


def test_gradients_of_softmax(run, random):
    grad, x = (random.normal(size=(ROWS, COLUMNS)).astype(F32) for _ in range(2))
    y, sums = run("gradients", grad, x, np.zeros_like(x), np.zeros((ROWS, 8), F32), out=(2, 3))
    front = (grad.astype(np.float64) * x).sum(1, keepdims=True)
    np.testing.assert_allclose(y, (grad - front) * x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sums, front.repeat(8, 1), rtol=1e-5, atol=1e-5)


def test_softmax_in_parts_with_sums_beside_each_other(run, random):
    x = random.normal(size=(2, ROWS, COLUMNS)).astype(F32) * 4
    y, state = run("packed_parts", x, np.zeros((ROWS, COLUMNS), F32), np.zeros(24, F32), out=(1, 2))
    wide = x.astype(np.float64)
    peak, first = wide.max((0, 2)), wide[0].max(1)
    np.testing.assert_allclose(y, np.exp(wide[1] - peak[:, None]), rtol=1e-5)
    np.testing.assert_allclose(state[:4], np.exp(wide - peak[None, :, None]).sum((0, 2)), rtol=1e-5)
    np.testing.assert_array_equal(state[8:12], x.max((0, 2)))
    np.testing.assert_allclose(state[16:20], np.exp(first - peak), rtol=1e-5)
    assert not state[4:8].any()
    assert not state[12:16].any()
    assert not state[20:].any()


@pytest.mark.parametrize("which", [None, 2])
def test_rows_without_a_maximum(run, random, which):
    x = random.normal(size=(ROWS, COLUMNS)).astype(F32)
    peaks = np.zeros((ROWS, 8), F32)
    expected = np.full_like(x, -1)
    if which is not None:
        peaks[which], expected = -1, x.copy()
        expected[which] = 5
    np.testing.assert_array_equal(run("adjusts", x, peaks, np.zeros_like(x), out=(2,)), expected)


@pytest.mark.parametrize("kind", range(12))
def test_reductions(run, random, kind):
    x = random.integers(-99, 99, 128).astype(F32)
    if kind > 9:
        x *= random.integers(0, 8, 128) < (1 if kind == 10 else 7)
    rows = x.reshape(16, 8)[:, :5]
    reduce = (np.mean, np.any, np.all)[kind - 9] if kind >= 9 else (np.sum, np.max, np.min)[kind % 3]
    shape, axis = [(rows, 1), (x.reshape(8, 16), 0), (x.reshape(2, 64), 1), (rows, 1)][kind // 3]
    expected = np.full(16, 7, F32)
    expected[: len(reduce(shape, axis=axis))] = reduce(shape, axis=axis)
    np.testing.assert_array_equal(run("reduces", x, np.full(16, 7, F32), kind, out=(1,)), expected)


@pytest.mark.parametrize("kind", range(7))
def test_numbers(run, random, kind):
    x, y = (random.integers(1, 64, 64).astype(F32) / 8 - 4 + F32.type(1 / 32) for _ in range(2))
    bits = x.view(np.int16)
    expected = (
        (3 + np.arange(64) / 2).astype(F32),
        np.clip(x, -1, 2),
        x / 4,
        F32.type(4) / x,
        (bits & 12).view(F32),
        (bits | 12).view(F32),
        np.concatenate([np.full(40, 2.5, F32), y[40:]]),
    )[kind]
    np.testing.assert_array_equal(run("numbers", x, y, kind, out=(1,)).view(np.int32), expected.view(np.int32))


def test_filled_memories_of_the_cube(run):
    y = run("filled", np.zeros((16, 16), F32), ctypes.c_float(2.5), out=(0,))
    np.testing.assert_array_equal(y, np.full((16, 16), 40, F32))


def tensor_list(npu, arrays) -> np.ndarray:
    """As an operator with a dynamic input gets it."""
    words = [0]
    for index, array in enumerate(arrays):
        words += [array.ndim | index << 32, *array.shape]
    words[0] = 8 * len(words)
    return np.array([*words, *(npu.upload(array).value for array in arrays)], U64)


def test_a_list_of_tensors(npu, run, random):
    arrays = [random.integers(-99, 99, shape).astype(I32) for shape in ((2, 3), (5,), (1, 2, 4))]
    y = run("list_of_tensors", tensor_list(npu, arrays), np.zeros(16, I64), 3, out=(1,))
    told = [value for i, a in enumerate(arrays) for value in (a.sum(), a.ndim * 100 + i, a.flat[-1])]
    assert y[:10].tolist() == [3, *told]


def test_a_tensor_that_the_list_has_not(npu, run):
    with pytest.raises(AsyncError, match="tensor 1 of a list of 1"):
        run("list_of_tensors", tensor_list(npu, [np.zeros(2, I32)]), np.zeros(16, I64), 2, out=(1,))


def test_no_list(run):
    with pytest.raises(AsyncError, match="no list of tensors is at this address"):
        run("list_of_tensors", np.ones(4, U64), np.zeros(16, I64), 1, out=(1,))


def test_allocated_tensors(run, random):
    x, y = (random.integers(-9, 9, 64).astype(F32) for _ in range(2))
    got = run("allocated", x, y, 60, out=(1,))
    np.testing.assert_array_equal(got[:56], np.maximum(y * x + x, 0)[:56])
    assert got[60:62].tolist() == [512, 2]


def test_an_allocator_that_is_full(run):
    with pytest.raises(AsyncError, match="elements from byte 256 on"):
        run("allocated", np.zeros(64, F32), np.zeros(64, F32), 1 << 16, out=(1,))


def test_digamma(run):
    x = np.concatenate([np.linspace(0.1, 12, 32), -np.linspace(0.1, 9.95, 32)]).astype(F32)
    y, kept = run("digamma_of", x, np.zeros(64, F32), np.zeros(4, I64), out=(1, 2))
    step = 1e-5
    slope = [(math.lgamma(v + step) - math.lgamma(v - step)) / (2 * step) for v in map(float, x)]
    np.testing.assert_allclose(y, slope, rtol=1e-5, atol=1e-5)
    assert kept[0] == 32


HCCL = [
    *("Init", "Init", "InitV2", "SetCcTiling", "SetCcTilingV2", "AllReduce", "AllGather", "ReduceScatter", "AlltoAll"),
    *("AlltoAllV", "BatchWrite", "Commit", "Wait", "Query", "GetRankId", "GetRankDim", "GetWindowsInAddr"),
    *("GetWindowsOutAddr", "InterHcclGroupSync", "Iterate", "Finalize", "QueueBarrier", "SetReduceDataTypeAbility"),
    "AlltoAllvWrite",
]


@pytest.mark.parametrize(
    ("kernel", "arguments", "said"),
    [
        ("communicates", (), "GetHcclContext: communication between devices inside a kernel is not simulated"),
        *(
            (
                "communicates_alone",
                (kind,),
                f"Hccl::{name}: communication between devices inside a kernel is not simulated",
            )
            for kind, name in enumerate(HCCL)
        ),
        ("multiplies_sparse", (False,), "MmadWithSparse: sparse matrices are not simulated"),
        ("multiplies_sparse", (True,), "LoadDataWithSparse: sparse matrices are not simulated"),
    ],
)
def test_what_is_not_simulated(run, kernel, arguments, said):
    with pytest.raises(AsyncError, match=said):
        run(kernel, np.zeros(4, I32), *arguments, out=(0,))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        *enumerate(
            [
                "AscendQuant: dst needs 128 bytes, its buffer has 96",
                "AscendDequant: dst needs 128",
                "AscendAntiQuant: dst needs 1024",
                "SelectWithBytesMask: mask needs 128",
                "DropOut: dst needs 512",
                "Pad: dst needs 256",
                "UnPad: src needs 256",
                "SoftmaxGrad: grad needs 512",
                "SoftmaxGradFront: dst needs 128",
                "AdjustSoftMaxRes: dst needs 512",
            ]
        )
    ],
)
def test_operands_that_are_too_short(run, kind, said):
    with pytest.raises(AsyncError, match=said):
        run("past_the_end", np.zeros(4, I32), kind, out=(0,))


READERS = [
    "AscendQuant",
    "AscendDequant",
    "SelectWithBytesMask",
    "DropOut",
    "Pad",
    "SoftmaxGrad",
    "ReduceMax",
    "Digamma",
]


@pytest.mark.parametrize("kind", range(len(READERS)))
def test_operands_that_are_not_there_yet(run, checker, kind):
    if checker == "0":
        pytest.skip("the checker tells")
    with pytest.raises(AsyncError, match=rf"error\[race\]: {READERS[kind]} reads what DataCopy on another pipe"):
        run("in_no_order", np.ones(128, F32), kind, out=(0,))
