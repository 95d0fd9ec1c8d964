"""Which cores a kernel has, and what it does on each kind."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


def test_the_kind_of_core_in_if_constexpr(npu, kernel_library):
    library = kernel_library("core_type.cpp")
    y, expected = np.zeros(24, np.int32), np.zeros(24, np.int32)
    expected[[0, 8, 16]] = 100, 1, 2
    pointers = npu.upload(y), npu.upload(y)
    npu.launch(library.aclrtlaunch_kinds, 1, pointers[0])
    np.testing.assert_array_equal(npu.download(pointers[0], y), expected)
    launch = library._Z8kinds_doPvPh
    launch.restype = None
    launch(npu.stream, pointers[1])
    np.testing.assert_array_equal(npu.download(pointers[1], y), expected)


MIXED, CUBE, VECTOR = [100, 1, 2], [40, 0, 0], [0, 1, 0]


@pytest.mark.parametrize(
    ("kernel", "marks"),
    [
        ("mixed", MIXED),
        ("cube", CUBE),
        ("vector", VECTOR),
        ("late", CUBE),
        ("keyed", CUBE),
        ("undeclared", MIXED),
    ],
)
def test_what_a_kernel_runs_on(npu, kernel_library, kernel, marks):
    y = np.zeros(24, np.int32)
    pointer = npu.upload(y)
    npu.launch(getattr(kernel_library("core_type.cpp"), f"aclrtlaunch_{kernel}"), 1, pointer)
    assert npu.download(pointer, y)[::8].tolist() == marks


def test_what_a_template_runs_on(npu, kernel_library):
    y = np.zeros(24, np.int32)
    pointer = npu.upload(y)
    launch = kernel_library("core_type.cpp")._Z17mixed_template_doPvPh
    launch.restype = None
    launch(npu.stream, pointer)
    assert npu.download(pointer, y)[::8].tolist() == MIXED


def test_a_fault_names_the_kernel_that_its_source_launched(npu, kernel_library):
    launch = kernel_library("core_type.cpp")._Z17mixed_template_doPvPh
    launch.restype = None
    launch(npu.stream, npu.upload(np.zeros(8, np.int32)))
    with pytest.raises(AsyncError, match=r"kernel mixed_template<100>"):
        npu.synchronize()


def test_a_cube_core_that_multiplies_for_itself(npu, kernel_library):
    a, b = np.random.default_rng(8).integers(-4, 5, (2, 32, 32)).astype(np.float16)
    c, tiling = np.zeros((32, 32), np.float32), np.zeros(50, np.int32)
    tiling[:11] = [1, *[32] * 10]
    y = npu.upload(c)
    kernel = kernel_library("core_type.cpp").aclrtlaunch_bare_mix
    npu.launch(kernel, 1, npu.upload(a), npu.upload(b), npu.upload(c), y, ctypes.c_void_p(tiling.ctypes.data))
    np.testing.assert_array_equal(npu.download(y, c), a.astype(np.float32) @ b.astype(np.float32) + 1)


def test_raw_flags_between_cores(npu, kernel_library):
    y = np.zeros(24, np.int32)
    pointer = npu.upload(y)
    npu.launch(kernel_library("core_type.cpp").aclrtlaunch_raw_flags, 1, npu.upload(y), pointer)
    assert npu.download(pointer, y)[::8].tolist() == [44, 47, 0]
