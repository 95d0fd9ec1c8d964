"""``python -m benchmarks.conformance [--match NAME]``: how far PyTorch's OpInfo database finds ours to be PyTorch."""

from __future__ import annotations

import argparse
import collections
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch as pytorch
from rich.console import Console
from rich.table import Table

from benchmarks import opinfo
from benchmarks.opinfo import Outcome

__all__ = ["main"]

KINDS = ("value", "gradient", "out")


def outcomes(infos: Sequence[Any], dtypes: Iterable[str], most: int, deadline: float) -> Iterable[Outcome]:
    """All checks of entries; those that were not begun at the deadline are left out, and counted."""
    for at, info in enumerate(infos):
        if time.monotonic() > deadline:
            print(f"stopped before {len(infos) - at} of {len(infos)} entries: out of time")
            return
        yield from opinfo.aliases(info)
        if opinfo.find(info.name) is None:
            continue
        for dtype in dtypes:
            if getattr(pytorch, dtype) in info.supported_dtypes("cpu"):
                yield from opinfo.run(info, dtype, most)
        yield from opinfo.error_inputs(info)


def main(arguments: list[str] | None = None) -> int:
    """Runs the checks and shows what came of them; 1 where one found a difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=__doc__)
    parser.add_argument("--match", default="", help="only entries with this in their name")
    parser.add_argument("--exactly", action="store_true", help="only entries of the very name")
    parser.add_argument("--dtypes", default=",".join(opinfo.DTYPES), help="with commas between")
    parser.add_argument("--samples", type=int, default=8, help="at most so many of an entry in a dtype")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no entry is begun after so many")
    parser.add_argument("--faults", type=int, default=1, help="at most so many shown of an entry")
    parser.add_argument("--absent", action="store_true", help="list the entries that ours lacks")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    wanted = [
        info
        for info in opinfo.entries()
        if (info.name == options.match if options.exactly else options.match in opinfo.title(info))
    ]
    console = Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "160")))
    deadline = time.monotonic() + options.seconds
    found = list(outcomes(wanted, options.dtypes.split(","), options.samples, deadline))
    absent = [opinfo.title(info) for info in wanted if opinfo.find(info.name) is None]
    _show(console, found, len(wanted), absent)
    _show_faults(console, found, options.faults)
    _show_skips(console, found)
    if options.absent:
        console.print("absent: " + " ".join(absent), highlight=False)
    return int(any(one.fault for one in found))


def _show(console: Console, found: list[Outcome], count: int, absent: list[str]) -> None:
    console.print(f"{count - len(absent)} of {count} entries present", highlight=False)
    table = Table("dtype", *(f"{kind}s right" for kind in KINDS), "entries without a fault")
    rows: dict[str, list[Outcome]] = collections.defaultdict(list)
    for one in found:
        rows[one.dtype].append(one)
    for dtype in (*opinfo.DTYPES, ""):
        if dtype and dtype in rows:
            ran = [one for one in rows[dtype] if not one.skipped]
            names = {one.entry for one in ran}
            faulty = {one.entry for one in ran if one.fault}
            cells = [_share([one for one in ran if one.kind == kind]) for kind in KINDS]
            table.add_row(dtype, *cells, f"{len(names - faulty)} of {len(names)}")
    console.print(table)
    for kind, word in (("alias", "aliases present"), ("error", "error inputs right")):
        console.print(
            f"{word}: {_share([one for one in found if one.kind == kind and not one.skipped])}", highlight=False
        )


def _share(checks: list[Outcome]) -> str:
    right = sum(not one.fault for one in checks)
    return f"{right} of {len(checks)}" + (f" ({right / len(checks):.1%})" if checks else "")


def _show_faults(console: Console, found: list[Outcome], most: int) -> None:
    shown: collections.Counter[tuple[str, str]] = collections.Counter()
    for one in found:
        key = one.entry, one.kind
        shown[key] += bool(one.fault)
        if one.fault and shown[key] <= most:
            console.print(
                f"{one.entry} {one.kind} {one.dtype}: {one.fault}", highlight=False, markup=False, soft_wrap=True
            )


def _show_skips(console: Console, found: list[Outcome]) -> None:
    reasons: dict[str, set[str]] = collections.defaultdict(set)
    for one in found:
        if one.skipped:
            reasons[one.skipped].add(one.entry)
    if reasons:
        table = Table("left out", "entries", "which")
        for reason, names in sorted(reasons.items(), key=lambda row: -len(row[1])):
            listed = sorted(names)
            table.add_row(reason, str(len(names)), " ".join(listed[:8]) + (" …" if len(listed) > 8 else ""))
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
