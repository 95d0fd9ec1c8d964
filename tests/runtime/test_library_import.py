"""What importing the package loads, and what it says where operators are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def python(code: str, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh interpreter."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_import_loads_no_framework(child_env: dict[str, str]) -> None:
    code = """
import sys, mindtorch_v2
print(sorted({name.partition(".")[0] for name in sys.modules} & {"mindspore", "torch", "numpy", "mtcodegen", "jinja2"}))
"""
    done = python(code, child_env)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_import_leaves_what_few_programs_need(child_env: dict[str, str]) -> None:
    """Compilers, their processes and caches, and what only errors need, are imported when they are used."""
    code = """
import sys, mindtorch_v2
print([name for name in ("subprocess", "hashlib", "shutil", "tempfile", "platform", "difflib") if name in sys.modules])
print([name for name in sys.modules if name.startswith("mindtorch_v2.npu.") and "build" in name])
"""
    done = python(code, child_env)
    assert (done.stdout, done.stderr) == ("[]\n['mindtorch_v2.npu.build_errors']\n", "")


def test_import_runs_hardly_any_definition(child_env: dict[str, str]) -> None:
    """What an operator does is asked of its definition when it is called or looked at, as `autograd._detach` does."""
    code = """
import sys
ran = set()
def note(frame, event, arg):
    if event == "call" and "mindtorch_ops" in frame.f_code.co_filename and frame.f_code.co_varnames[:1] == ("op",):
        ran.add(frame.f_code.co_name)
sys.setprofile(note)
import mindtorch_v2 as torch
print(sorted(ran))
torch.relu(torch.ones(2))
sys.setprofile(None)
print("relu" in str(ran))
packets = [getattr(torch.ops.aten, name) for name in dir(torch.ops.aten)]
print(sum(len(packet.overloads()) for packet in packets if hasattr(packet, "overloads")) > 300)
"""
    done = python(code, child_env)
    assert (done.stdout, done.stderr) == ("['detach', 'detach_', 'record_stream']\nTrue\nTrue\n", "")


def test_submodules_are_there_when_asked_for(child_env: dict[str, str]) -> None:
    code = "import mindtorch_v2 as torch; print(torch.npu.__name__, torch.nn.__name__, torch.optim.__name__)"
    done = python(code, child_env)
    assert done.stdout == "mindtorch_v2.npu mindtorch_v2.nn mindtorch_v2.optim\n", done.stderr


def test_the_operators_may_be_imported_first(child_env: dict[str, str]) -> None:
    code = """
from mindtorch_ops import linalg
import mindtorch_v2 as torch
x = torch.ones(2, requires_grad=True) * 1
print((y := x.detach()).requires_grad, y.data_ptr() == x.data_ptr(), linalg.dot(x, x).item(), x.detach_() is x)
"""
    done = python(code, child_env)
    assert (done.stdout, done.stderr) == ("False True 2.0 True\n", "")


def test_a_name_that_does_not_exist(child_env: dict[str, str]) -> None:
    done = python("import mindtorch_v2; mindtorch_v2.nothing", child_env)
    assert "AttributeError: module 'mindtorch_v2' (PyTorch's API) has no attribute 'nothing'" in done.stderr


def test_missing_operators_are_a_clear_error(child_env: dict[str, str], repo_root: Path) -> None:
    """A finder that knows everything but mindtorch_ops stands for a half-installed package."""
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "mindtorch_ops":
            raise ModuleNotFoundError("No module named 'mindtorch_ops'", name=name)
sys.meta_path.insert(0, Hidden())
import mindtorch_v2
"""
    done = python(code, child_env)
    assert "ImportError: mindtorch_v2 has no operators: the package mindtorch_ops is not installed" in done.stderr
    assert "mtcodegen ops_yaml" in done.stderr
