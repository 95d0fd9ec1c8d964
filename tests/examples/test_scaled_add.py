"""The example does what its README says, and its operators agree with NumPy and with PyTorch's formula."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch

DEVICES = ("cpu", "npu")
# One element, a partial 32-byte block, a full tile of the NPU kernel, and more tiles than blocks.
SIZES = (1, 13, 2048, 40 * 2048 + 5)


@pytest.fixture(scope="module")
def example(repo_root: Path) -> Path:
    return repo_root / "examples/scaled_add"


@pytest.fixture(scope="module")
def scaled_add(example: Path) -> Callable[..., torch.Tensor]:
    """The generated operator, imported as the example's own script does."""
    sys.path.insert(0, str(example))
    try:
        from generated.ops import scaled_add as operator
    finally:
        sys.path.remove(str(example))
    return operator


def test_training_agrees_on_both_devices_and_with_numpy(example: Path, child_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=example, env={**child_env, "COLUMNS": "120"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cpu, npu and NumPy agree within" in done.stdout
    losses = {
        name: (float(first), float(last))
        for name, first, last in re.findall(r"^ *(\w+): loss (\S+) -> (\S+) in", done.stdout, re.MULTILINE)
    }
    assert set(losses) == {"cpu", "npu", "numpy"}
    for first, last in losses.values():
        assert last < first / 5


def test_generated_output_is_what_the_yaml_says(example: Path, tmp_path: Path, child_env: dict[str, str]) -> None:
    copy = tmp_path / "scaled_add"
    shutil.copytree(example, copy, ignore=shutil.ignore_patterns("__pycache__"))
    check = [sys.executable, "-m", "mtcodegen", "check", "ops.yaml"]
    assert subprocess.run(check, cwd=copy, env=child_env).returncode == 0
    text = (copy / "ops.yaml").read_text()
    (copy / "ops.yaml").write_text(text.replace("2048", "2049"))
    assert subprocess.run(check, cwd=copy, env=child_env, capture_output=True).returncode == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("device", DEVICES)
def test_forward_and_gradients(device: str, size: int, scaled_add: Callable[..., torch.Tensor]) -> None:
    rng = np.random.default_rng(size)
    x, y, grad = (rng.standard_normal(size, dtype=np.float32) for _ in range(3))
    a, b = (torch.from_numpy(array.copy()).to(device).requires_grad_() for array in (x, y))
    out = scaled_add(a, b, scale=2.5)
    out.backward(torch.from_numpy(grad).to(device))
    # A multiplication may be fused with the addition: one rounding less.
    np.testing.assert_allclose(out.detach().cpu().numpy(), x + np.float32(2.5) * y, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(a.grad.cpu().numpy(), grad)
    np.testing.assert_array_equal(b.grad.cpu().numpy(), np.float32(2.5) * grad)


@pytest.mark.parametrize("device", DEVICES)
def test_the_gradient_has_a_gradient(device: str, scaled_add: Callable[..., torch.Tensor]) -> None:
    y = torch.ones(4, device=device, requires_grad=True)
    weight = torch.full((4,), 3.0, device=device, requires_grad=True)
    (grad,) = torch.autograd.grad(scaled_add(y, y, scale=2.0), y, weight, create_graph=True)
    grad.sum().backward()
    assert grad.detach().cpu().tolist() == [9.0] * 4
    assert weight.grad.cpu().tolist() == [3.0] * 4


@pytest.mark.parametrize("device", DEVICES)
def test_other_strides_and_no_elements(device: str, scaled_add: Callable[..., torch.Tensor]) -> None:
    x = torch.arange(6.0, device=device).reshape(2, 3).t()
    assert scaled_add(x, x, scale=1.0).cpu().tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    empty = torch.empty(0, 3, device=device)
    assert scaled_add(empty, empty).shape == (0, 3)


@pytest.mark.parametrize("device", DEVICES)
def test_the_precondition_names_operator_and_values(device: str, scaled_add: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(RuntimeError, match=r"fused::scaled_add: expected x and y to have the same shape, got x\.shape"):
        scaled_add(torch.ones(2, device=device), torch.ones(3, device=device))
