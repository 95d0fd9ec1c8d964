"""What building the compiled core again takes after a change of one line, in a cold part of it and in the hot one.

``python -m benchmarks.rebuild`` shows the table of this file alone. A copy of the sources is built once, and then again
after each change: wall seconds of ``cmake --build``, on as many processors as there are, without a compiler cache.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Result

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "cmake", "runtime/core", "runtime/kernels/include")
ROUNDS = 3
# Files of the hot part whose last line is the last of a function's body, where one more is added.
HOT = ("autograd.pxi", "dispatch.pxi", "views.pxi")
LINE = "\n\ncdef int added_{number}(object value) except -1:\n    return len([value, {number}])\n"


def rebuilds() -> Iterator[tuple[str, float]]:
    """The changed files, each with the wall seconds of the build after it."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in SOURCES:
            source, target = ROOT / name, tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
        _run("cmake", "-S", folder, "-B", f"{folder}/build", "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}")
        build(tree)
        cold = sorted(path.relative_to(tree / "runtime/core") for path in tree.glob("runtime/core/cold/*.pyx"))
        number = 0
        for name in (*map(str, cold), *HOT):
            for _ in range(ROUNDS if name in HOT else 1):
                with (tree / "runtime/core" / name).open("a") as file:
                    file.write(LINE.format(number=number))
                number += 1
                yield name, build(tree)


def build(tree: Path) -> float:
    """Wall seconds of building what changed of the core."""
    started = time.perf_counter()
    _run("cmake", "--build", str(tree / "build"), "--parallel", str(os.cpu_count()), "--target", "whole_core")
    return time.perf_counter() - started


def _run(*command: str) -> None:
    env = {**os.environ, "CCACHE_DISABLE": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)


def results() -> list[Result]:
    """The slowest cold part, and the median of the hot one."""
    found = list(rebuilds())
    cold = max((seconds, name) for name, seconds in found if name not in HOT)
    hot = statistics.median(seconds for name, seconds in found if name in HOT)
    on = f"on {os.cpu_count()} processors"
    return [
        Result(
            f"a changed line in a cold part of the core, built again ({cold[1]}, the slowest)", cold[0], None, on, 15
        ),
        Result("a changed line in its hot part, built again", hot, None, on, 30),
    ]


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.report import show

    show(results(), Console())
