"""Core, engine, CPU kernels and the simulated NPU under ThreadSanitizer: threads that compute, train and queue at once.

The sanitized build is made by ``benchmarks.sanitized``. A child process loads it in place of the core and runs tests of
threads over it: memory that two of them reach with nothing to order them ends it. The simulator's own tests in C++ are
run so by ``tests/sim/acl``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import sanitized
from benchmarks.sanitized import THREAD, missing_tool

CASES = ("kernels", "gradients", "interrupts", "queues")
TESTS = (
    "runtime/test_threads.py", "runtime/test_autograd_engine.py", "npu/test_streams.py",
    "npu/test_commands.py", "npu/test_plan.py", "npu/test_delegates.py", "npu/test_timeline.py",
    "npu/test_graphs.py", "npu/test_graph_handlers.py", "npu/test_graph_update.py",
)  # fmt: skip
TIME_LIMIT = 600.0

pytestmark = pytest.mark.skipif(missing_tool() is not None, reason="needs cmake, ninja and gcc")


@pytest.fixture(scope="module")
def stage(repo_root: Path) -> Path:
    """The folder of the sanitized core, with the other libraries beside it."""
    return sanitized.build(repo_root, THREAD)


# Stands in for PyTorch with ourselves, and is without MindSpore, whose own threads the sanitizer knows nothing of. What
# the child starts, compilers, is not preloaded.
BOOTSTRAP = """
import os, sys
del os.environ["LD_PRELOAD"]
{loader}
sys.modules["torch"] = mindtorch_v2
sys.modules["mindspore"] = None
sys.path.insert(0, {root!r})
"""


def child(stage: Path, root: Path, code: str) -> subprocess.CompletedProcess[str]:
    bootstrap = BOOTSTRAP.format(loader=sanitized.loader(stage), root=str(root))
    return subprocess.run(
        [*sanitized.launcher(THREAD), sys.executable, "-c", bootstrap + code],
        env=sanitized.environment(THREAD),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_reached_by_two_threads_at_once(stage: Path, repo_root: Path, case: str) -> None:
    result = child(stage, repo_root, f"from tests.runtime import on_threads\non_threads.{case}()\n")
    assert result.returncode == 0, result.stdout[-8000:]


@pytest.mark.parametrize("name", TESTS)
def test_the_tests_of_threads_run_clean(stage: Path, repo_root: Path, name: str) -> None:
    options = ["-q", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    path = str(repo_root / "tests" / name)
    result = child(stage, repo_root, f"import pytest\nsys.exit(pytest.main({[*options, path]!r}))\n")
    assert result.returncode == 0, result.stdout[-8000:]


RACE = """
import threading
x, start = mindtorch_v2.ones(1 << 22), threading.Barrier(2)
def add():
    for _ in range(20):  # of which one may be over before the other thread begins
        start.wait()
        x.add_(1)
threads = [threading.Thread(target=add) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_the_sanitizer_sees(stage: Path, repo_root: Path) -> None:
    """A build whose sanitizer was left out would pass everything."""
    result = child(stage, repo_root, RACE)
    assert result.returncode != 0
    assert "WARNING: ThreadSanitizer: data race" in result.stdout
    assert "libmindtorch_cpu" in result.stdout
