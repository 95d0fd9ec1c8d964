"""What is built from the sources is whole: sdist -> wheel -> fresh environment, and an editable install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# What a fresh environment must be able to do, away from the sources. It prints where the compiled core came from.
USE = """
import mindtorch_v2 as torch, mindtorch_v2._core as core, mindtorch_ops, mtcodegen, opschema, pathlib
assert (torch.ones(2) + torch.ones(2)).tolist() == [2.0, 2.0]
beside = pathlib.Path(core.__file__).parent
for name in ("lib/libmindtorch_cpu.so", "lib/libascendcl_sim.so", "include/mindtorch_kernel.h", "include/sim"):
    assert (beside / name).exists(), name
print(core.__file__)
"""
OPS = """\
namespace: packaged
ops:
- func: twice(Tensor x) -> Tensor
  fake: {like: x}
  kernels:
  - device: [cpu, npu]
    compute: x + x
  backward:
    x: grad * 2
"""


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command and returns its output; a failure shows all of it."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))} exited {done.returncode}\n{done.stdout[-8000:]}")
    return done.stdout


def clean_env() -> dict[str, str]:
    """This environment without what would let a child find the repository's own packages."""
    tools = Path(sys.executable).parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SKBUILD"))}
    return {**kept, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CMAKE_BUILD_PARALLEL_LEVEL": "2"}


def build(kind: str, source: Path, out: Path) -> Path:
    """Builds a wheel or an sdist with the tools installed here, and returns its path."""
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "-o", out, source, cwd=out, env=clean_env())
    (built,) = out.iterdir()
    return built


def fresh_environment(path: Path, wheel: Path) -> Path:
    """An environment with the wheel in it and this one's other packages in reach; returns its Python."""
    venv.create(path, with_pip=False, symlinks=True)
    python = path / "bin/python"
    install = ("install", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=path, env=clean_env())
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=path, env=clean_env())
    # The dependencies are the ones installed here: a line in a .pth file, as nothing may be downloaded.
    (Path(site.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def sdist(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked. It is made from a copy: a build must leave the repository as it was."""
    copy = tmp_path_factory.mktemp("copy")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=repo_root)
    for name in listed.splitlines():
        if (repo_root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repo_root / name, copy / name)
    archive = build("sdist", copy, tmp_path_factory.mktemp("sdist"))
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as file:
        file.extractall(unpacked, filter="data")
    (folder,) = unpacked.iterdir()
    return folder


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution alone."""
    return build("wheel", sdist, tmp_path_factory.mktemp("wheel"))


def check_use(python: Path, cwd: Path) -> Path:
    """Imports the packages, runs an operator and the generator; returns where the core was loaded from."""
    assert "usage: mtcodegen" in run(python.parent / "mtcodegen", "--help", cwd=cwd, env=clean_env())
    (cwd / "packaged.yaml").write_text(OPS)
    run(python.parent / "mtcodegen", "packaged.yaml", cwd=cwd, env=clean_env())
    assert "def twice(op, x)" in (cwd / "generated/packaged.py").read_text()
    return Path(run(python, "-c", USE, cwd=cwd, env=clean_env()).splitlines()[-1])


def test_the_wheel_holds_the_compiled_core(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    needed = [
        f"mindtorch_v2/_core{suffix}",
        "mindtorch_v2/__init__.py",
        "mindtorch_v2/include/mindtorch_kernel.h",
        "mindtorch_v2/include/sim/ascendc/kernel_operator.h",
        "mindtorch_v2/lib/libascendcl_sim.so",
        "mindtorch_v2/lib/libmindtorch_cpu.so",
        "mindtorch_ops/__init__.py",
        "mtcodegen/ops_yaml/ops.schema.json",
        "opschema/__init__.py",
    ]
    assert [name for name in needed if name not in names] == []
    assert any(name.startswith("mtcodegen/templates/") for name in names)
    assert [name for name in names if name.endswith((".pyx", ".pxi", ".cpp.o"))] == []


def test_the_wheel_works_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "env", wheel)
    core = check_use(python, tmp_path)
    assert core.is_relative_to(tmp_path / "env")


@pytest.mark.usefixtures("wheel")  # whose compiled files it takes over
def test_an_editable_install_works(sdist: Path, tmp_path: Path) -> None:
    # What `pip install --editable` asks of the build backend, and then installs.
    hook = "import sys; from scikit_build_core.build import build_editable; build_editable(sys.argv[1])"
    run(sys.executable, "-c", hook, tmp_path, cwd=sdist, env=clean_env())
    python = fresh_environment(tmp_path / "env", next(tmp_path.glob("*.whl")))
    core = check_use(python, tmp_path)
    assert core.is_relative_to(tmp_path / "env")
    where = run(python, "-c", "import mindtorch_v2; print(mindtorch_v2.__file__)", cwd=tmp_path, env=clean_env())
    assert Path(where.splitlines()[-1]) == sdist / "runtime/mindtorch_v2/__init__.py"


@pytest.mark.parametrize("broken", ["removed", "not valid"])
def test_no_wheel_without_its_core(broken: str, sdist: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(sdist, source, ignore=shutil.ignore_patterns("build", "sim", "cpu"))
    core = source / "runtime/core/_core.pyx"
    if broken == "removed":
        core.unlink()
    else:
        core.write_text("cdef int f(:\n")
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o", str(out), str(source)]
    done = subprocess.run(command, env=clean_env(), capture_output=True, text=True)
    assert done.returncode != 0
    assert "_core.pyx" in done.stdout + done.stderr
    assert list(out.iterdir()) == []
