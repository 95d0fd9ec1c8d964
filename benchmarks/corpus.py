"""Reading PyTorch's own YAML files: 2,584 schemas and 687 derivatives, with torchgen beside, each in a fresh process.

``python -m benchmarks.corpus`` shows the table of this file alone.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.report import Result
from benchmarks.timing import interleaved

ROUNDS = 3
GROWTH = 10

# Reads, resolves and prints; says how much memory it took, in KiB.
OURS = """
import pathlib, resource, sys
from mtcodegen.torchyaml import derivatives_text, native_function_text, read_corpus
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
if "PYTHONPATH" in ENV:  # contestants run in folders of their own: torchgen also writes beside where it is called
    ENV["PYTHONPATH"] = os.pathsep.join(str(Path(entry).resolve()) for entry in ENV["PYTHONPATH"].split(os.pathsep))


@dataclass
class Contestant:
    """A program and its arguments; ``memory`` is the most that a run of it took, in MiB."""

    program: str
    arguments: tuple[str, ...]
    memory: float = 0.0

    def seconds(self) -> float:
        """Wall seconds of a fresh process, start-up included."""
        with tempfile.TemporaryDirectory() as folder:
            arguments = [folder if word == "OUT" else word for word in self.arguments]
            command = [sys.executable, "-c", self.program, *arguments]
            started = time.perf_counter()
            done = subprocess.run(command, cwd=folder, env=ENV, check=True, capture_output=True, text=True)
            wall = time.perf_counter() - started
        self.memory = max(self.memory, int(done.stdout.split()[-1]) / 1024)
        return wall


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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        big = folder / "native_functions.yaml", folder / "derivatives.yaml"
        for source, copy in zip((native, derivatives), big, strict=True):
            copy.write_text(grown(source.read_text("utf-8"), GROWTH), "utf-8")
        ours = Contestant(OURS, (str(native), str(derivatives)))
        ten = Contestant(OURS, tuple(map(str, big)))
        reads = Contestant(TORCHGEN_READS, (str(native), str(derivatives), str(native.parent / "tags.yaml"), str(root)))
        full = Contestant(TORCHGEN_GENERATES, (str(root / "ATen"), "OUT"))
        contestants = {"ours": ours.seconds, "ten": ten.seconds, "reads": reads.seconds, "full": full.seconds}
        times = interleaved(contestants, ROUNDS)
    memory = f"{full.memory:.0f} MiB; ours {ours.memory:.0f} MiB"
    what = "PyTorch's YAML read, resolved and printed"
    return [
        Result(what, times["ours"], None, "", 1.0),
        Result(what, times["ours"], times["reads"], f"torchgen's load_derivatives ({reads.memory:.0f} MiB)", None),
        Result(what, times["ours"], times["full"], f"torchgen's full run ({memory})", 1 / 15),
        Result(f"{GROWTH} times the entries, for each", times["ten"] / GROWTH, times["ours"], "the same, once", 1.1),
    ]


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.report import show

    show(results(), Console(width=150))
