"""What building the compiled core again takes after a change of one line, in a cold part of it and in the hot one.

``python -m benchmarks.rebuild`` shows the table of this file alone. A copy of the sources is built once, and then again
after each change: wall seconds of ``cmake --build``, on as many processors as there are, without a compiler cache, and
the processors' own, which say more where others build meanwhile.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Result

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "cmake", "runtime/core", "runtime/kernels/include")
ROUNDS = 3
# Files of the hot part whose last line is the last of a function's body, where one more is added.
HOT = ("autograd.pxi", "dispatch.pxi", "views.pxi")
LINE = "\n\ncdef int added_{number}(object value) except -1:\n    return len([value, {number}])\n"


class Cost(NamedTuple):
    """Seconds of a build: on the clock, and of processors."""

    wall: float
    processors: float


def rebuilds() -> Iterator[tuple[str, Cost]]:
    """The changed files, each with what the build after it took."""
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


def build(tree: Path) -> Cost:
    """What building takes that changed of the core."""
    started, used = time.perf_counter(), _processor_seconds()
    _run("cmake", "--build", str(tree / "build"), "--parallel", str(os.cpu_count()), "--target", "whole_core")
    return Cost(time.perf_counter() - started, _processor_seconds() - used)


def _processor_seconds() -> float:
    """Of all processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def _run(*command: str) -> None:
    env = {**os.environ, "CCACHE_DISABLE": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)


def results() -> list[Result]:
    """The slowest cold part, and the median of the hot one."""
    found = list(rebuilds())
    cold, name = max((cost, name) for name, cost in found if name not in HOT)
    hot = sorted(cost for name, cost in found if name in HOT)
    median = hot[len(hot) // 2]
    what = f"a changed line in a cold part of the core, built again ({name}, the slowest)"
    return [
        Result(what, cold.wall, None, _on(cold), 15),
        Result("a changed line in its hot part, built again", median.wall, None, _on(median), 30),
    ]


def _on(cost: Cost) -> str:
    return f"on {os.cpu_count()} processors, {cost.processors:.0f} s of their time"


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.report import show

    show(results(), Console())
