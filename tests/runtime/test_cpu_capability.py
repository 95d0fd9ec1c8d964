"""The instruction set of the CPU kernels: chosen once, shown, and chosen by the environment."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import torch as pytorch

import mindtorch_v2 as torch

RISING = ["DEFAULT", "AVX2", "AVX512"]
BEST = pytorch.backends.cpu.get_cpu_capability()
CODE = """
import mindtorch_v2 as torch
from mindtorch_v2.backends.cpu import get_cpu_capability
x = torch.arange(1000.0)
parts = (x.cos() + x.exp().clamp(max=5), x.reshape(20, 50) @ x.reshape(50, 20), x.softmax(0))
print(get_cpu_capability(), repr(sum(part.sum().item() for part in parts)))
"""


def test_it_is_pytorchs() -> None:
    if platform.machine() == "aarch64":
        assert torch.backends.cpu.get_cpu_capability() == "NEON"
    else:
        assert torch.backends.cpu.get_cpu_capability() == BEST


@pytest.mark.skipif(BEST not in RISING, reason="the processor's instruction sets are no x86 ones")
@pytest.mark.parametrize("wanted", ["default", "avx2", "avx512", "none of them", ""])
def test_the_environment_chooses(wanted: str, child_env: dict[str, str]) -> None:
    env = {**child_env, "ATEN_CPU_CAPABILITY": wanted}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, total = done.stdout.split()
    is_known = wanted.upper() in RISING
    assert name == (min(wanted.upper(), BEST, key=RISING.index) if is_known else BEST)
    assert ("ignoring invalid value for ATEN_CPU_CAPABILITY" in done.stderr) is not is_known
    x = pytorch.arange(1000.0)
    parts = (x.cos() + x.exp().clamp(max=5), x.reshape(20, 50) @ x.reshape(50, 20), x.softmax(0))
    assert float(total) == pytest.approx(sum(part.sum().item() for part in parts), rel=1e-4)
