"""Builds the C-level tests of the simulated NPU with each sanitizer and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GROUPS = sorted(path.stem for path in HERE.glob("*_test.cpp"))
SANITIZERS = ("address", "thread")
# A hang is a finding too; the whole suite takes a few seconds.
TIME_LIMIT = 300.0

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("g++") is None, reason="needs cmake and g++ to build the C tests"
)


def run(*command: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )


@pytest.fixture(scope="module", params=SANITIZERS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the test program, built with one sanitizer."""
    build = tmp_path_factory.mktemp(f"sim-{request.param}")
    commands: tuple[list[str | Path], ...] = (
        ["cmake", "-S", HERE, "-B", build, "-DCMAKE_BUILD_TYPE=Debug", f"-DMTSIM_SANITIZE={request.param}"],
        ["cmake", "--build", build, "--parallel", "2"],
    )
    for command in commands:
        result = run(*command)
        assert result.returncode == 0, result.stdout
    return build / "sim_tests"


@pytest.mark.parametrize("group", GROUPS)
def test_group(program: Path, group: str) -> None:
    # ThreadSanitizer of GCC 12 cannot start where the kernel randomises addresses by more bits than it knows of.
    prefix = ["setarch", "-R"] if shutil.which("setarch") else []
    result = run(
        *prefix,
        program,
        group,
        env={"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "detect_leaks=1")},
    )
    assert result.returncode == 0, result.stdout


def test_sanitizer_is_active(program: Path) -> None:
    """A program whose sanitizer was left out would pass everything."""
    linked = run("ldd", program).stdout
    assert "libasan" in linked or "libtsan" in linked
