"""The variable alone turns the checker on: in ``ascendc_load``, for the example and the launcher, and in isolation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_v2.npu import build
from tests.sim.check.cases import KERNELS

ROOT = Path(__file__).resolve().parents[3]


def python(script: str, **variables: str) -> str:
    """What a script prints under the checker, run from the repository's root."""
    env = {**os.environ, "MINDTORCH_SIM_CHECK": "1", "MINDTORCH_NPU": "sim", **variables}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=env, cwd=ROOT, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


WRONG = f"""
import mindtorch_v2 as torch
from mindtorch_v2 import npu
freed = npu.ascendc_load("queues", {str(KERNELS / "queues.cpp")!r}).bind("life", (npu.ptr, npu.ptr, npu.i32))
x, y = torch.ones(64, device="npu"), torch.ones(64, device="npu")
try:
    freed(1, x, y, 1)
    npu.synchronize()
except RuntimeError as error:
    print(error)
freed(1, x, y, 0)
npu.synchronize()
print("the right one is silent")
"""


@pytest.mark.parametrize("variables", [{}, {"MINDTORCH_SIM_ISOLATE": "1"}], ids=["here", "isolated"])
def test_an_error_carries_the_report(variables):
    text = python(WRONG, MINDTORCH_LAUNCH_BLOCKING="1", **variables)
    assert text.startswith("kernel life: error 507035 (a kernel faulted on an AI core: ")
    assert "MINDTORCH_SIM_CHECK found 1 mistake in kernel life:" in text
    assert f"{KERNELS / 'queues.cpp'}:24: error[freed]: Exp reads a tensor that was freed\n" in text
    assert text.endswith("the right one is silent\n")


def test_two_launches_before_a_synchronisation_are_both_told():
    text = python(WRONG.replace("freed(1, x, y, 1)", "freed(1, x, y, 1), freed(1, x, y, 5)"))
    assert "error[freed]" in text
    assert "error[leak]" in text


EXAMPLE = """
import mindtorch_v2 as torch
from examples.scaled_add.generated import ops
x = torch.arange(5000, dtype=torch.float32, device="npu").requires_grad_()
y = torch.ones(5000, device="npu")
out = ops.scaled_add(x, y, scale=2.0)
out.sum().backward()
print(bool((out.cpu() == x.detach().cpu() + 2).all()), bool((x.grad.cpu() == 1).all()))
"""


def test_the_example_and_the_built_in_operators_are_silent():
    assert python(EXAMPLE) == "True True\n"


def test_what_is_not_checked_is_not_compiled_in(monkeypatch):
    source = KERNELS / "queues.cpp"
    monkeypatch.delenv("MINDTORCH_SIM_CHECK", raising=False)
    plain = build.build_ascendc("queues", [source])
    monkeypatch.setenv("MINDTORCH_SIM_CHECK", "1")
    checked = build.build_ascendc("queues", [source])
    assert b"mtsim_check_begin_core" not in plain.read_bytes()
    assert b"mtsim_check_begin_core" in checked.read_bytes()


def test_other_values_of_the_variable_are_errors(monkeypatch):
    monkeypatch.setenv("MINDTORCH_SIM_CHECK", "yes")
    with pytest.raises(build.BuildError, match="MINDTORCH_SIM_CHECK: expected 0 or 1, got 'yes'"):
        build.checking()
