"""What is built from the sources is whole: sdist -> wheel -> fresh environment, and an editable install.

On each supported Python that this machine has, a wheel is built, tagged by auditwheel, and installed with its
dependencies; then the example is generated and trained, on the CPU and on the simulated NPU.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
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
# Each supported Python, and the oldest NumPy that we take and that has a wheel for it.
OLDEST_NUMPY = {"3.10": "1.25.0", "3.11": "1.25.0", "3.12": "1.26.0", "3.13": "2.1.0"}
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
# Kernels and simulator are the same for each Python: where there is ccache, they are compiled for the first one only.
COMPILED_ONCE = {
    "CMAKE_C_COMPILER_LAUNCHER": "ccache",
    "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
    "CCACHE_DIR": str(Path(__file__).resolve().parents[1] / "build/ccache"),
    "CCACHE_BASEDIR": "/",  # sources lie in a folder of their own each time
    "CCACHE_NOHASHDIR": "1",
}
# What passes between us and NumPy, which the example does little of; promotion is where NumPy 1 and 2 differ.
ARRAYS = """
import numpy as np, mindtorch_v2 as torch
x = torch.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3)).requires_grad_()
(x * np.float64(2) + np.int64(1)).sum().backward()
assert x.grad.dtype is torch.float32 and x.grad.tolist() == [[2.0] * 3] * 2
half = torch.tensor(np.float16([1, 2])) + np.float32(1)
assert half.dtype is torch.float16 and half.tolist() == [2.0, 3.0]
assert np.asarray(torch.ones(2, dtype=torch.int16), dtype="f8").tolist() == [1.0, 1.0]
assert torch.tensor(np.bool_(True)).dtype is torch.bool
assert torch.ones(3)[np.array([True, False, True])].tolist() == [1.0, 1.0]
assert torch.ones(4, device="npu").add(1).sum().item() == 8
print("NumPy", np.__version__)
"""


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command and returns its output; a failure shows all of it."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))} exited {done.returncode}\n{done.stdout[-8000:]}")
    return done.stdout


def clean_env() -> dict[str, str]:
    """This environment without what would let a child find the repository's own packages."""
    tools = Path(sys.executable).parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SKBUILD"))}
    kept |= COMPILED_ONCE if shutil.which("ccache") else {}
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
    run("tar", "-xf", archive, cwd=unpacked)  # tarfile's filters are not in every 3.11, and later ones ask for one
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


def test_the_wheel_holds_the_compiled_core(wheel: Path, repo_root: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    cold = [f"_core_{path.stem}" for path in (repo_root / "runtime/core/cold").glob("*.pyx")]
    needed = [
        *(f"mindtorch_v2/{name}{suffix}" for name in ("_core", *cold)),
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
    assert [name for name in names if name.endswith((".pyx", ".pxi", ".pxd", ".cpp.o"))] == []


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


def interpreter(version: str) -> Path:
    """A Python of this version; skips the test where there is none, or none that can make environments."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    beside = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    for path in [shutil.which(f"python{version}"), *beside]:
        code = f"import ensurepip, sys, venv; assert '%d.%d' % sys.version_info[:2] == '{version}'"
        if path and not subprocess.run([path, "-c", code], env=clean_env(), capture_output=True).returncode:
            return Path(path)
    pytest.skip(f"there is no Python {version} on this machine")


def made(version: str, path: Path) -> Path:
    """The Python of a new environment, with pip."""
    run(interpreter(version), "-m", "venv", path, cwd=path.parent, env=clean_env())
    return path / "bin/python"


def pip(python: Path, *arguments: str | Path) -> str:
    command = (python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments)
    return run(*command, cwd=python.parent, env=clean_env())


def wheel_for(version: str, sdist: Path, folder: Path) -> Path:
    """The wheel for a Python that is not this one, built with tools of its own from the registry."""
    python = made(version, folder / "tools")
    pip(python, "install", "scikit-build-core>=0.11", "cython>=3.0", "cmake>=3.21", "ninja>=1.11")
    env = {**clean_env(), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    options = ("--no-build-isolation", "--no-deps", "--wheel-dir", folder / "wheel")
    run(python, "-m", "pip", "wheel", *options, sdist, cwd=folder, env=env)
    (built,) = (folder / "wheel").iterdir()
    return built


def tagged(wheel: Path, out: Path) -> Path:
    """The wheel under the tag of the oldest Linux that it runs on."""
    command = (sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", out, wheel)
    run(*command, cwd=out.parent, env=clean_env())
    (repaired,) = out.iterdir()
    return repaired


@pytest.mark.parametrize("version", OLDEST_NUMPY)
def test_the_wheel_of_each_python(
    version: str, repo_root: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    interpreter(version)
    here = version == HERE
    built = request.getfixturevalue("wheel") if here else wheel_for(version, request.getfixturevalue("sdist"), tmp_path)
    wheel = tagged(built, tmp_path / "tagged")
    cp = f"cp{version.replace('.', '')}"
    assert re.fullmatch(rf"mtcodegen-[\d.]+-{cp}-{cp}-manylinux_2_\d+_{platform.machine()}\.whl", wheel.name)
    python = made(version, tmp_path / "env")
    pip(python, "install", f"mtcodegen[demo] @ {wheel.as_uri()}")
    example = tmp_path / "example"
    shutil.copytree(
        repo_root / "examples/scaled_add", example, ignore=shutil.ignore_patterns("generated", "__pycache__")
    )
    run(python.parent / "mtcodegen", "ops.yaml", cwd=example, env=clean_env())
    trained = run(python, "-W", "error", "train.py", cwd=example, env=clean_env())
    assert "cpu, npu and NumPy agree" in trained
    newest = run(python, "-W", "error", "-c", ARRAYS, cwd=tmp_path, env=clean_env())
    assert newest.startswith("NumPy 2.")
    pip(python, "install", "--force-reinstall", f"numpy=={OLDEST_NUMPY[version]}")
    oldest = run(python, "-W", "error", "-c", ARRAYS, cwd=tmp_path, env=clean_env())
    assert oldest == f"NumPy {OLDEST_NUMPY[version]}\n"


def test_what_is_supported_is_what_is_tested(repo_root: Path) -> None:
    text = (repo_root / "pyproject.toml").read_text()
    listed = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    assert listed == list(OLDEST_NUMPY)
    first, last = (tuple(map(int, version.split("."))) for version in (listed[0], listed[-1]))
    assert f'requires-python = ">=3.{first[1]},<3.{last[1] + 1}"' in text
    assert f'"numpy>={min(OLDEST_NUMPY.values()).removesuffix(".0")},<3"' in text


def test_mindspore_comes_with_the_numpy_that_it_was_compiled_against(repo_root: Path) -> None:
    text = (repo_root / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
    extras = dict(re.findall(r"^(\w+) = \[(.*?)\]", text, re.MULTILINE | re.DOTALL))
    asking = {name for name, wanted in extras.items() if '"mindspore==' in wanted}
    assert asking == {"mindspore", "test"}
    assert asking == {name for name, wanted in extras.items() if '"numpy<2' in wanted}


@pytest.mark.skipif(sys.version_info < (3, 13), reason="MindSpore has wheels for this Python")
def test_mindspore_is_refused_where_it_has_no_wheel(wheel: Path, tmp_path: Path) -> None:
    python = made(HERE, tmp_path / "env")
    install = [python, "-m", "pip", "install", "--no-input", f"mtcodegen[mindspore] @ {wheel.as_uri()}"]
    done = subprocess.run(install, env=clean_env(), capture_output=True, text=True)
    assert done.returncode
    assert "mindspore==2.10.0" in done.stderr
