"""Blocks and cores that wait for each other, tiling and workspaces, printing, assertions, and the chips' profiles."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.sim.ascendc.device import AsyncError


@pytest.fixture
def library(kernel_library):
    return kernel_library("system.cpp")


@pytest.mark.parametrize("blocks", [1, 2, 40])
def test_chain_of_blocks(npu, library, blocks):
    x, flags = npu.upload(np.zeros(blocks, np.int32)), npu.upload(np.zeros((blocks * 3 + 2) * 8, np.int32))
    npu.launch(library.aclrtlaunch_chain, blocks, x, flags)
    np.testing.assert_array_equal(npu.download(x, np.empty(blocks, np.int32)), np.arange(blocks).cumsum())


@pytest.mark.parametrize("by_flags", [False, True])
@pytest.mark.parametrize("blocks", [1, 2, 24])
def test_vector_cores_of_all_blocks_meet(npu, library, by_flags, blocks):
    cores = np.zeros(blocks * 2, np.int32)
    x, y = npu.upload(cores), npu.upload(cores)
    npu.launch(library.aclrtlaunch_opposite, blocks, x, y, ctypes.c_bool(by_flags))
    np.testing.assert_array_equal(npu.download(y, cores), np.arange(cores.size)[::-1] + 1)


@pytest.mark.parametrize("blocks", [1, 7])
def test_vector_cores_of_a_block_meet(npu, library, blocks):
    cores = np.zeros(blocks * 2, np.int32)
    x, y = npu.upload(cores), npu.upload(cores)
    npu.launch(library.aclrtlaunch_exchange, blocks, x, y)
    np.testing.assert_array_equal(npu.download(y, cores), 10 * (np.arange(cores.size) ^ 1))


@pytest.mark.parametrize("blocks", [1, 2, 20])
def test_all_cores_meet(npu, library, blocks):
    cores = np.zeros(blocks, np.int32)
    x, y = npu.upload(cores), npu.upload(cores)
    npu.launch(library.aclrtlaunch_all_meet, blocks, x, y)
    expected = np.roll(5 * np.arange(blocks), -1)
    np.testing.assert_array_equal(npu.download(y, cores), expected)
    np.testing.assert_array_equal(npu.download(x, cores), np.roll(expected, -1) + 1)


@pytest.mark.parametrize("n", [1, 1000])
def test_tiling_and_workspace(npu, library, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    y, workspace = npu.upload(np.zeros_like(x)), npu.upload(np.zeros_like(x))
    tiling = npu.upload(np.frombuffer(struct.pack("<If", n, 2.5), np.uint8))
    npu.launch(library.aclrtlaunch_by_tiling, 1, npu.upload(x), y, workspace, tiling)
    np.testing.assert_array_equal(npu.download(y, x), x * np.float32(2.5) + 1)


@pytest.mark.parametrize("n", [8, 1000])
def test_local_memory_by_address(npu, library, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    y = npu.upload(np.zeros_like(x))
    npu.launch(library.aclrtlaunch_by_address, 1, npu.upload(x), y, 64 * 1024, n)
    np.testing.assert_array_equal(npu.download(y, x), 2 * x)


def test_local_memory_past_its_end(npu, library):
    memory = npu.upload(np.zeros(8, np.float32))
    npu.launch(library.aclrtlaunch_by_address, 1, memory, memory, 196352 - 28, 8)
    with pytest.raises(AsyncError, match="8 elements from byte 196324 on, the unified buffer has 196352 bytes"):
        npu.synchronize()


def test_printing(npu, library, capfd):
    npu.launch(library.aclrtlaunch_prints, 2, npu.upload(np.arange(8, dtype=np.float32)))
    npu.synchronize()
    ctypes.CDLL(None).fflush(None)
    expected = "block 1 of 2\nhalf 0.5\nDumpTensor 42, block 1: [0, 1, 2]\n"
    assert capfd.readouterr().out == expected


def test_assertion(npu, library):
    npu.launch(library.aclrtlaunch_asserts, 1, npu.upload(np.zeros(1, np.float32)))
    with pytest.raises(AsyncError, match=r"system.cpp:\d+: GetBlockNum\(\) == 2"):
        npu.synchronize()


def test_scalars(npu, library):
    y = npu.upload(np.zeros(16, np.int32))
    npu.launch(library.aclrtlaunch_scalars, 1, y)
    expected = [2, 8, 8, 63, 64, 3, 1, 256] + [-1] * 8
    np.testing.assert_array_equal(npu.download(y, np.empty(16, np.int32)), expected)


def test_more_blocks_than_cores(npu, library, checker):
    x = npu.upload(np.zeros(64, np.int32))
    npu.launch(library.aclrtlaunch_all_meet, 25, x, x)
    with pytest.raises(AsyncError) as error:
        npu.synchronize()
    assert error.value.code == (507014 if checker == "1" else 507034)  # the checker names the first, a cube core
    assert "SyncAll: 25 blocks wait for each other, Ascend910B has 24 cube cores" in error.value.message


PROFILES = {
    "Ascend910B1": (196352, 65536, 131072, 48),
    "Ascend310P3": (262144, 65536, 262144, 8),
    "Ascend310B4": (253952, 65536, 131072, 1),
    "Ascend910A": (262144, 65536, 262144, 32),
    "Ascend910ProB": (262144, 65536, 262144, 32),
}

# Prints what the errors say: the bytes of three memories, and the most blocks that may wait for each other.
LIMITS = """
import ctypes, re, sys
from pathlib import Path
import numpy as np
from mindtorch_v2.npu import build, paths
from tests.sim.ascendc.device import AsyncError, Device
library = ctypes.CDLL(str(build.build_ascendc("profile", [Path(sys.argv[1])])))

def outcome(kernel, blocks, *arguments):
    npu = Device(paths.simulator_library())
    npu.launch(kernel, blocks, npu.upload(np.zeros(8, np.float32)), *arguments)
    try:
        npu.synchronize()
        return ""
    except AsyncError as error:
        return error.message
    finally:
        npu.free_all()

for memory in range(3):
    print(re.search(r"of (\\d+) bytes are taken", outcome(library.aclrtlaunch_overfill, 1, memory))[1])
print(max(blocks for blocks in (1, 2, 8, 9, 32, 33, 48) if not outcome(library.aclrtlaunch_meet, blocks)))
"""


@pytest.mark.parametrize("soc", PROFILES)
def test_chip_profile(soc):
    kernel = Path(__file__).parent / "kernels" / "profile.cpp"
    environment = {**os.environ, "MTSIM_SOC_NAME": soc}
    command = [sys.executable, "-c", LIMITS, str(kernel)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert tuple(map(int, done.stdout.split())) == PROFILES[soc]
