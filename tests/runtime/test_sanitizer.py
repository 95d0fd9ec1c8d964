"""Core, engine and CPU kernels under AddressSanitizer and UndefinedBehaviorSanitizer, with the garbage collector off.

The sanitized build is made by ``benchmarks.sanitized``. A child process loads it in place of the core, lets `torch` be
our own library, and runs the runtime's tests over it: whatever is wrong with an address, or leaks, ends it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import sanitized as build_of
from benchmarks.sanitized import ADDRESS, environment, loader, missing_tool

TESTS = (
    "test_autograd.py", "test_autograd_hooks.py", "test_function.py", "test_library.py", "test_library_custom_op.py",
    "test_launch.py", "test_memory.py", "test_modes.py", "test_opcheck.py", "test_protocols.py", "test_rules.py",
    "test_torch_semantics.py", "test_torch_semantics_function.py", "test_leaf_nodes.py",
    "test_usual_calls.py", "test_usual_indexing.py", "../ops/test_few_elements.py", "../ops/test_alignments.py",
    "../ops/test_bags.py", "../ops/test_division.py", "../definitions/test_language.py",
    "../definitions/test_operators.py",
)  # fmt: skip
# Without a test that asks PyTorch for something that ours does not have, and one of memory that is kept: here none is.
OPTIONS = (
    "-q",
    "--capture=sys",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:hypothesispytest",
    "-k",
    "not bfloat16_bits_agree and not memory_that_is_kept",
)
TIME_LIMIT = 900.0

pytestmark = pytest.mark.skipif(missing_tool() is not None, reason="needs cmake, ninja and gcc")


@pytest.fixture(scope="module")
def sanitized(repo_root: Path) -> Path:
    """The folder of the sanitized core, with the other libraries beside it."""
    return build_of.build(repo_root)


# Stands in for PyTorch with ourselves. The interpreter's collector stays off whatever a test does. The leak check comes
# before the interpreter shuts down, which leaves much behind.
BOOTSTRAP = """
import ctypes, gc, sys
gc.disable()
gc.enable = lambda: None
{loader}
sys.modules["torch"] = mindtorch_v2
sys.path.insert(0, {root!r})
def leaks():
    return ctypes.CDLL(None).__lsan_do_recoverable_leak_check()
"""


def child(stage: Path, root: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BOOTSTRAP.format(loader=loader(stage), root=str(root)) + code],
        env=environment(ADDRESS, "detect_leaks=1:leak_check_at_exit=0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )


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


WRAPPING = """
x = mindtorch_v2.tensor([2**63 - 1, 2**62 + 1, -(2**63), 2**33 + 3, 5, -(2**62)])
rows = x.reshape(2, 3)
x.sum(), x.prod(), rows.sum(0), rows.sum(1), mindtorch_v2.addcmul(x, x, x, value=3)
mindtorch_v2.mm(rows, x.reshape(3, 2)), mindtorch_v2.mm(rows, rows.t()), mindtorch_v2.mm(rows.t(), rows)
mindtorch_v2.addmm(x[:2], rows, x.reshape(3, 2), beta=3, alpha=7), x + x, x * x, -x, x.abs(), x**3, x.square()
assert x.sum().item() == 2**33 + 8
"""


def test_integers_wrap_around(sanitized: Path, repo_root: Path) -> None:
    result = child(sanitized, repo_root, WRAPPING)
    assert result.returncode == 0, result.stdout[-4000:]


EMPTY = """
base = mindtorch_v2.ones(6)
for part in (base[:0], base[:1].expand(0), base.reshape(2, 3)[:, 3:]):
    part.clone(), part.contiguous(), mindtorch_v2.cat([part, part], -1), part.double(), part.tolist()
    mindtorch_v2.stack([part, part]), part + part, part.copy_(part), part.fill_(1), part.numpy(), part.sum()
    w = part.detach().requires_grad_()
    w.clone().backward(part)
    (w * 2).backward(part, inputs=[w])
    assert w.grad.shape == part.shape
"""


def test_what_is_empty_over_memory_that_is_not(sanitized: Path, repo_root: Path) -> None:
    """Its own memory has no address, which no function may be given for a run of 0 bytes either."""
    result = child(sanitized, repo_root, EMPTY)
    assert result.returncode == 0, result.stdout[-4000:]
