"""Kernels that crash or never end, on the simulated NPU, and a host that reads device memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mindtorch_v2 import npu

pytestmark = pytest.mark.skipif(not npu.is_simulated(), reason="hardware isolates kernels by itself")

KERNELS = """
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void good(GM_ADDR x, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) ((__gm__ float*)x)[i] += 1;
}
extern "C" __global__ __aicore__ void crash(GM_ADDR x) {
  if (GetBlockIdx() == 1) *(volatile int*)nullptr = 1;
}
extern "C" __global__ __aicore__ void forever(GM_ADDR x) {
  volatile __gm__ float* flag = (volatile __gm__ float*)x;
  while (*flag < 100) {
  }
}
"""
START = """
import sys
from pathlib import Path
import mindtorch_v2 as torch
from mindtorch_v2 import npu
kernels = npu.ascendc_load("isolated", Path(sys.argv[1]))
good = kernels.bind("good", (npu.ptr, npu.u32))
crash = kernels.bind("crash", (npu.ptr,))
forever = kernels.bind("forever", (npu.ptr,))
x = torch.zeros(4).to("npu")
"""
SURVIVES = """
good(1, x, 4)
for bad, blocks in ((crash, 2), (forever, 1)):
    try:
        good(1, x, 4)
        bad(blocks, x)
        npu.synchronize()
    except npu.NpuError as error:
        print(error.code)
        print(str(error).replace("\\n", " "))
good(1, x, 4)
print(x.cpu().tolist())
"""


def run(tmp_path, child_env, script, **variables):
    source = tmp_path / "kernels.cpp"
    source.write_text(KERNELS)
    command = [sys.executable, "-c", START + script, str(source)]
    return subprocess.run(command, capture_output=True, text=True, env={**child_env, **variables}, check=False)


def test_the_process_survives_and_is_told_which_launch_it_was(tmp_path, child_env):
    done = run(tmp_path, child_env, SURVIVES, MINDTORCH_SIM_ISOLATE="1", MINDTORCH_SIM_TIMEOUT="1")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "507035"
    assert "kernel crash, block 1 of 2: crashed with SIGSEGV at 0x0, which is no pointer" in lines[1]
    assert lines[2] == "507034"
    assert "kernel forever: still running after 1 s: a flag that nobody sets, or a loop without an end" in lines[3]
    assert lines[4] == "[4.0, 4.0, 4.0, 4.0]"


def test_a_kernel_that_never_ends_is_given_up_in_the_same_process_too(tmp_path, child_env):
    script = """
forever(1, x)
try:
    npu.synchronize()
except npu.NpuError as error:
    print(error.code)
"""
    done = run(tmp_path, child_env, script, MINDTORCH_SIM_TIMEOUT="1")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "507034\n")


def test_a_host_that_reads_device_memory_is_told(tmp_path, child_env):
    done = run(tmp_path, child_env, "import ctypes; ctypes.c_float.from_address(x.data_ptr() + 4).value")
    assert done.returncode == -11
    assert "simulated NPU: the host touched device memory at 0x" in done.stderr
    assert "of device 0, byte 4 of an allocation of" in done.stderr
