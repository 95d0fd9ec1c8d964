"""Region proposals, ConfusionTranspose, queues in L1, layouts and barriers for memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError

F16, F32 = np.dtype("f2"), np.dtype("f4")


@pytest.fixture
def library(kernel_library):
    return kernel_library("rearranged.cpp")


@pytest.mark.parametrize("dtype", [F16, F32])
def test_proposals_are_sorted_in_groups(npu, library, dtype):
    scores = np.random.default_rng(3).integers(-4, 5, 32).astype(dtype)  # with equal ones
    labels, y = np.arange(32).astype(dtype), np.zeros(64, dtype)
    out = npu.upload(y)
    kernel = library.aclrtlaunch_ranked_half if dtype == F16 else library.aclrtlaunch_ranked_float
    npu.launch(kernel, 1, npu.upload(scores), npu.upload(labels), out)
    order = np.concatenate([16 * group + np.argsort(-scores[16 * group :][:16], kind="stable") for group in range(2)])
    np.testing.assert_array_equal(npu.download(out, y), [*scores[order], *labels[order]])


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("lengths", [(16, 16, 16, 16), (16, 5, 16, 9), (16, 16, 16, 0), (7, 16, 0, 0)])
@pytest.mark.parametrize("suspend", [False, True])
def test_lists_of_proposals_are_merged(npu, library, dtype, lengths, suspend):
    scores = np.random.default_rng(sum(lengths)).integers(-9, 10, 64).astype(dtype)  # with equal ones
    labels, y = np.arange(64).astype(dtype), np.full(128, 99, dtype)
    out, taken = npu.upload(y), npu.upload(np.zeros(4, "u4"))
    kernel = library.aclrtlaunch_merged_half if dtype == F16 else library.aclrtlaunch_merged_float
    given, valid = npu.upload(np.array(lengths, "u2")), sum(1 << i for i, n in enumerate(lengths) if n)
    npu.launch(kernel, 1, npu.upload(scores), npu.upload(labels), out, taken, given, valid, suspend)
    ranked = [16 * i + np.argsort(-scores[16 * i :][:16], kind="stable")[:n] for i, n in enumerate(lengths)]
    order = np.concatenate(ranked)
    order = order[np.argsort(-scores[order], kind="stable")]
    if suspend:  # behind the element with which a list ends
        order = order[: min(1 + np.flatnonzero(order == one[-1])[0] for one in ranked if len(one))]
    rest = np.zeros(64 - len(order), dtype)
    np.testing.assert_array_equal(npu.download(out, y), [*scores[order], *rest, *labels[order], *rest])
    np.testing.assert_array_equal(npu.download(taken, np.zeros(4, "u4")), np.bincount(order // 16, minlength=4))


def fractals(x: np.ndarray) -> np.ndarray:
    """The last two axes as columns of 16 x 16, rows past the end as 99."""
    height = -x.shape[-2] % 16
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, height), (0, 0)], constant_values=99)
    x = x.reshape(*x.shape[:-2], x.shape[-2] // 16, 16, x.shape[-1] // 16, 16)
    return np.ascontiguousarray(np.moveaxis(x, -2, -4))


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("kind", ["only", "rows", "fractals", "fractals of 16"])
def test_axes_are_exchanged(npu, library, dtype, kind):
    random = np.random.default_rng(4)
    if kind == "only":
        x = random.normal(size=(16, 48)).astype(dtype)
        expected, sizes, number = x.T, (16, 48, 0, 0), 7
    else:
        a1 = 16 if kind == "fractals of 16" else 3
        wide = random.normal(size=(2, a1, 16, 32)).astype(dtype)  # B, A1, A2, A3
        x, sizes = fractals(wide), (2, a1, 32, 16)
        turned = wide.transpose(0, 2, 1, 3)
        expected, number = (turned, 1) if kind == "rows" else (fractals(turned), 2)
    y = np.full(expected.shape, 99, dtype)
    out = npu.upload(y)
    kernel = library.aclrtlaunch_exchanged_half if dtype == F16 else library.aclrtlaunch_exchanged_float
    npu.launch(kernel, 1, npu.upload(np.ascontiguousarray(x)), out, x.size, y.size, *sizes, number)
    np.testing.assert_array_equal(npu.download(out, y), expected)


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize(
    ("number", "split", "nz"), [(3, True, True), (4, True, False), (5, False, False), (6, False, True)]
)
def test_the_last_axis_is_split_and_joined(npu, library, dtype, number, split, nz):
    parted = np.random.default_rng(number).normal(size=(2, 3, 32, 48)).astype(dtype)  # B, N, S, H/N
    joined = parted.transpose(0, 2, 1, 3).reshape(2, 32, 144)
    x, y = (joined, parted) if split else (parted, joined)
    x, y = fractals(x), fractals(y) if nz else y
    out = npu.upload(np.full(y.shape, 99, dtype))
    kernel = library.aclrtlaunch_exchanged_half if dtype == F16 else library.aclrtlaunch_exchanged_float
    npu.launch(kernel, 1, npu.upload(x), out, x.size, y.size, 2, 3, 48, 2, number)
    np.testing.assert_array_equal(npu.download(out, y), y)


def test_products_through_queues_in_l1(npu, library):
    random = np.random.default_rng(5)
    a, b = (random.integers(-9, 9, (16, 16)).astype(F16) for _ in range(2))
    c = np.zeros((16, 16), F32)
    out = npu.upload(c)
    npu.launch(library.aclrtlaunch_through_l1, 1, npu.upload(a), npu.upload(b), out, False)
    np.testing.assert_array_equal(npu.download(out, c), (a.astype(F32) + 1) @ b.astype(F32))


def test_a_queue_in_l1_that_nobody_waits_for(npu, library, checker):
    if checker == "0":
        pytest.skip("the checker tells")
    a = np.zeros((16, 16), F16)
    npu.launch(library.aclrtlaunch_through_l1, 1, npu.upload(a), npu.upload(a), npu.upload(a.astype(F32)), True)
    with pytest.raises(AsyncError, match=r"error\[race\]: LoadData reads what DataCopy on another pipe"):
        npu.synchronize()


@pytest.mark.parametrize("kind", range(3))
def test_barriers_for_memory(npu, library, kind):
    x = np.arange(64, dtype=F32)
    out = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_after_barriers, 1, npu.upload(x), out, kind)
    np.testing.assert_array_equal(npu.download(out, x), 2 * x)


@pytest.mark.parametrize(("kind", "said"), [(3, "Muls reads what DataCopy"), (4, "Muls reads what DataCopy")])
def test_barriers_that_wait_for_something_else(npu, library, checker, kind, said):
    if checker == "0":
        pytest.skip("the checker tells")
    x = np.arange(64, dtype=F32)
    npu.launch(library.aclrtlaunch_after_barriers, 1, npu.upload(x), npu.upload(x), kind)
    with pytest.raises(AsyncError, match=rf"error\[race\]: {said}"):
        npu.synchronize()


def test_tensors_with_layouts(npu, library):
    x = np.arange(64, dtype=F32)
    out = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_laid_out, 1, npu.upload(x), out)
    np.testing.assert_array_equal(npu.download(out, x), x + 64 + 16 + 16)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (12, "MrgSort4: src needs 512 bytes, its buffer has 480"),
        (13, "ConfusionTranspose: H/N is 8: 16 must divide it"),
        (14, "ConfusionTranspose: dst needs 2048 bytes"),
        (15, "MrgSort4: src starts 16 bytes past a 32-byte boundary"),
        *enumerate(
            [
                "ProposalConcat: dst needs 1024 bytes, its buffer has 992",
                "ProposalExtract: src needs 1024",
                "RpSort16: src needs 1024",
                "ConfusionTranspose: src needs 1024",
                "ProposalConcat: mode 6: 0 to 5 are x1",
                "ConfusionTranspose: type 8 is not simulated, see docs/ascendc.md",
            ]
        ),
    ],
)
def test_operands_that_do_not_fit(npu, library, kind, said):
    npu.launch(library.aclrtlaunch_wrong, 1, npu.upload(np.ones(256, F32)), kind)
    with pytest.raises(AsyncError, match=said):
        npu.synchronize()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *enumerate(["ProposalConcat", "ProposalExtract", "RpSort16", "ConfusionTranspose"], start=6),
        *enumerate(["MrgSort4", "ConfusionTranspose"], start=10),
    ],
)
def test_operands_that_are_not_there_yet(npu, library, checker, kind, name):
    if checker == "0":
        pytest.skip("the checker tells")
    npu.launch(library.aclrtlaunch_wrong, 1, npu.upload(np.ones(256, F32)), kind)
    with pytest.raises(AsyncError, match=rf"error\[race\]: {name} reads what DataCopy on another pipe"):
        npu.synchronize()
