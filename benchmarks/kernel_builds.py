"""How long an AscendC source takes to compile for the simulated NPU, its headers compiled before: CPU seconds.

What is compiled are the built-in operators' kernels, the examples', the tests' and these benchmarks'. A figure is what
all processes of a build use, from the source to the library: preprocessor, compiler and linker. ``python -m
benchmarks.kernel_builds`` shows the table of this file alone, and each source.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.report import Result, duration
from mindtorch_v2.npu import build, elf, paths

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (
    *sorted(paths.kernel_sources().glob("*.cpp")),
    *sorted(ROOT.glob("examples/*/*.cpp")),
    *sorted(ROOT.glob("examples/*/op_kernel/*.cpp")),
    *sorted(ROOT.glob("tests/sim/*/kernels/*.cpp")),
    ROOT / "tests/npu/kernels.cpp",
    ROOT / "benchmarks/axpby.cpp",
)
TARGET = 2.0  # CPU seconds
SIDE_BY_SIDE = tuple(ROOT / f"tests/sim/ascendc/kernels/{name}.cpp" for name in ("cube", "math", "moves", "quantised"))
EMPTY = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void nothing(GM_ADDR) {}\n'
# Says how fast the machine is: a source whose cost is the templates of the compiler's own library.
REGEX = '#include <regex>\nbool matches(const char* text) { return std::regex_match(text, std::regex("a+")); }\n'


@dataclass(frozen=True)
class Built:
    """A source as a library of its own: how many kernels it has, and the CPU seconds of its build."""

    source: Path
    kernels: int
    seconds: float


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU seconds of the processes that are started, and have ended, meanwhile."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    run()
    return used() - before


def wall_seconds(run: Callable[[], object]) -> float:
    """Seconds until it has run."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


@contextmanager
def fresh_cache(checked: bool) -> Iterator[Path]:
    """A folder of its own to build in, without the compiler's cache, in which the headers are compiled already."""
    ours = {"MINDTORCH_SIM_CHECK": str(int(checked)), "CCACHE_DISABLE": "1"}
    with TemporaryDirectory() as folder:
        ours["MINDTORCH_CACHE_DIR"] = folder
        before = {name: os.environ.get(name) for name in ours}
        os.environ.update(ours)
        try:
            empty = Path(folder) / "empty.cpp"
            empty.write_text(EMPTY)
            for round_ in range(2):  # for the second library that wants them
                build.build_ascendc(f"empty{round_}", [empty])
            yield Path(folder)
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def built(source: Path) -> Built:
    """Builds one source, in an operator project with the header that declares its tiling."""
    sources = [source, *sorted(source.parent.glob("../op_host/*_tiling.h"))]
    libraries: list[Path] = []
    defines = {"DTYPE_X": "half", "TILING_KEY_VAR": 1} if sources[1:] else {}
    seconds = cpu_seconds(lambda: libraries.append(build.build_ascendc(source.stem, sources, defines=defines)))
    kernels = [name for name in elf.exported_symbols(libraries[0]) if name.startswith("aclrtlaunch_")]
    return Built(source, len(kernels), seconds)


def references(folder: Path) -> dict[str, float]:
    """CPU seconds of what no kernel can do without, and of a source that has nothing to do with kernels."""
    nothing, regex = folder / "nothing.cpp", folder / "regex.cpp"
    nothing.write_text(EMPTY)
    regex.write_text(REGEX)
    compile_ = ["g++", "-std=c++20", "-O1", "-c", "-o", str(folder / "regex.o"), str(regex)]
    return {
        "an empty kernel": cpu_seconds(partial(build.build_ascendc, "nothing", [nothing])),
        "a std::regex, g++ -O1": cpu_seconds(partial(subprocess.run, compile_, check=True)),
    }


def measured(checked: bool) -> tuple[list[Built], dict[str, float], Result]:
    """Every source, the references, and a library of several sources beside these sources one after another."""
    with fresh_cache(checked) as folder:
        every = [built(source) for source in SOURCES]
        at_once = wall_seconds(partial(build.build_ascendc, "together", SIDE_BY_SIDE))
        in_turn = wall_seconds(lambda: [build.build_ascendc(f"{one.stem}_alone", [one]) for one in SIDE_BY_SIDE])
        what = f"a library of {len(SIDE_BY_SIDE)} sources{' for the checker' if checked else ''}, from start to end"
        return every, references(folder), Result(what, at_once, in_turn, "one after another", 1.0)


def results() -> list[Result]:
    """Measures it without and with the checker; the target is for a source of one kernel."""
    return [row for checked in (False, True) for row in rows(checked, measured(checked))]


def rows(checked: bool, figures: tuple[list[Built], dict[str, float], Result]) -> list[Result]:
    """The rows of one mode."""
    every, others, together = figures
    single = [one.seconds for one in every if one.kernels == 1]
    several = [one for one in every if one.kernels > 1]
    slowest = max(several, key=lambda one: one.seconds)
    mode = " for the checker" if checked else ""
    compiled = f"a kernel compiled{mode}, CPU"
    beside = ", ".join(f"{name}: {duration(seconds)}" for name, seconds in others.items())
    return [
        Result(
            f"{compiled}, median of {len(single)}",
            statistics.median(single),
            None,
            f"({beside})",
            TARGET,
        ),
        Result(f"{compiled}, slowest", max(single), None, "", TARGET),
        Result(
            f"a source of 2 to {max(one.kernels for one in several)} kernels{mode}, CPU, median of {len(several)}",
            statistics.median(one.seconds for one in several),
            None,
            f"(slowest: {slowest.source.name}, {slowest.kernels} kernels, {duration(slowest.seconds)})",
            TARGET,
        ),
        together,
    ]


def main() -> None:
    """Each source, then the table."""
    from rich.console import Console

    from benchmarks.report import show

    console, found = Console(width=170), []
    for checked in (False, True):
        figures = measured(checked)
        for one in figures[0]:
            name = one.source.relative_to(ROOT)
            console.print(
                f"{name!s:48} {one.kernels:3} kernels {one.seconds:6.2f} s of CPU{' checked' if checked else ''}"
            )
        found += rows(checked, figures)
    show(found, console)


if __name__ == "__main__":
    main()
