"""Processes that are forked while the NPU is in use: what they are told, what helps, and that they end quietly."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, os, sys

import mindtorch_v2 as torch


def use(x=None):
    try:
        x = torch.ones(2, device="npu") if x is None else x
        print((x + 1).tolist(), flush=True)
    except RuntimeError as error:
        print(type(error).__name__, error, flush=True)


def select():
    try:
        torch.npu.set_device(1)
    except RuntimeError as error:
        print(type(error).__name__, error, flush=True)


def synchronize():
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        print(type(error).__name__, error, flush=True)


def on_the_cpu():
    print((torch.ones(2) + 1).tolist(), flush=True)


def nothing():
    pass


if __name__ == "__main__":
    action, start = globals()[sys.argv[1]], sys.argv[2]
    x = None if start == "fork first" else torch.ones(2, device="npu") * 3
    if start in ("fork", "fork first", "fork with a tensor"):
        child = os.fork()
        if child == 0:
            action(*[x] * (start == "fork with a tensor"))
            sys.exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    else:
        process = multiprocessing.get_context(start).Process(target=action)
        process.start()
        process.join()
        status = process.exitcode
    print(status)
    if x is not None:
        print((x + 1).tolist())
"""


@pytest.fixture
def run(tmp_path, child_env):
    (tmp_path / "script.py").write_text(SCRIPT)

    def started(action, start):
        command = [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            tmp_path / "script.py",
            action,
            start,
        ]  # of os.fork
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_env, timeout=120)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return started


@pytest.mark.parametrize(
    ("action", "start"), [("use", "fork"), ("use", "fork with a tensor"), ("select", "fork"), ("synchronize", "fork")]
)
def test_a_forked_child_is_told_what_helps(action, start, run):
    said, status, parent = run(action, start)
    assert said.startswith("NpuError ")
    assert "this process was forked from one that had used the NPU" in said
    assert 'multiprocessing.get_context("spawn")' in said
    assert (status, parent) == ("0", "[4.0, 4.0]")


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_what_helps(start, run):
    assert run("use", start) == ["[2.0, 2.0]", "0", "[4.0, 4.0]"]


def test_a_fork_before_the_npu_is_used(run):
    assert run("use", "fork first") == ["[2.0, 2.0]", "0"]


def test_a_forked_child_that_stays_on_the_cpu(run):
    assert run("on_the_cpu", "fork") == ["[2.0, 2.0]", "0", "[4.0, 4.0]"]
    assert run("nothing", "fork") == ["0", "[4.0, 4.0]"]
