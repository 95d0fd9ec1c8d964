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

__all__ = ["NEWEST", "OLDEST", "Comparison", "Release", "compare", "environment", "page"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "models.md"


@dataclass(frozen=True)
class Release:
    """A release of transformers, and those of the libraries that go with it."""

    transformers: str
    diffusers: str  # which takes the same tokenizers and hub
    accelerate: str  # which `Trainer` asks for


RELEASES = {
    one.transformers: one for one in (Release("4.41.2", "0.30.3", "0.30.1"), Release("5.24.0", "0.42.1", "1.15.0"))
}
OLDEST, NEWEST = RELEASES
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


def environment(release: str = OLDEST) -> Path:
    """The folder with that release and what it needs, installed where it is not there yet."""
    one = RELEASES[release]
    return installed(
        f"models/transformers-{release}",
        f"-with-accelerate-{one.accelerate}",
        [f"transformers=={release}", f"diffusers=={one.diffusers}", "safetensors", our_numpy()],
        # It says that it needs torch, which is here, under either name.
        ["--no-deps", f"accelerate=={one.accelerate}", "psutil"],
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
    """A release's table of the page."""
    one = RELEASES[release]
    columns = ["training", *model_steps.WAYS, "safetensors", "bin", "resumed"]
    pytorch = importlib.metadata.version("torch").partition("+")[0]
    lines = [
        f"transformers {release}, diffusers {one.diffusers}, accelerate {one.accelerate}; PyTorch {pytorch}.\n",
        f"{MARK} {' | '.join(columns)} | largest difference of a loss |",
        f"|{'---|' * (len(columns) + 2)}",
    ]
    for row in found:
        cells = ["" if row.agrees.get(c) is None else "equal" if row.agrees[c] else "**differs**" for c in columns]
        lines.append(f"| {row.model} | {' | '.join(cells)} | {row.largest:.1e} |")
    return "\n".join(lines)


def main() -> int:
    """Runs the command line; the exit status is 1 where something differs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models",
        description="Runs models of transformers and diffusers under this runtime and under PyTorch, and compares.",
        epilog="example: python -m benchmarks.models --only BERT GPT-2",
    )
    parser.add_argument("--release", nargs="+", choices=RELEASES, default=[*RELEASES], help="of transformers (all)")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="these models; the page is not written then")
    options = parser.parse_args()
    console = Console()
    names = options.only or list(NAMES)
    found: dict[str, list[Comparison]] = {release: [] for release in options.release}
    with Progress(console=console) as progress:
        task = progress.add_task("installing transformers", total=len(names) * len(found))
        for release, rows in found.items():
            folder = environment(release)
            for name in names:
                progress.update(task, description=f"{name}, transformers {release}")
                rows.append(compare(name, folder))
                progress.advance(task)
    table = Table("transformers", "model", "agrees", "differs", "largest difference of a loss")
    for release, rows in found.items():
        for one in rows:
            sides = (", ".join(key for key, value in one.agrees.items() if value is side) for side in (True, False))
            table.add_row(release, one.model, *sides, f"{one.largest:.1e}")
    console.print(table)
    if not options.only and len(found) == len(RELEASES):
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        tables = "\n\n".join(page(rows, release) for release, rows in found.items())
        PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}", "utf-8")
    return 0 if all(one.whole for rows in found.values() for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
