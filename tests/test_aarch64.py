"""The compiled parts are for Linux on AArch64, too: they are cross-compiled, and run by an emulator.

Debian's g++-aarch64-linux-gnu compiles them, its qemu-user runs a program on the calling convention, and its Python for
AArch64, which needs not be installed, runs the whole runtime. What cannot be had is skipped, with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from mindtorch_v2.npu import elf
from tests.test_packaging import HERE, clean_env, run

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
LIBRARIES = "/usr/aarch64-linux-gnu"  # Debian's C and C++ libraries for it
SOABI = f"cpython-{HERE.replace('.', '')}-aarch64-linux-gnu"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no {COMPILER}: apt-get install g++-aarch64-linux-gnu"),
]
emulated = pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"no {EMULATOR}: apt-get install qemu-user")

# More arguments than there are registers of either class, in turns, narrow ones among them: each has to find its place.
CALL = """
#include <stdio.h>
#include <string.h>
#include "trampoline.h"
static int32_t callee(int64_t a, double b, int8_t c, float d, uint64_t e, double f, int64_t g, double h, int32_t i,
                      double j, int64_t k, double l, uint16_t m, double n, int64_t o, double p, int64_t q, double r,
                      int64_t s) {
  return a == 1 && b == 2.5 && c == -3 && d == 4.5f && e == 5 && f == 6.5 && g == 7 && h == 8.5 && i == -9 &&
         j == 10.5 && k == 11 && l == 12.5 && m == 13 && n == 14.5 && o == 15 && p == 16.5 && q == 17 && r == 18.5 &&
         s == 19;
}
int main() {
  mt_frame frame;
  memset(&frame, 0xee, sizeof frame);
  int ints = 0, floats = 0, words = 0;
  for (int i = 1; i <= 19; ++i) {
    const double number = i + 0.5;
    const float single = 4.5f;
    uint64_t bits = (uint64_t)(i == 3 || i == 9 ? -(int64_t)i : i);
    if (i % 2 == 0) {
      bits = 0;
      memcpy(&bits, i == 4 ? (const void*)&single : &number, i == 4 ? sizeof single : sizeof number);
      if (floats < MT_FLOAT_REGISTERS) memcpy(&frame.floats[floats++], &bits, sizeof bits);
      else frame.stack[words++] = bits;
    } else if (ints < MT_INT_REGISTERS) frame.ints[ints++] = bits;
    else frame.stack[words++] = bits;
  }
  puts(mt_invoke((void*)callee, &frame, floats, words) ? "as passed" : "mixed up");
}
"""
USE = """
import platform
import numpy as np
import mindtorch_v2 as torch
assert platform.machine() == "aarch64", platform.machine()
x = torch.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3)).requires_grad_()
((x @ x.t()).sum() + (x * x).exp().log().sum()).backward()
expected = 2 * x.detach().sum(0).expand(2, 3) + 2 * x.detach()
np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-4)
wide = np.array([1e-8, 0.1, 65504.0, -2049.0, np.inf, np.nan])
np.testing.assert_array_equal(torch.from_numpy(wide).half().numpy(), wide.astype(np.float16))
np.testing.assert_array_equal(torch.from_numpy(wide.astype(np.float16)).double().numpy(), wide.astype(np.float16))
on_npu = torch.arange(10.0).npu()
assert on_npu.device.type == "npu" and on_npu.cpu().tolist() == list(range(10))
print("works")
"""


def fetched(what: str, folder: Path, *commands: list[str]) -> None:
    """Runs commands in a folder that fetch something; skips, with the last one's words, where it cannot be had."""
    for command in commands:
        if shutil.which(command[0]) is None:
            pytest.skip(f"no {command[0]} to fetch {what} with")
        done = subprocess.run(command, cwd=folder, env=clean_env(), capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no {what} can be fetched: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``debian(what, *packages)``: the folder in which Debian's packages for AArch64 are unpacked, not installed."""
    folder = tmp_path_factory.mktemp("system")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    # Lists and packages of a foreign architecture, in a folder of ours: the machine's package manager stays as it is.
    settings = ("Architecture=arm64", "Architectures::=arm64")
    places = (f"State::Lists={folder}/lists", f"Cache={folder}/cache", "State::status=/dev/null")
    options = [f"-oAPT::{setting}" for setting in settings] + [f"-oDir::{place}" for place in places]
    options += ["-oAPT::Update::Post-Invoke=", "-oAPT::Update::Post-Invoke-Success="]

    def unpack(what: str, *packages: str) -> Path:
        root = tmp_path_factory.mktemp("root")
        apt = ["apt-get", *options]
        fetched(what, root, *([] if any(folder.glob("lists/*Packages*")) else [[*apt, "update"]]))
        fetched(what, root, [*apt, "download", *packages])
        for package in root.glob("*.deb"):
            run("dpkg", "-x", package, ".", cwd=root, env=clean_env())
        return root

    return unpack


@pytest.fixture(scope="module")
def built(repo_root: Path, debian: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of mindtorch_v2, with its compiled parts for AArch64, as a wheel would have it."""
    folder, prefix = repo_root / "build/aarch64", tmp_path_factory.mktemp("installed")  # only what changed is compiled
    folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-DCMAKE_TOOLCHAIN_FILE={repo_root}/cmake/aarch64-linux-gnu.cmake",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    headers = folder / "headers"
    asked = Path(f"aarch64-linux-gnu/python{HERE}/pyconfig.h")  # Debian's own asks for that of the target
    if str(asked) in Path(sysconfig.get_path("include"), "pyconfig.h").read_text():
        if not (headers / asked).exists():
            root = debian(f"{asked} of libpython{HERE}-dev", f"libpython{HERE}-dev")
            (headers / asked).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / "usr/include" / asked, headers / asked)
        options += [f"-DCMAKE_{language}_FLAGS=-isystem {headers}" for language in ("C", "CXX")]
    run("cmake", "--fresh", "-S", repo_root, "-B", folder, "-G", "Ninja", *options, cwd=folder, env=clean_env())
    run("cmake", "--build", folder, cwd=folder, env=clean_env())
    run("cmake", "--install", folder, "--prefix", prefix, cwd=folder, env=clean_env())
    return prefix / "mindtorch_v2"


@pytest.fixture(scope="module")
def python(debian: Callable[..., Path]) -> list[str]:
    """A command that runs a Python for AArch64, of this one's version, with NumPy in the folder ``site`` beside it."""
    what = f"Python {HERE} and NumPy for AArch64"
    parts = [f"python{HERE}-minimal", f"libpython{HERE}-minimal", f"libpython{HERE}-stdlib", "libc6", "libstdc++6"]
    parts += ["libgcc-s1", "zlib1g", "libexpat1", "libffi8", "libssl3", "libbz2-1.0", "liblzma5"]
    root = debian(what, *parts)
    platforms = [f"--platform={name}_aarch64" for name in ("manylinux2014", "manylinux_2_27", "manylinux_2_28")]
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", f"--python-version={HERE}"]
    fetched(what, root, [*pip, *platforms, "numpy"])
    run(sys.executable, "-m", "zipfile", "-e", *root.glob("numpy-*.whl"), "site", cwd=root, env=clean_env())
    return [EMULATOR, "-L", str(root), f"{root}/usr/bin/python{HERE}"]


def test_every_library_is_for_aarch64(built: Path, repo_root: Path) -> None:
    libraries = {str(path.relative_to(built)): path for path in built.rglob("*.so")}
    cold = {f"_core_{path.stem}.{SOABI}.so" for path in (repo_root / "runtime/core/cold").glob("*.pyx")}
    assert set(libraries) == {f"_core.{SOABI}.so", *cold, "lib/libascendcl_sim.so", "lib/libmindtorch_cpu.so"}
    machines = {str(elf.wrong_architecture(path)).partition(",")[0] for path in libraries.values()}
    assert machines == {"it is built for aarch64"}


@emulated
def test_arguments_find_their_places(repo_root: Path, tmp_path: Path) -> None:
    (tmp_path / "call.cpp").write_text(CALL)
    include = repo_root / "runtime/core"
    run(COMPILER, "-O2", f"-I{include}", "call.cpp", "-o", "call", cwd=tmp_path, env=clean_env())
    assert run(EMULATOR, "-L", LIBRARIES, tmp_path / "call", cwd=tmp_path, env=clean_env()) == "as passed\n"


@emulated
def test_the_runtime_works(built: Path, python: list[str], repo_root: Path, tmp_path: Path) -> None:
    package = tmp_path / "mindtorch_v2"
    leave_out = shutil.ignore_patterns("*.so", "lib", "include", "kernels_npu", "__pycache__")
    shutil.copytree(repo_root / "runtime/mindtorch_v2", package, ignore=leave_out)
    shutil.copytree(built, package, dirs_exist_ok=True)
    site = Path(python[2]) / "site"
    path = os.pathsep.join(map(str, (tmp_path, repo_root / "runtime", repo_root / "generated", site)))
    assert run(*python, "-c", USE, cwd=tmp_path, env={**clean_env(), "PYTHONPATH": path}) == "works\n"
