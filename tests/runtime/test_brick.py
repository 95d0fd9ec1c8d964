"""A device type that a program adds by a `Backend` with memory and copies, at a key of its own: on_brick.py's cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = ("minimal", "memory", "gradients", "training", "objects", "random_numbers", "stub", "fallback")


@pytest.mark.parametrize("case", CASES)
def test_on_a_device_whose_memory_cannot_be_touched(case: str, repo_root: Path, child_env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.runtime.on_brick", case]
    done = subprocess.run(command, cwd=repo_root, env=child_env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
