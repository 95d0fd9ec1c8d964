"""Starts two processes, and collects what each found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import ROOT, require


def need_mpi() -> None:
    """Skip the tests of a file where processes cannot be started."""
    require("mindtorch_v2")
    require("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not there (Debian: openmpi-bin)")


def started(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mindtorch_v2.distributed.run", "--nproc-per-node", "2", *arguments]
    env = dict(os.environ)  # as Python knows it: MPI in this process would have set more
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False)


def found_by(module: str, folder: Path) -> list[dict[str, str]]:
    """What each process found, by check."""
    ran = started("-m", module, str(folder))
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    assert len(results) == 2, ran.stderr[-3000:]
    assert ran.returncode == 0 or any(any(one.values()) for one in results), ran.stderr[-3000:]
    return results
