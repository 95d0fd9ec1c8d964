"""PyTorch's own YAML files, 2,584 schemas and 687 derivatives, as modules; torchgen beside, each in a fresh process.

``python -m benchmarks.corpus`` shows the table of this file alone.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.report import Result, mebibytes, number
from benchmarks.timing import interleaved

ROUNDS = 3
GROWTH = (3, 10)  # times the entries
MOST = 1.1  # times as long an entry may take where there are ten times as many

# Reads, resolves, renders and writes, as a user has it: a module with all operators that have a kernel on our devices,
# the backward of every formula that our language has a form of, and a line on whatever was not carried over. Says how
# long the command took, in seconds from its start to its end, and how much memory, in KiB.
OURS = """
import resource, subprocess, sys, time
native, derivatives, out = sys.argv[1:]
command = [sys.executable, "-m", "mtcodegen", "import", native, "--derivatives", derivatives]
command += ["--kernels", "kernels", "--modules", out]
started = time.perf_counter()
subprocess.run(command, check=True, capture_output=True)
print(time.perf_counter() - started)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
# Reads, resolves and prints; says how much memory it took, in KiB.
OURS_READS = """
import pathlib, resource, sys
from benchmarks.torch_yaml import derivatives_text, native_function_text, read_corpus
corpus = read_corpus(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
assert not corpus.diagnostics and len(corpus.derivatives) >= 687
"".join(map(native_function_text, corpus.functions)), "".join(map(derivatives_text, corpus.derivatives))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
# Reads and resolves, and prints nothing: what torchgen's generators start with.
TORCHGEN_READS = """
import resource, sys
sys.path.insert(0, sys.argv[4])
from autograd.load_derivatives import load_derivatives
assert len(load_derivatives(sys.argv[2], sys.argv[1], sys.argv[3])[0]) >= 687
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
# A full run: the operators' C++, then autograd's, as PyTorch's build calls them.
TORCHGEN_GENERATES = """
import resource, subprocess, sys
source, out = sys.argv[1:]
subprocess.run([sys.executable, "-m", "torchgen.gen", "-s", source, "-d", out], check=True, capture_output=True)
sys.path.insert(0, source + "/..")
from autograd.gen_autograd import gen_autograd
from torchgen.selective_build.selector import SelectiveBuilder
files = source + "/native/native_functions.yaml", source + "/native/tags.yaml"
gen_autograd(*files, out, source + "/../autograd", SelectiveBuilder.get_nop_selector())
print(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""
# Where entries have their names, and those of other entries; a name goes up to its arguments.
_REFERENCE = re.compile(r"^(- func: +|- name: +|  structured_delegate: |  autogen: )(.*)$", re.MULTILINE)
_NAME = re.compile(r"^\w+|(?<=, )\w+(?=[.,]|$)")
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# Contestants run in folders of their own (torchgen also writes beside where it is called), and import from here.
_PATH = [entry for entry in ENV.get("PYTHONPATH", "").split(os.pathsep) if entry]
ENV["PYTHONPATH"] = os.pathsep.join(str(entry.resolve()) for entry in [Path(__file__).parents[1], *map(Path, _PATH)])


@dataclass
class Contestant:
    """A program and its arguments; ``memory`` is the most that a run of it took, in MiB."""

    program: str
    arguments: tuple[str, ...]
    memory: float = 0.0

    def seconds(self) -> float:
        """Wall seconds of a fresh process, start-up included; a program that starts a command says what that took."""
        with tempfile.TemporaryDirectory() as folder:
            arguments = [folder if word == "OUT" else word for word in self.arguments]
            command = [sys.executable, "-c", self.program, *arguments]
            started = time.perf_counter()
            done = subprocess.run(command, cwd=folder, env=ENV, check=True, capture_output=True, text=True)
            wall = time.perf_counter() - started
        *seconds, memory = done.stdout.split()
        self.memory = max(self.memory, int(memory) / 1024)
        return float(seconds[0]) if seconds else wall


def packaged() -> Path:
    """The folder of PyTorch's files in the torch wheel."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("torchgen is not installed: it comes with torch")
    return Path(spec.origin).parent / "packaged"


def grown(text: str, times: int) -> str:
    """``times`` copies of a file's entries, each under names of its own."""
    copies = [text]
    for i in range(1, times):
        own = rf"r{i}_\g<0>"
        copies.append(_REFERENCE.sub(partial(_renamed, own), text))
    return "\n".join(copies)


def _renamed(own: str, line: re.Match[str]) -> str:
    return line[1] + _NAME.sub(own, line[2], count=1 if "(" in line[2] else 0)


def results() -> list[Result]:
    """Measures all contestants in turn."""
    root = packaged()
    native, derivatives = root / "ATen/native/native_functions.yaml", root / "autograd/derivatives.yaml"
    files = str(native), str(derivatives)
    with tempfile.TemporaryDirectory() as name:
        ours = Contestant(OURS, (*files, "OUT"))
        full = Contestant(TORCHGEN_GENERATES, (str(root / "ATen"), "OUT"))
        grown_ = {times: Contestant(OURS, (*_grown_files(files, times, Path(name)), "OUT")) for times in GROWTH}
        reads = Contestant(OURS_READS, files)
        peer_reads = Contestant(TORCHGEN_READS, (*files, str(native.parent / "tags.yaml"), str(root)))
        contestants = {"ours": ours, "full": full, "reads": reads, "peer_reads": peer_reads}
        contestants |= {str(times): contestant for times, contestant in grown_.items()}
        times = interleaved({key: contestant.seconds for key, contestant in contestants.items()}, ROUNDS)
    what, peer = "PyTorch's YAML as modules: read, resolved, rendered, written", "torchgen's full run"
    most = GROWTH[-1]
    exponent = statistics.linear_regression(
        [math.log(size) for size in (1, *GROWTH)], [math.log(times[key]) for key in ("ours", *map(str, GROWTH))]
    ).slope
    return [
        Result(what, times["ours"], times["full"], peer, 1 / 15),
        Result("its memory", ours.memory, full.memory, peer, 1.0, mebibytes),
        Result(f"an entry among {most} times as many", times[str(most)] / most, times["ours"], "once as many", MOST),
        Result(f"exponent of the cost, 1 to {most} times", exponent, None, "", 1 + math.log(MOST, most), number),
        Result(
            "PyTorch's YAML read, resolved and printed", times["reads"], times["peer_reads"], "load_derivatives", 1.0
        ),
    ]


def _grown_files(files: Iterable[str], times: int, folder: Path) -> list[str]:
    found = []
    for file in map(Path, files):
        path = folder / str(times) / file.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(grown(file.read_text("utf-8"), times), "utf-8")
        found.append(str(path))
    return found


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.report import show

    show(results(), Console(width=150))
