"""The ordinary AscendC kernel: queues, double buffering, and the three ways tiling reaches a kernel."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@pytest.fixture
def add(kernel_library):
    return kernel_library("add.cpp")


def _inputs(n):
    rng = np.random.default_rng(n)
    return rng.standard_normal(n, dtype=np.float32), rng.standard_normal(n, dtype=np.float32)


@pytest.mark.parametrize(("blocks", "n", "tile"), [(1, 8, 8), (2, 1024, 128), (8, 16384, 512), (40, 40 * 2048, 2048)])
def test_tiling_by_value(npu, add, blocks, n, tile):
    x, y = _inputs(n)
    z = npu.upload(np.zeros_like(x))
    npu.launch(add.aclrtlaunch_add_struct, blocks, npu.upload(x), npu.upload(y), z, struct.pack("II", n, tile))
    np.testing.assert_array_equal(npu.download(z, x), x + y)


@pytest.mark.parametrize("kernel", ["add_global", "add_pointer"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_tiling_in_global_memory(npu, add, kernel, blocks):
    n, tile = 768 * blocks, 256
    x, y = _inputs(n)
    z = npu.upload(np.zeros_like(x))
    tiling = npu.upload(np.array([n, tile], np.uint32))
    workspace = [None] if kernel == "add_global" else []
    npu.launch(getattr(add, f"aclrtlaunch_{kernel}"), blocks, npu.upload(x), npu.upload(y), z, *workspace, tiling)
    np.testing.assert_array_equal(npu.download(z, x), x + y)


def test_the_struct_is_copied_at_launch(npu, add):
    x, y = _inputs(256)
    z = npu.upload(np.zeros_like(x))
    tiling = ctypes.create_string_buffer(struct.pack("II", 256, 64))
    npu.launch(add.aclrtlaunch_add_struct, 1, npu.upload(x), npu.upload(y), z, tiling)
    ctypes.memset(tiling, 0xFF, 8)
    np.testing.assert_array_equal(npu.download(z, x), x + y)


def test_host_memory_is_refused_at_launch(npu, add):
    x, _ = _inputs(256)
    device = npu.upload(x)
    with pytest.raises(AsyncError, match=r"argument 1: expected memory of device 0.*host memory") as error:
        npu.launch(
            add.aclrtlaunch_add_struct,
            1,
            device,
            ctypes.c_void_p(x.ctypes.data),
            device,
            struct.pack("II", 256, 64),
        )
    assert error.value.code == 107000


def test_signatures_tell_the_launcher_each_type(add, kernel_library):
    def signature(library, kernel):
        return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, f"mtsim_signature_{kernel}")))

    assert signature(add, "add_struct") == b"ptr,ptr,ptr,struct:8"
    assert signature(add, "add_pointer") == b"ptr,ptr,ptr,ptr"
    assert signature(kernel_library("elementwise.cpp"), "muls_half") == b"ptr,ptr,f16,u32"
    assert signature(kernel_library("elementwise.cpp"), "scale_float") == b"ptr,ptr,f32,bool,u16"
    assert signature(kernel_library("cast.cpp"), "float_to_half") == b"ptr,ptr,i32,u32"


def test_a_source_that_launches_its_own_kernels(npu, kernel_library):
    library = kernel_library("launches_itself.cpp")
    x = np.arange(64, dtype=np.float32)
    y = npu.upload(np.zeros_like(x))
    library.affine_do(npu.stream, npu.upload(x), y, 64, ctypes.c_float(2), ctypes.c_float(0.5))
    np.testing.assert_array_equal(npu.download(y, x), 2 * x + 0.5)
    library.write_do(64, npu.stream, y)
    np.testing.assert_array_equal(npu.download(y, x), 2.5 * x)
    assert library.aclrtlaunch_affine
