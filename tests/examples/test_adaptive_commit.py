"""The example runs, shows where commits fall, and all its manners give the same bits; its operator is PyTorch's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mindtorch_v2 as torch

DEVICES = ("cpu", "npu")
SIZES = (1, 13, 2048, 8 * 2048 + 5)
ODD = (0.5, -0.5, 0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 3e38)


@pytest.fixture(scope="module")
def example(repo_root: Path) -> Path:
    return repo_root / "examples/adaptive_commit"


@pytest.fixture(scope="module")
def ops(example: Path) -> ModuleType:
    """The generated module, under a name of its own: examples call theirs alike."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("adaptive_commit_ops", example / "generated/ops.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_manners_agree(example: Path, child_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=example, env={**child_env, "COLUMNS": "140"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all manners agree to the last bit" in done.stdout
    encoded = "e " * 18
    assert f"{encoded}[commit] [wait] e [commit] [wait]" in done.stdout
    counts = dict(re.findall(r"^ *(lookahead of one|plan): .* (\d+ commits and \d+ waits)", done.stdout, re.MULTILINE))
    assert counts == {"lookahead of one": "2 commits and 2 waits", "plan": "2 commits and 2 waits"}


def test_generated_output_is_what_the_yaml_says(example: Path, tmp_path: Path, child_env: dict[str, str]) -> None:
    copy = tmp_path / "adaptive_commit"
    shutil.copytree(example, copy, ignore=shutil.ignore_patterns("__pycache__"))
    check = [sys.executable, "-m", "mtcodegen", "check", "ops.yaml"]
    assert subprocess.run(check, cwd=copy, env=child_env).returncode == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("device", DEVICES)
def test_forward_and_gradients(device: str, size: int, ops: ModuleType) -> None:
    rng = np.random.default_rng(size)
    x, grad = (rng.standard_normal(size, dtype=np.float32) for _ in range(2))
    a = torch.from_numpy(x.copy()).to(device).requires_grad_()
    out = ops.softshrink(a, lambd=0.25)
    out.backward(torch.from_numpy(grad).to(device))
    bound = np.float32(0.25)
    np.testing.assert_array_equal(out.detach().cpu().numpy(), x - np.clip(x, -bound, bound))
    np.testing.assert_array_equal(a.grad.cpu().numpy(), np.where(np.abs(x) > bound, grad, np.float32(0)))


@pytest.mark.parametrize("device", DEVICES)
def test_odd_values_as_in_pytorch(device: str, ops: ModuleType) -> None:
    pytorch = pytest.importorskip("torch")
    x = pytorch.tensor(ODD, requires_grad=True)
    expected = pytorch.nn.functional.softshrink(x, 0.5)
    expected.backward(pytorch.ones(len(ODD)))
    a = torch.tensor(ODD).to(device).requires_grad_()
    out = ops.softshrink(a)
    out.backward(torch.ones(len(ODD)).to(device))
    np.testing.assert_array_equal(out.detach().cpu().numpy(), expected.detach().numpy())
    finite = ~np.isnan(np.array(ODD))  # of a NaN PyTorch's gradient is that of what stays
    np.testing.assert_array_equal(a.grad.cpu().numpy()[finite], x.grad.numpy()[finite])


@pytest.mark.parametrize("device", DEVICES)
def test_a_bound_below_zero_is_refused(device: str, ops: ModuleType) -> None:
    with pytest.raises(RuntimeError, match=r"scheduled::softshrink: expected lambd to be at least 0"):
        ops.softshrink(torch.ones(2, device=device), lambd=-1.0)
