"""What importing the runtime takes, and a whole run of the generator on a file of 100 entries."""

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
IMPORT = """
import sys, time
started = time.perf_counter()
import {module}
print(time.perf_counter() - started)
assert {module!r} == "torch" or "mindspore" not in sys.modules, "mindspore was imported at start-up"
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


def results() -> list[Result]:
    """Measures both; the targets are absolute."""
    imports = interleaved({module: partial(import_seconds, module) for module in ("mindtorch_v2", "torch")}, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "hundred.yaml"
        source.write_text("namespace: hundred\nops:\n" + "".join(ENTRY.format(i=i) for i in range(ENTRIES)))
        generation = interleaved({"ours": lambda: generate_seconds(source)}, ROUNDS)["ours"]
    return [
        Result("import mindtorch_v2", imports["mindtorch_v2"], None, f"(import torch: {imports['torch']:.2g} s)", 0.3),
        Result(f"mtcodegen on {ENTRIES} entries, start-up included", generation, None, "", 0.5),
    ]
