"""A device from outside, the one of the example: it runs everything, and the page about it says what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PARTS = ("minimal", "methods", "fallback", "defaults", "stubs", "training", "operators", "tables")


@pytest.mark.parametrize("part", PARTS)
def test_on_the_device(part: str, repo_root: Path, child_env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.examples.on_new_device", part]
    done = subprocess.run(command, cwd=repo_root, env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done\n")


def test_it_is_short(repo_root: Path) -> None:
    assert len((repo_root / "examples/new_device/slate.py").read_text().splitlines()) < 200


def test_the_page_says_what_happens(repo_root: Path, child_env: dict[str, str]) -> None:
    blocks = BLOCK.findall((repo_root / "docs/new_device.md").read_text())
    code = "\n".join(text for language, text in blocks if language == "python")
    expected = "".join(text for language, text in blocks if language == "text")
    folder = repo_root / "examples/new_device"
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=folder, env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_the_readme_runs(repo_root: Path, child_env: dict[str, str]) -> None:
    (command,) = re.findall(r"```sh\n(.*?)```", (repo_root / "examples/new_device/README.md").read_text(), re.DOTALL)
    python = command.replace("python ", f"{sys.executable} ")
    done = subprocess.run(["bash", "-c", python], cwd=repo_root, env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "None tensor([[2., 2., 2.]], device='slate:0')\n"


def test_privateuse1_is_not_taken_from_an_npu_in_use(child_env: dict[str, str]) -> None:
    code = (
        "import mindtorch_v2 as torch\n"
        "torch.ones(1, device='npu')\n"
        "try:\n    torch.utils.rename_privateuse1_backend('slate')\n"
        "except RuntimeError as error:\n    print(error)\n"
        "torch.utils.rename_privateuse1_backend('npu')\n"
        "print(torch._C._get_privateuse1_backend_name())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "it stands for the NPU, which is in use" in done.stdout
    assert done.stdout.endswith("\nnpu\n")


def test_kernels_may_come_before_the_name(child_env: dict[str, str]) -> None:
    """As in PyTorch, where the key is nobody's before: the NPU, whose it is here, does not get them."""
    code = """
import mindtorch_v2 as torch
from mindtorch_v2.backends import cpu_fallback
from mindtorch_v2.library import Library
aten, every, slabs = Library("aten", "IMPL", "PrivateUse1"), Library("_", "IMPL"), Library("slabs", "DEF")
gone = Library("aten", "IMPL", "PrivateUse1")
gone.impl("cosh", len)
aten.impl("tan", lambda x: seen.append("tan") or x)
aten.impl("tan", lambda x: seen.append("newer") or x)
recorded = Library("aten", "IMPL", "AutogradPrivateUse1")
recorded.impl("sin", lambda x: seen.append("recorded") or x)
every.fallback(cpu_fallback, "PrivateUse1")
slabs.define("same(Tensor x) -> Tensor")
slabs.impl("same", lambda x: x.clone(), "PrivateUse1")
gone._destroy()
has, seen = torch._C._dispatch_has_kernel_for_dispatch_key, []
for renamed in (False, True):
    of = [(has(name, "NPU"), has(name, "PrivateUse1")) for name in ("aten::tan", "slabs::same", "aten::cosh")]
    of.append((has("aten::sin", "AutogradNPU"), has("aten::sin", "AutogradPrivateUse1")))
    assert of == [(not renamed, True)] * 2 + [(False, False), (not renamed, True)], of
    if not renamed:
        torch.utils.rename_privateuse1_backend("slab")
assert torch._C._dispatch_has_computed_kernel_for_dispatch_key("aten::cos", "PrivateUse1")
assert torch.ones(2, device="npu").tan().sin().tolist()[0] != 1 and seen == []
aten._destroy()
every._destroy()
assert not has("aten::tan", "PrivateUse1")
assert not torch._C._dispatch_has_computed_kernel_for_dispatch_key("aten::cos", "PrivateUse1")
"""
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["cuda", "cpu", "privateuseone", "a b", ""])
def test_names_that_a_device_cannot_have(name: str, child_env: dict[str, str]) -> None:
    code = f"import mindtorch_v2 as torch\ntorch.utils.rename_privateuse1_backend({name!r})"
    done = subprocess.run([sys.executable, "-c", code], env=child_env, capture_output=True, text=True)
    assert "RuntimeError: " in done.stderr
    assert "Cannot register" in done.stderr or "no name for a device type" in done.stderr
