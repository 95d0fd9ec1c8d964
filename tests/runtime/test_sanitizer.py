"""Core, engine and CPU kernels under AddressSanitizer and UndefinedBehaviorSanitizer, with the garbage collector off.

The sanitized build lives in ``build/sanitized`` and is made again only where a source changed. In it every tensor's
memory comes from malloc and goes back to it. A child process loads it in place of the core, lets `torch` be our own
library, and runs the runtime's tests over it: whatever is wrong with an address, or leaks, ends it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_v2 import _core

TESTS = (
    "test_autograd.py", "test_autograd_hooks.py", "test_function.py", "test_library.py", "test_library_custom_op.py",
    "test_launch.py", "test_memory.py", "test_modes.py", "test_opcheck.py", "test_protocols.py", "test_rules.py",
    "test_torch_semantics.py", "test_torch_semantics_function.py",
)  # fmt: skip
# Without a test that asks PyTorch for something that ours does not have.
OPTIONS = (
    "-q",
    "--capture=sys",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:hypothesispytest",
    "-k",
    "not bfloat16_bits_agree",
)
TIME_LIMIT = 900.0

pytestmark = pytest.mark.skipif(
    shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}") is None
    or shutil.which("gcc") is None,
    reason="needs cmake and gcc to build the sanitized core",
)


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIME_LIMIT, check=False
    )


@pytest.fixture(scope="module")
def sanitized(repo_root: Path) -> Path:
    """The folder of the sanitized core, with the other libraries beside it."""
    build = repo_root / "build/sanitized"
    stage = build / "stage/runtime/mindtorch_v2"
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
    for command in (
        ["cmake", "-S", str(repo_root), "-B", str(build), "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
         "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DMINDTORCH_SANITIZE=address,undefined", "--log-level=WARNING"],
        ["cmake", "--build", str(build), "--parallel", "2", "--target", "_core", "mindtorch_cpu"],
    ):  # fmt: skip
        built = run(command, env)
        assert built.returncode == 0, built.stdout[-4000:]
    shutil.rmtree(build / "stage", ignore_errors=True)
    (stage / "lib").mkdir(parents=True)
    for folder in ("kernels", "sim"):  # headers lie as they do in a source tree
        (stage.parent / folder).symlink_to(repo_root / "runtime" / folder)
    installed = Path(_core.__file__)
    shutil.copy2(build / installed.name, stage)  # the runtime looks for its libraries beside the core
    shutil.copy2(build / "libmindtorch_cpu.so", stage / "lib")
    shutil.copy2(installed.parent / "lib/libascendcl_sim.so", stage / "lib")
    return stage


# Loads the sanitized core under its own name, and stands in for PyTorch with ourselves. The interpreter's collector
# stays off whatever a test does. The leak check comes before the interpreter shuts down, which leaves much behind.
BOOTSTRAP = """
import ctypes, gc, importlib.util, sys
gc.disable()
gc.enable = lambda: None
class Sanitized:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, {core!r}) if name == "mindtorch_v2._core" else None
sys.meta_path.insert(0, Sanitized)
import mindtorch_v2
assert mindtorch_v2._core.__file__ == {core!r}
sys.modules["torch"] = mindtorch_v2
sys.path.insert(0, {root!r})
def leaks():
    return ctypes.CDLL(None).__lsan_do_recoverable_leak_check()
"""


def child(stage: Path, root: Path, code: str) -> subprocess.CompletedProcess[str]:
    core = str(stage / Path(_core.__file__).name)
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    env = {
        **os.environ,
        "LD_PRELOAD": library.stdout.strip(),
        "PYTHONMALLOC": "malloc",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ASAN_OPTIONS": "detect_leaks=1:leak_check_at_exit=0:use_sigaltstack=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    return run([sys.executable, "-c", BOOTSTRAP.format(core=core, root=str(root)) + code], env)


def test_the_runtimes_tests_run_clean(sanitized: Path, repo_root: Path) -> None:
    paths = [str(repo_root / "tests/runtime" / name) for name in TESTS]
    code = f"""
import pytest, threading
def main():  # in a thread: what the interpreter keeps for a frame that is running lies where no leak check looks
    global status
    status = pytest.main([*{OPTIONS!r}, *{paths!r}])
thread = threading.Thread(target=main)
thread.start()
thread.join()
assert status == 0, status
assert leaks() == 0
"""
    result = child(sanitized, repo_root, code)
    assert result.returncode == 0, result.stdout[-8000:]


USE_AFTER_FREE = """
x = mindtorch_v2.ones(64)
address = x.data_ptr()
del x
ctypes.string_at(address, 16)
"""
LEAK = """
x = mindtorch_v2.ones(64)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(x.untyped_storage()))
del x
assert leaks() == 0
"""


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        pytest.param(USE_AFTER_FREE, "heap-use-after-free", id="use after free"),
        pytest.param(LEAK, "detected memory leaks", id="leak"),
    ],
)
def test_the_sanitizer_sees(sanitized: Path, repo_root: Path, code: str, finding: str) -> None:
    """A build whose sanitizer was left out, or whose memory came from a pool, would pass everything."""
    result = child(sanitized, repo_root, code)
    assert result.returncode != 0
    assert finding in result.stdout
