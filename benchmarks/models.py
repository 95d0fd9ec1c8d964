"""``python -m benchmarks.models``: models of transformers and diffusers, unmodified, here and under PyTorch.

Each model (small, random weights, one seed) takes three AdamW steps, generates, is saved and loaded, in a process under
PyTorch and in one whose ``import torch`` means `mindtorch_v2`. Writes ``docs/models.md``. The libraries are no
dependencies: they are installed into a folder of their own below ``build/``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import model_steps
from benchmarks.installs import environment_with, installed, our_numpy

__all__ = ["RELEASE", "Comparison", "compare", "environment", "page"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "models.md"
RELEASE = "4.41.2"
DIFFUSERS = "0.30.3"  # which takes that release's tokenizers
ACCELERATE = "0.30.1"  # which `Trainer` of that release asks for
TOLERANCE = 1e-5  # of a loss: float32 sums in another order
NAMES = (*model_steps.MODELS, *model_steps.OTHERS)
MARK, BEGIN, END = "| model |", "<!-- written by benchmarks.models: begin -->", "<!-- end -->"


@dataclass(frozen=True)
class Comparison:
    """What a model came to under both: what agrees by name, with a word on it."""

    model: str
    agrees: dict[str, bool]
    largest: float  # difference of losses, relative

    @property
    def whole(self) -> bool:
        """Whether all of it agrees."""
        return all(self.agrees.values())


def environment(release: str = RELEASE) -> Path:
    """The folder with that release and what it needs, installed where it is not there yet."""
    return installed(
        f"models/transformers-{release}",
        f"-with-accelerate-{ACCELERATE}",
        [f"transformers=={release}", f"diffusers=={DIFFUSERS}", "safetensors", our_numpy()],
        # It says that it needs torch, which is here, under either name.
        ["--no-deps", f"accelerate=={ACCELERATE}", "psutil"],
    )


def run(name: str, folder: Path, here: bool) -> dict[str, Any]:
    """What the child process found. Raises RuntimeError with what it printed where it failed."""
    command = [sys.executable, "-W", "ignore", str(Path(model_steps.__file__)), name, *(["--here"] if here else [])]
    env = environment_with(folder, HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    if ran.returncode:
        raise RuntimeError(f"{name} under {'mindtorch_v2' if here else 'PyTorch'} failed:\n{ran.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def compare(name: str, folder: Path) -> Comparison:
    """A model under both."""
    ours, theirs = run(name, folder, here=True), run(name, folder, here=False)
    pairs = list(zip(ours.pop("losses"), theirs.pop("losses"), strict=True))
    agrees = {"training": all(math.isclose(a, b, rel_tol=TOLERANCE) for a, b in pairs)}
    agrees |= {key: value == theirs[key] for key, value in ours.items() if key != "torch"}
    return Comparison(name, agrees, max(abs(a - b) / abs(b) for a, b in pairs))


def page(found: list[Comparison], release: str) -> str:
    """The table of the page."""
    columns = ["training", *model_steps.WAYS, "safetensors", "bin", "resumed"]
    pytorch = importlib.metadata.version("torch").partition("+")[0]
    lines = [
        f"transformers {release}, diffusers {DIFFUSERS}, accelerate {ACCELERATE}, PyTorch {pytorch} beside it.\n",
        f"{MARK} {' | '.join(columns)} | largest difference of a loss |",
        f"|{'---|' * (len(columns) + 2)}",
    ]
    for one in found:
        cells = ["" if one.agrees.get(c) is None else "equal" if one.agrees[c] else "**differs**" for c in columns]
        lines.append(f"| {one.model} | {' | '.join(cells)} | {one.largest:.1e} |")
    return "\n".join(lines)


def main() -> int:
    """Runs the command line; the exit status is 1 where something differs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models",
        description="Runs models of transformers and diffusers under this runtime and under PyTorch, and compares.",
        epilog="example: python -m benchmarks.models --only BERT GPT-2",
    )
    parser.add_argument("--release", default=RELEASE, help=f"of transformers (default {RELEASE})")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="these models; the page is not written then")
    options = parser.parse_args()
    console = Console()
    names = options.only or list(NAMES)
    found = []
    with Progress(console=console) as progress:
        task = progress.add_task("installing transformers", total=len(names))
        folder = environment(options.release)
        for name in names:
            progress.update(task, description=name)
            found.append(compare(name, folder))
            progress.advance(task)
    table = Table("model", "agrees", "differs", "largest difference of a loss")
    for one in found:
        sides = (", ".join(key for key, value in one.agrees.items() if value is side) for side in (True, False))
        table.add_row(one.model, *sides, f"{one.largest:.1e}")
    console.print(table)
    if not options.only:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{page(found, options.release)}\n\n{END}{rest.partition(END)[2]}", "utf-8")
    return 0 if all(one.whole for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
