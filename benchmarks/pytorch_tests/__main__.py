"""``python -m benchmarks.pytorch_tests [FILE ...]``: runs files of PyTorch's tests under this runtime.

Without files all of `FILES` are run, and the page ``docs/conformance.md`` is written. What PyTorch itself makes of a
file is found once, and kept beside the sources.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.pytorch_tests import page, source
from benchmarks.pytorch_tests.results import Outcome, exclusions, outcome, ranked, read

__all__ = ["FILES", "main"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conformance.md"
FILES = (
    "test_custom_ops.py",
    "test_python_dispatch.py",
    "test_overrides.py",
    "test_autograd.py",
    "autograd/test_functional.py",
    "functorch/test_eager_transforms.py",
    "test_functionalization.py",
    "test_view_ops.py",
    "test_indexing.py",
    "test_type_promotion.py",
    "test_torch.py",
    "test_tensor_creation_ops.py",
    "test_binary_ufuncs.py",
    "test_unary_ufuncs.py",
    "test_reductions.py",
    "test_shape_ops.py",
    "test_sort_and_select.py",
    "test_scatter_gather_ops.py",
    "test_segment_reductions.py",
    "test_linalg.py",
    "test_spectral_ops.py",
    "test_complex.py",
    "test_foreach.py",
    "test_numpy_interop.py",
    "test_dlpack.py",
    "test_type_info.py",
    "test_namedtuple_return_api.py",
    "test_per_overload_api.py",
    "test_nn.py",
    "nn/test_module_hooks.py",
    "nn/test_convolution.py",
    "nn/test_pooling.py",
    "nn/test_embedding.py",
    "nn/test_dropout.py",
    "nn/test_init.py",
    "nn/test_lazy_modules.py",
    "nn/test_load_state_dict.py",
    "nn/test_multihead_attention.py",
    "nn/test_packed_sequence.py",
    "nn/test_parametrization.py",
    "nn/test_pruning.py",
    "test_native_mha.py",
    "test_stateless.py",
    "test_optim.py",
    "optim/test_lrscheduler.py",
    "optim/test_swa_utils.py",
    "distributions/test_distributions.py",
    "functorch/test_vmap.py",
    "test_legacy_vmap.py",
    "autograd/test_complex.py",
    "test_autograd_fallback.py",
    "test_autocast.py",
    "test_subclass.py",
    "test_serialization.py",
    "test_dataloader.py",
    "test_multiprocessing.py",
    "test_futures.py",
    "test_testing.py",
    "test_pytree.py",
    "test_weak.py",
    "test_utils.py",
    "test_module_tracker.py",
    "test_flop_counter.py",
)


def run(file: str, sources: Path, into: Path, progress: Progress, options: list[str]) -> None:
    """Runs a file in a process of its own, and keeps the records."""
    command = [sys.executable, "-m", "benchmarks.pytorch_tests.child", str(sources), file, *options]
    settings = {"OMP_NUM_THREADS": "1", "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    side = "PyTorch" if "--peer" in options else "mindtorch_v2"
    task = progress.add_task(f"{file} ({side})", total=None)
    partial = into.with_suffix(".partial")
    into.parent.mkdir(parents=True, exist_ok=True)
    errors = into.with_suffix(".err")
    with partial.open("w") as out, errors.open("w") as err:
        child = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=err, text=True
        )
        assert child.stdout is not None
        for line in child.stdout:
            found = json.loads(line)
            if "collected" in found:
                progress.update(task, total=found["collected"])
                continue
            out.write(line)
            progress.advance(task)
        if child.wait():
            raise RuntimeError(f"{file} was not run:\n{errors.read_text()[-3000:]}")
    partial.rename(into)


def show(found: list[Outcome], console: Console, most: int) -> None:
    """The table by file, and why tests fail."""
    table = Table("file", "passing", "applicable", "share", "excluded", "PyTorch skips or fails")
    for one in found:
        cells = (len(one.passing), one.applicable, f"{one.share:.1%}", len(one.excluded), one.peer_fails)
        table.add_row(one.file, *map(str, cells))
    console.print(table)
    for why, count, example in ranked(found)[:most]:
        console.print(f"{count:5} {why}   ({example})", markup=False, highlight=False, soft_wrap=True)


def main() -> int:
    """Runs the command line; the exit status is 1 where a test crashes or hangs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pytorch_tests",
        description="Runs PyTorch's own test files, unmodified, under this runtime.",
        epilog="example: python -m benchmarks.pytorch_tests test_custom_ops.py --match autograd",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="below PyTorch's test/ (default: the page's)")
    parser.add_argument("--match", default="", help="only tests whose names match this regular expression")
    parser.add_argument("--top", type=int, default=40, help="how many reasons of failures are shown (default 40)")
    parser.add_argument("--failing", action="store_true", help="show each failing test, with its message")
    parser.add_argument("--peer-again", action="store_true", help="find anew what PyTorch makes of the files")
    options = parser.parse_args()
    console = Console()
    sources = source.folder()
    peer_version = importlib.metadata.version("torch").partition("+")[0]
    peers, ours = source.cache() / f"torch-{peer_version}", ROOT / "build" / "pytorch_tests"
    found = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for file in options.files or FILES:
            name = file.replace("/", ".").removesuffix(".py")
            peer, here = peers / f"{name}.jsonl", ours / f"{name}.jsonl"
            if options.peer_again or not peer.exists():
                run(file, sources, peer, progress, ["--peer", "--together", "50"])
            here.unlink(missing_ok=True)
            try:
                run(file, sources, here, progress, ["--match", options.match, "--together", "10"])
            except RuntimeError as error:  # the file is not imported: none of its tests passes, and others go on
                console.print(str(error), markup=False)
            records = read(here) if here.exists() else {}
            expected = {test: one for test, one in read(peer).items() if not options.match or test in records}
            found.append(outcome(file, records, expected, exclusions()))
    show(found, console, options.top)
    if options.failing:
        for one in found:
            for test, record in one.failing.items():
                console.print(f"\n{one.file} {test} {record.status}", markup=False, style="bold")
                console.print(f"{record.at}\n{record.inside}\n{record.kind}: {record.message}", markup=False)
    if not options.files and not options.match:
        PAGE.write_text(page.text(found, source.RELEASE, source.date(), peer_version))
        console.print(f"wrote {PAGE.relative_to(ROOT)}")
    return any(record.status in ("crash", "hang") for one in found for record in one.failing.values())


if __name__ == "__main__":
    raise SystemExit(main())
