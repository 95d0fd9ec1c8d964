"""`import torch` that means this runtime: in processes of their own, since it is for good."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NAMES = """
import sys, importlib.metadata, importlib.util
import mindtorch_v2
assert not mindtorch_v2.drop_in.is_installed_as_torch() and "torch" not in sys.modules
mindtorch_v2.install_as_torch()
mindtorch_v2.install_as_torch()
import torch, torch.nn.functional as F
from torch import nn
from torch.nn.modules.batchnorm import BatchNorm1d
from torch.optim.lr_scheduler import LambdaLR
from torch.distributions.normal import Normal
from torch.nn.attention import SDPBackend, sdpa_kernel
assert Normal is torch.distributions.Normal
assert torch is mindtorch_v2 and F is mindtorch_v2.nn.functional and nn.BatchNorm1d is BatchNorm1d
assert torch.nn.__spec__.name == torch.nn.__name__ == "mindtorch_v2.nn"
assert importlib.metadata.version("torch") == torch.__version__ == torch.version.__version__
assert importlib.metadata.metadata("torch")["Name"] == "torch" and importlib.metadata.version("numpy")
assert torch.__version__.endswith("+mindtorch") and torch.version.cuda is None
assert not torch.cuda.is_available()
from torch.autograd.gradcheck import GradcheckError
assert callable(torch.autograd.gradcheck) and issubclass(GradcheckError, RuntimeError)
assert torch.distributed.is_available() == (importlib.util.find_spec("mpi4py") is not None)
assert importlib.util.find_spec("torch.nn") and importlib.util.find_spec("torch.onnx") is None
for name in ("torch.onnx", "torch.nn.nothing"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert error.name == name
    else:
        raise SystemExit(name)
"""
SCRIPT = """
import sys
import beside
import torch
print(__name__, sys.argv[1:], beside.VALUE, torch.__version__, torch.ones(2).sum().item())
"""


def python(*arguments: str, env: dict[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], env=env, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_names(child_env: dict[str, str]) -> None:
    ran = python("-c", NAMES, env=child_env)
    assert not ran.returncode, ran.stderr


def test_pytorch_is_not_replaced_behind_a_program(child_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    ran = python("-c", "import torch, mindtorch_v2; mindtorch_v2.install_as_torch()", env=child_env, cwd=tmp_path)
    assert "RuntimeError: torch is imported already, from" in ran.stderr
    assert "python -m mindtorch_v2 run" in ran.stderr


@pytest.mark.parametrize("form", [("script.py",), ("-m", "script")])
def test_a_script(form: tuple[str, ...], child_env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    ran = python("-m", "mindtorch_v2", "run", *form, "--steps", "3", env=child_env, cwd=tmp_path)
    assert ran.stdout == "__main__ ['--steps', '3'] 7 2.13.0+mindtorch 2.0\n", ran.stderr


def test_what_is_no_script(child_env: dict[str, str], tmp_path: Path) -> None:
    ran = python("-m", "mindtorch_v2", "run", "none.py", env=child_env, cwd=tmp_path)
    assert ran.returncode == 2
    assert "there is no script none.py" in ran.stderr
    assert "train.py" in python("-m", "mindtorch_v2", "run", "--help", env=child_env).stdout
