"""An operator project of CANN's layout runs as it is, from its YAML entry."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch

EPSILON = 1e-3


@pytest.fixture(scope="module")
def example(repo_root: Path) -> Path:
    return repo_root / "examples/row_scale"


@pytest.fixture(scope="module")
def row_scale(example: Path) -> Callable[..., torch.Tensor]:
    spec = importlib.util.spec_from_file_location("row_scale_ops", example / "generated/ops.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.row_scale


def expected(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide / np.sqrt((wide**2).mean(-1, keepdims=True) + EPSILON) * weight


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(1, 8), (3, 5, 77), (41, 256), (200, 33)])
def test_rows_are_scaled(row_scale: Callable[..., torch.Tensor], shape: tuple[int, ...], dtype: str) -> None:
    random = np.random.default_rng(0)
    x, weight = random.normal(size=shape).astype(dtype), random.uniform(0.5, 2, shape[-1]).astype(dtype)
    got = row_scale(torch.tensor(x).to("npu"), torch.tensor(weight).to("npu"), epsilon=EPSILON)
    assert got.dtype == getattr(torch, dtype)
    tolerance = 1e-5 if dtype == "float32" else 2e-3
    np.testing.assert_allclose(got.cpu().numpy(), expected(x, weight), rtol=tolerance, atol=tolerance)


def test_no_rows(row_scale: Callable[..., torch.Tensor]) -> None:
    assert row_scale(torch.zeros(0, 8, device="npu"), torch.ones(8, device="npu")).shape == (0, 8)


def test_the_checker_finds_nothing(repo_root: Path, child_env: dict[str, str]) -> None:
    script = (
        "import mindtorch_v2 as torch\nfrom examples.row_scale.generated.ops import row_scale\n"
        "y = row_scale(torch.ones(9, 40, device='npu'), torch.ones(40, device='npu'))\n"
        "print((y.cpu() - 1).abs().max().item() < 1e-5)\n"
    )
    env = {
        **child_env,
        "MINDTORCH_SIM_CHECK": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(repo_root), child_env.get("PYTHONPATH")])),
    }
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_what_the_host_changes_the_generator_notices(example: Path, tmp_path: Path, child_env: dict[str, str]) -> None:
    copy = tmp_path / "row_scale"
    shutil.copytree(example, copy, ignore=shutil.ignore_patterns("__pycache__"))
    check = [sys.executable, "-m", "mtcodegen", "check", "ops.yaml"]
    assert subprocess.run(check, cwd=copy, env=child_env, capture_output=True).returncode == 0
    host = copy / "op_host/row_scale_tiling.h"
    text = host.read_text()
    host.write_text(text.replace("uint32_t, rows)", "uint64_t, rows)"))
    assert subprocess.run(check, cwd=copy, env=child_env, capture_output=True).returncode == 1
    host.write_text(text.replace("uint32_t, rows)", "uint32_t, lines)"))
    done = subprocess.run(check, cwd=copy, env=child_env, capture_output=True, text=True)
    assert done.returncode != 0
    assert (
        "error[MT330]: the struct `RowScaleTilingData` at op_host/row_scale_tiling.h:7 has no field `rows`"
        in done.stderr
    )
    assert "error[MT330]: nothing is said of `lines` of the struct" in done.stderr
