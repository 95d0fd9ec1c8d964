"""Profiles of kernels: what the simulator records, and what the model makes of it."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from mindtorch_v2 import npu
from mindtorch_v2.npu import kernel_profile as profile
from tests.npu.conftest import simulator_only

KERNELS = """
#include "kernel_operator.h"
using namespace AscendC;

template <int buffers>
__aicore__ inline void Tiles(GM_ADDR x, GM_ADDR y, uint32_t tile, uint32_t tiles) {
  TPipe pipe;
  TQue<TPosition::VECIN, buffers> in;
  TQue<TPosition::VECOUT, buffers> out;
  pipe.InitBuffer(in, buffers, tile * 4);
  pipe.InitBuffer(out, buffers, tile * 4);
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * tile * tiles, tile * tiles);
  yGm.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * tile * tiles, tile * tiles);
  for (uint32_t i = 0; i < tiles; i++) {
    LocalTensor<float> a = in.template AllocTensor<float>();
    DataCopy(a, xGm[i * tile], tile);
    in.EnQue(a);
    a = in.template DeQue<float>();
    LocalTensor<float> b = out.template AllocTensor<float>();
    Adds(b, a, 1.0f, tile);
    in.FreeTensor(a);
    out.EnQue(b);
    b = out.template DeQue<float>();
    DataCopy(yGm[i * tile], b, tile);
    out.FreeTensor(b);
  }
}
extern "C" __global__ __aicore__ void one(GM_ADDR x, GM_ADDR y, uint32_t tile, uint32_t tiles) {
  Tiles<1>(x, y, tile, tiles);
}
extern "C" __global__ __aicore__ void two(GM_ADDR x, GM_ADDR y, uint32_t tile, uint32_t tiles) {
  Tiles<2>(x, y, tile, tiles);
}
extern "C" __global__ __aicore__ void product(GM_ADDR x, GM_ADDR y, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  if ASCEND_IS_AIC {
    pipe.InitBuffer(a2, 8192);
    pipe.InitBuffer(b2, 8192);
    pipe.InitBuffer(co1, 16384);
    InitConstValue(a2.Get<half>(), {1, 16, 0, half(1)});
    InitConstValue(b2.Get<half>(), {1, 16, 0, half(1)});
    PipeBarrier<PIPE_ALL>();
    Mmad(co1.Get<float>(), a2.Get<half>(), b2.Get<half>(), MmadParams(64, 64, 64, 0, false, true));
  }
}
"""
START = """
import sys
from pathlib import Path
import mindtorch_v2 as torch
from mindtorch_v2 import npu
kernels = npu.ascendc_load("profiled", Path(sys.argv[1]))
one, two = (kernels.bind(name, (npu.ptr, npu.ptr, npu.u32, npu.u32)) for name in ("one", "two"))
product = kernels.bind("product", (npu.ptr, npu.ptr, npu.ptr))
x = torch.ones(65536).to("npu")
y = torch.zeros(65536).to("npu")
"""


@pytest.fixture
def run(tmp_path, child_env):
    """The standard output and error of a script that has the kernels."""
    source = tmp_path / "kernels.cpp"
    source.write_text(KERNELS)

    def start(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", START + script, str(source), str(tmp_path / "picture.svg")]
        return subprocess.run(command, capture_output=True, text=True, env={**child_env, **variables}, check=False)

    return start


@simulator_only
def test_what_was_done_is_counted(run, tmp_path):
    script = """
first, second = npu.profile_kernel(lambda: (one(4, x, y, 1024, 8), two(4, x, y, 1024, 8)))
assert (first.kernel, second.kernel, first.blocks, len(first.cores)) == ("one", "two", 4, 4)
for profile in (first, second):
    for core in profile.cores:
        pipes = core.pipes
        assert {name: own.instructions for name, own in pipes.items()} == {"MTE2": 8, "V": 8, "MTE3": 8}
        assert [pipes[name].read for name in ("MTE2", "V", "MTE3")] == [32768, 0, 0]
        assert [pipes[name].written for name in ("MTE2", "V", "MTE3")] == [0, 0, 32768]
        assert 0 < max(own.busy for own in pipes.values()) <= core.cycles
        for name in pipes:  # one after the other
            own = [interval for interval in core.intervals if interval.pipe == name]
            assert all(a.end <= b.start for a, b in zip(own, own[1:]))
assert second.slowest.cycles < 0.95 * first.slowest.cycles  # two buffers let the pipes run side by side
text = str(second)
assert "estimated" in text and "not measured" in text
print(text)
second.save(sys.argv[2])
[mixed] = npu.profile_kernel(product, 1, x, y, y)
assert [(core.role, core.sub_block) for core in mixed.cores] == [("cube", 0), ("vector", 0), ("vector", 1)]
assert mixed.cores[0].pipes["M"].busy == 16 + 64 * 64 * 64 / 4096
assert y[:32768].sum().item() == 65536.0 and y[32768:].sum().item() == 0
"""
    done = run(script, MINDTORCH_SIM_CHECK="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "####" in done.stdout
    picture = ElementTree.parse(tmp_path / "picture.svg")
    assert len(picture.findall("{http://www.w3.org/2000/svg}rect")) == 24


@simulator_only
@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"MINDTORCH_SIM_CHECK": "0"}, "set MINDTORCH_SIM_CHECK=1"),
        ({"MINDTORCH_SIM_CHECK": "1", "MINDTORCH_SIM_ISOLATE": "1"}, "unset MINDTORCH_SIM_ISOLATE"),
    ],
)
def test_what_records_nothing_is_refused(run, variables, message):
    done = run("npu.profile_kernel(one, 1, x, y, 1024, 8)", **variables)
    assert done.returncode == 1
    assert message in done.stderr


@simulator_only
def test_a_call_without_kernels_is_refused(run):
    script = """
for function in (lambda: None, lambda: 1 / 0):
    try:
        npu.profile_kernel(function)
    except (RuntimeError, ZeroDivisionError) as error:
        print(error)
print(len(npu.profile_kernel(one, 1, x, y, 1024, 8)))
"""
    done = run(script, MINDTORCH_SIM_CHECK="1")
    said = ["profile_kernel: no kernel that was built for the checker ran", "division by zero", "1"]
    assert (done.stderr, done.stdout.splitlines()) == ("", said)


def trace(*lines: str) -> npu.KernelProfile:
    [profiled] = profile.read_trace("\n".join(["core 7 1 0 0 0 scale<float, 2>", *lines]))
    return profiled


def test_pipes_wait_for_what_they_take():
    load, add = "do MTE2 DataCopy 12800 0 12800 0 32", "do V Add 0 0 2560 0 32"
    apart = trace(load, add)
    assert apart.kernel == "scale<float, 2>"
    loading, adding = apart.cores[0].intervals
    assert (loading.start, loading.end - loading.start) == (1, profile.START["MTE2"] + 100)
    assert (adding.start, adding.end - adding.start) == (2, profile.START["V"] + 10)
    for waits in (("give MTE2 5", "take V 5"), ("meet",), ("wait V MTE2",)):
        loading, adding = trace(load, *waits, add).cores[0].intervals
        assert loading.end <= adding.start <= loading.end + profile.START["S"]
    given_before = trace("give MTE2 5", load, "take V 5", add).cores[0].intervals
    assert given_before[1].start < given_before[0].end


def test_cores_share_the_memory():
    alone = profile.cycles_of("MTE2", "DataCopy", 1 << 20, 0, 0, 32, 1)
    together = profile.cycles_of("MTE2", "DataCopy", 1 << 20, 0, 0, 32, 48)
    assert together > 5 * alone
    assert profile.cycles_of("M", "Mmad", 0, 0, 4096 * 100, 16, 1) == profile.START["M"] + 100
    assert profile.cycles_of("V", "Exp", 0, 2560, 0, 32, 1) > profile.cycles_of("V", "Add", 0, 2560, 0, 32, 1)


def test_blocks_run_in_rounds():
    cores = [f"core 1 100 {block} 0 0 k\ndo V Add 0 0 256 0 32" for block in range(100)]
    [profiled] = profile.read_trace("\n".join(cores))
    assert (profiled.rounds, len(profiled.cores)) == (3, 100)
    assert profiled.microseconds == pytest.approx(3 * profiled.slowest.cycles / profile.CLOCK_MHZ)
    assert profile.CoreProfile(0, "", 0, ()).picture() == ""
