"""The compiled parts under a sanitizer, each built into a folder of its own below ``build``.

In these builds every tensor's memory comes from malloc and goes back to it. They are made again only where a source
changed. A process that loads one needs ``environment()``, and has to run ``loader()`` before it imports the runtime.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mindtorch_v2 import _core

__all__ = ["ADDRESS", "THREAD", "BuildError", "Sanitizer", "build", "environment", "launcher", "loader", "missing_tool"]


@dataclass(frozen=True)
class Sanitizer:
    """What is built with which of GCC's sanitizers."""

    flags: str  # of -fsanitize
    folder: str  # below build/
    targets: tuple[str, ...]
    library: str  # loaded before all others, as the interpreter is not built with it
    options: tuple[tuple[str, str], ...]  # variables that say how it reports


ADDRESS = Sanitizer(
    "address,undefined",
    "sanitized",
    ("whole_core", "mindtorch_cpu"),
    "libasan.so",
    (("ASAN_OPTIONS", "use_sigaltstack=0"), ("UBSAN_OPTIONS", "print_stacktrace=1")),
)
THREAD = Sanitizer(
    "thread",
    "sanitized-thread",
    ("whole_core", "mindtorch_cpu", "ascendcl_sim"),
    "libtsan.so",
    (("TSAN_OPTIONS", f"halt_on_error=1:suppressions={Path(__file__).with_name('thread_sanitizer.supp')}"),),
)


class BuildError(Exception):
    """The build failed; says what the compiler said."""


def missing_tool() -> str | None:
    """A tool that the builds need and that is not there."""
    return next((tool for tool in ("cmake", "gcc", "ninja") if shutil.which(tool, path=_search_path()) is None), None)


def build(root: Path, sanitizer: Sanitizer = ADDRESS) -> Path:
    """The folder of the sanitized core, with the other libraries beside it; made by one process at a time."""
    folder = root / "build" / sanitizer.folder
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _compile(root, folder, sanitizer)
        return _stage(root, folder)


def _compile(root: Path, folder: Path, sanitizer: Sanitizer) -> None:
    for command in (
        ["cmake", "-S", str(root), "-B", str(folder), "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
         "-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DMINDTORCH_SANITIZE={sanitizer.flags}", "--log-level=WARNING"],
        ["cmake", "--build", str(folder), "--parallel", "2", "--target", *sanitizer.targets],
    ):  # fmt: skip
        built = subprocess.run(
            command, env={**os.environ, "PATH": _search_path()}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        if built.returncode != 0:
            raise BuildError(built.stdout[-4000:])


def _search_path() -> str:
    return f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"


def _stage(root: Path, folder: Path) -> Path:
    """Lays the libraries out as the runtime looks for them; what another process has loaded stays as it is to it."""
    stage = folder / "stage/runtime/mindtorch_v2"
    (stage / "lib").mkdir(parents=True, exist_ok=True)
    for name in ("kernels", "sim"):  # headers lie as they do in a source tree
        if not (stage.parent / name).is_symlink():
            (stage.parent / name).symlink_to(root / "runtime" / name)
    parts = {
        part.name: part for part in folder.glob("_core*.so")
    }  # the runtime looks for its libraries beside the core
    for left in stage.glob("_core*.so"):
        if left.name not in parts:
            left.unlink()
    simulator = folder / "runtime/sim/libascendcl_sim.so"
    installed = Path(_core.__file__).parent / "lib/libascendcl_sim.so"
    for part in parts.values():
        _put(part, stage)
    for library in (folder / "libmindtorch_cpu.so", simulator if simulator.exists() else installed):
        _put(library, stage / "lib")
    return stage


def _put(source: Path, folder: Path) -> None:
    whole = folder / f"{source.name}.new"
    shutil.copy2(source, whole)
    whole.replace(folder / source.name)


def environment(sanitizer: Sanitizer, more: str = "") -> dict[str, str]:
    """The environment of a process that loads a sanitized core; ``more`` options of the sanitizer beside our own."""
    library = subprocess.run(
        ["gcc", f"-print-file-name={sanitizer.library}"], capture_output=True, text=True, check=True
    )
    (variable, own), *others = sanitizer.options
    return {
        **os.environ,
        "LD_PRELOAD": library.stdout.strip(),
        "PYTHONMALLOC": "malloc",
        "PYTHONDONTWRITEBYTECODE": "1",
        variable: f"{own}:{more}" if more else own,
        **dict(others),
    }


def launcher(sanitizer: Sanitizer) -> list[str]:
    """What stands before a command that loads a sanitized core.

    ThreadSanitizer of GCC 12 cannot start where the kernel randomises addresses by more bits than it knows of.
    """
    return ["setarch", "-R"] if sanitizer is THREAD and shutil.which("setarch") else []


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
