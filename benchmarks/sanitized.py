"""Core and CPU kernels under AddressSanitizer and UndefinedBehaviorSanitizer, built into ``build/sanitized``.

In that build every tensor's memory comes from malloc and goes back to it. It is made again only where a source changed.
A process that loads it needs ``environment()``, and has to run ``loader()`` before it imports the runtime.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mindtorch_v2 import _core

__all__ = ["BuildError", "build", "environment", "loader", "missing_tool"]

OPTIONS = "use_sigaltstack=0"


class BuildError(Exception):
    """The build failed; says what the compiler said."""


def missing_tool() -> str | None:
    """A tool that the build needs and that is not there."""
    return next((tool for tool in ("cmake", "gcc", "ninja") if shutil.which(tool, path=_search_path()) is None), None)


def build(root: Path) -> Path:
    """The folder of the sanitized core, with the other libraries beside it."""
    folder = root / "build/sanitized"
    for command in (
        ["cmake", "-S", str(root), "-B", str(folder), "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
         "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DMINDTORCH_SANITIZE=address,undefined", "--log-level=WARNING"],
        ["cmake", "--build", str(folder), "--parallel", "2", "--target", "whole_core", "mindtorch_cpu"],
    ):  # fmt: skip
        built = subprocess.run(
            command, env={**os.environ, "PATH": _search_path()}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        if built.returncode != 0:
            raise BuildError(built.stdout[-4000:])
    return _stage(root, folder)


def _search_path() -> str:
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"


def _stage(root: Path, folder: Path) -> Path:
    stage = folder / "stage/runtime/mindtorch_v2"
    shutil.rmtree(folder / "stage", ignore_errors=True)
    (stage / "lib").mkdir(parents=True)
    for name in ("kernels", "sim"):  # headers lie as they do in a source tree
        (stage.parent / name).symlink_to(root / "runtime" / name)
    installed = Path(_core.__file__)
    for part in folder.glob("_core*.so"):  # the runtime looks for its libraries beside the core
        shutil.copy2(part, stage)
    shutil.copy2(folder / "libmindtorch_cpu.so", stage / "lib")
    shutil.copy2(installed.parent / "lib/libascendcl_sim.so", stage / "lib")
    return stage


def environment(asan_options: str) -> dict[str, str]:
    """The environment of a process that loads the sanitized core; options of AddressSanitizer beside our own."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return {
        **os.environ,
        "LD_PRELOAD": library.stdout.strip(),
        "PYTHONMALLOC": "malloc",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ASAN_OPTIONS": f"{OPTIONS}:{asan_options}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def loader(stage: Path) -> str:
    """Python that makes the sanitized core what ``import mindtorch_v2`` loads."""
    suffix = Path(_core.__file__).name.removeprefix("_core")
    parts = {f"mindtorch_v2.{path.name.removesuffix(suffix)}": str(path) for path in stage.glob(f"_core*{suffix}")}
    return f"""
import importlib.util, sys
parts = {parts!r}
class Sanitized:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, parts[name]) if name in parts else None
sys.meta_path.insert(0, Sanitized)
import mindtorch_v2
assert all(sys.modules[name].__file__ == path for name, path in parts.items())
"""
