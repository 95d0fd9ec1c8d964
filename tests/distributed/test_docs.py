"""The example of docs/distributed.md runs in two processes, as the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import require


def test_the_example(repo_root: Path, tmp_path: Path) -> None:
    require("mindtorch_v2")
    require("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not there (Debian: openmpi-bin)")
    (code,) = re.findall(r"```python\n(.*?)```", (repo_root / "docs/distributed.md").read_text(), re.DOTALL)
    script = tmp_path / "train.py"
    script.write_text(code)
    start = ["-m", "mindtorch_v2.distributed.run", "--nproc-per-node", "2", "-m", "mindtorch_v2", "run", str(script)]
    ran = subprocess.run(
        [sys.executable, *start], env=dict(os.environ), capture_output=True, text=True, timeout=100, check=True
    )
    losses = [float(line.rpartition(" ")[2]) for line in ran.stdout.splitlines()]
    assert len(losses) == 5
    assert losses[-1] < losses[0] / 10
