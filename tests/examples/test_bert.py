"""The example's BERT: PyTorch's losses, a run that is killed and goes on, and the operator on both devices."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2 as torch
from examples.bert.generated.ops import bias_gelu

STEPS = "8"


def command(repo_root: Path, *options: str) -> list[str]:
    return [sys.executable, "-W", "ignore", str(repo_root / "examples/bert/train.py"), "--steps", STEPS, *options]


def losses(repo_root: Path, env: dict[str, str], told: Path, *options: str) -> list[float]:
    ran = subprocess.run(
        command(repo_root, "--losses", str(told), *options), env=env, capture_output=True, text=True, timeout=300
    )
    assert not ran.returncode, ran.stderr
    assert "of the hidden tokens right" in ran.stdout
    found: list[float] = json.loads(told.read_text())["losses"]
    return found


def test_losses_are_those_of_pytorch_and_of_a_run_without_a_break(
    repo_root: Path, child_env: dict[str, str], tmp_path: Path
) -> None:
    whole = losses(repo_root, child_env, tmp_path / "whole.json")
    assert len(whole) == int(STEPS)
    assert losses(repo_root, child_env, tmp_path / "torch.json", "--torch") == pytest.approx(whole, rel=1e-5)
    assert losses(repo_root, child_env, tmp_path / "fused.json", "--fused") == pytest.approx(whole, rel=1e-5)

    saved = tmp_path / "bert.pt"
    run = subprocess.Popen(
        command(repo_root, "--checkpoint", str(saved), "--every", "2"), env=child_env, stdout=subprocess.DEVNULL
    )
    while not saved.exists() and run.poll() is None:
        time.sleep(0.01)
    run.kill()
    run.wait(60)
    assert len(torch.load(saved)["losses"]) in (2, 4, 6, 8)
    on = losses(repo_root, child_env, tmp_path / "on.json", "--checkpoint", str(saved), "--resume")
    assert on == whole


def test_on_the_npu(repo_root: Path, child_env: dict[str, str], tmp_path: Path) -> None:
    found = losses(repo_root, child_env, tmp_path / "npu.json", "--device", "npu", "--fused", "--steps", "2")
    assert len(found) == 2
    assert found[1] == pytest.approx(found[0], abs=0.5)


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 300), (1, 7), (5, 257), (0, 4)], ids=str)
def test_the_operator(shape: tuple[int, ...], device: str) -> None:
    torch.manual_seed(0)
    given = torch.randn(shape) * 4, torch.randn(shape[-1:]), torch.randn(shape)

    def run(activation: Any, device: str) -> list[Any]:
        x, bias, grad = (part.clone().to(device) for part in given)
        x.requires_grad_()
        bias.requires_grad_()
        out = activation(x, bias)
        out.backward(grad)
        return [part.detach().cpu() for part in (out, x.grad, bias.grad)]

    expected = run(lambda x, bias: torch.nn.functional.gelu(x + bias, approximate="tanh"), "cpu")
    for mine, wanted in zip(run(bias_gelu, device), expected, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=2e-5, atol=2e-5)
    with pytest.raises(RuntimeError, match=r"expected bias\.shape to equal"):
        bias_gelu(torch.ones(2, 3), torch.zeros(4))
