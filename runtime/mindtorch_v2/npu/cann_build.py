"""Compile AscendC sources with CANN, through the CMake function it documents for kernel libraries.

CANN is not available where this project is developed: this module follows its documentation and has not been run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import build_cache
from .build_errors import BuildError

_CMAKE_MODULES = (
    "tools/tikcpp/ascendc_kernel_cmake",
    "compiler/tikcpp/ascendc_kernel_cmake",
    "ascendc_devkit/tikcpp/samples/cmake",
)
_DEFAULT_SOC = "Ascend910B1"


def toolkit() -> Path:
    """The CANN toolkit's folder. Raises ``BuildError`` where the environment names none."""
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        home = os.environ.get(variable)
        if home and any((Path(home) / module).is_dir() for module in _CMAKE_MODULES):
            return Path(home)
    raise BuildError(
        "building AscendC kernels for the NPU needs the CANN toolkit, and neither ASCEND_HOME_PATH nor "
        "ASCEND_TOOLKIT_HOME names one that has its CMake modules; source CANN's set_env.sh"
    )


def build(
    home: Path, name: str, sources: Sequence[Path], include_dirs: Sequence[str | Path], flags: Sequence[str]
) -> Path:
    """Builds ``lib<name>.so`` for the chip that ``MINDTORCH_SOC_VERSION`` names (default Ascend910B1)."""
    soc = os.environ.get("MINDTORCH_SOC_VERSION", _DEFAULT_SOC)
    project = _cmake_project(home, name, sources, include_dirs, flags, soc)
    parts = [part for source in sources for part in (str(source), source.read_bytes())]

    def compile_into(folder: Path) -> list[Path]:
        (folder / "CMakeLists.txt").write_text(project)
        output = folder / "build"
        _cmake(name, ["-S", str(folder), "-B", str(output)])
        _cmake(name, ["--build", str(output)])
        built = next(output.rglob(f"lib{name}.so"), None)
        if built is None:
            raise BuildError(f"kernel library {name!r}: CANN's build left no lib{name}.so in {output}")
        shutil.copy2(built, folder / f"lib{name}.so")
        return list(sources)

    return build_cache.cached(build_cache.digest(["cann", str(home), project, *parts]), f"lib{name}.so", compile_into)


def _cmake_project(
    home: Path,
    name: str,
    sources: Sequence[Path],
    include_dirs: Sequence[str | Path],
    flags: Sequence[str],
    soc: str,
) -> str:
    module = next(home / module for module in _CMAKE_MODULES if (home / module).is_dir())
    lines = [
        "cmake_minimum_required(VERSION 3.16)",
        f"project({name} LANGUAGES C CXX)",
        f'set(SOC_VERSION "{soc}")',
        'set(RUN_MODE "npu")',
        f'set(ASCEND_CANN_PACKAGE_PATH "{home}")',
        "set(CMAKE_BUILD_TYPE Release)",
        f'include("{module}/ascendc.cmake")',
        f"ascendc_library({name} SHARED {_quoted(sources)})",
    ]
    if include_dirs:
        folders = _quoted([Path(folder).resolve() for folder in include_dirs])
        lines.append(f"ascendc_include_directories({name} PRIVATE {folders})")
    if flags:
        lines.append(f"ascendc_compile_options({name} PRIVATE {' '.join(flags)})")
    return "\n".join(lines) + "\n"


def _quoted(paths: Sequence[Path]) -> str:
    return " ".join(f'"{path}"' for path in paths)


def _cmake(name: str, arguments: Sequence[str]) -> None:
    try:
        done = subprocess.run(["cmake", *arguments], capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise BuildError(f"kernel library {name!r}: building with CANN needs cmake, which was not found") from None
    if done.returncode != 0:
        raise BuildError(
            f"kernel library {name!r}: CANN's build failed\n{done.stdout.rstrip()}\n{done.stderr.rstrip()}"
        )
