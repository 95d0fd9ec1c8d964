"""What importing the runtime takes, a whole run of the generator on 100 entries, and checks of 300."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.report import Result
from benchmarks.timing import interleaved

ROUNDS = 7
ENTRIES = 100
CHECKED = 300
IMPORT = """
import sys, time
started = time.perf_counter()
import {module}
print(time.perf_counter() - started)
assert {module!r} != "mindtorch_v2" or "mindspore" not in sys.modules, "mindspore was imported at start-up"
"""
ENTRY = """\
- func: fused_{i}(Tensor x, Tensor y, *, float scale=1.0) -> Tensor
  doc: Returns ``x + scale * y`` in one pass over memory.
  check:
  - x.shape == y.shape
  fake: {{like: x}}
  kernels:
  - device: npu
    library: libfused.so
    symbol: fused_{i}
    block_dim: max(1, min(ceil_div(x.numel(), 2048), 40))
    args: [x, y, out, f32(scale), u32(x.numel())]
    dtypes: [float16, float32]
  - device: cpu
    compute: x + scale * y
  backward:
    x: grad
    y: grad * scale
"""


# As on a machine that is used: byte code is cached. The first round writes it, and a median leaves that round out.
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def import_seconds(module: str) -> float:
    """Wall seconds of the import statement in a fresh process."""
    code = IMPORT.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=True)
    return float(done.stdout)


def generate_seconds(source: Path) -> float:
    """Wall seconds of a fresh ``mtcodegen`` that writes into an empty folder, start-up included."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "mtcodegen", str(source), "-o", out]
        started = time.perf_counter()
        subprocess.run(command, env=ENV, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started


def entries(count: int) -> str:
    """A file in our language."""
    return "namespace: many\nops:\n" + "".join(ENTRY.format(i=i) for i in range(count))


def check_seconds(source: Path, memory: str) -> float:
    """Wall seconds of a fresh ``mtcodegen check`` that finds nothing; ``memory`` is the folder of what it remembers."""
    command = [sys.executable, "-m", "mtcodegen", "check", str(source)]
    started = time.perf_counter()
    subprocess.run(command, env={**ENV, "XDG_CACHE_HOME": memory}, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def results() -> list[Result]:
    """Measures all; the targets are absolute."""
    modules = ("mindtorch_v2", "numpy", "torch")
    imports = interleaved({module: partial(import_seconds, module) for module in modules}, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        source, checked = Path(folder) / "hundred.yaml", Path(folder) / "three_hundred.yaml"
        source.write_text(entries(ENTRIES))
        checked.write_text(entries(CHECKED))
        command = [sys.executable, "-m", "mtcodegen", str(checked)]
        subprocess.run(command, env={**ENV, "XDG_CACHE_HOME": folder}, check=True, stdout=subprocess.DEVNULL)
        times = interleaved(
            {
                "generate": lambda: generate_seconds(source),
                "check": lambda: check_seconds(checked, folder),
                "check anew": lambda: check_seconds(checked, "/dev/null"),
            },
            ROUNDS,
        )
    check = f"mtcodegen check on {CHECKED} entries, nothing changed"
    beside = f"(import numpy: {imports['numpy']:.2g} s, import torch: {imports['torch']:.2g} s)"
    return [
        Result("import mindtorch_v2", imports["mindtorch_v2"], None, beside, 0.2),
        Result(f"mtcodegen on {ENTRIES} entries, start-up included", times["generate"], None, "", 0.5),
        Result(check, times["check"], None, "", 0.25),
        Result(f"{check}, first time on a machine", times["check anew"], None, "", None),
    ]
