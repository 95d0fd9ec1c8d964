"""``python -m benchmarks [GROUP ...] [--no-write]``: measures, shows a table and writes ``docs/benchmarks.md``."""

from __future__ import annotations

import argparse

from rich.console import Console

from benchmarks import (
    adaptive_commit,
    autograd_calls,
    corpus,
    generated_call,
    graphs,
    kernel_builds,
    launch,
    operator_call,
    profiled,
    rebuild,
    report,
    simulated_npu,
    small_calls,
    start_up,
)

GROUPS = {
    "operator calls": operator_call.results,
    "generated operators": generated_call.results,
    "gradients": autograd_calls.results,
    "small calls": small_calls.results,
    "launches": launch.results,
    "profiles": profiled.results,
    "the simulated NPU": simulated_npu.results,
    "adaptive committing": adaptive_commit.results,
    "captured graphs": graphs.results,
    "kernels compiled": kernel_builds.results,
    "start-up": start_up.results,
    "the core, built again": rebuild.results,
    "PyTorch's YAML files": corpus.results,
}


def main() -> None:
    """Runs every group and reports."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Our figures beside their peers'.")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md as it is")
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"measure these alone, and write nothing: {', '.join(GROUPS)}"
    )
    options = parser.parse_args()
    if unknown := set(options.groups) - GROUPS.keys():
        parser.error(f"no group is called {', '.join(sorted(unknown))}")
    console = Console()
    if not console.is_terminal:  # whose width is then a guess, too narrow for the table
        console = Console(width=140)
    found = []
    for name in options.groups or GROUPS:
        with console.status(f"measuring {name}"):
            found += GROUPS[name]()
        console.print(f"measured {name}")
    report.show(found, console)
    if not options.no_write and not options.groups:
        report.write(found, report.REPORT)


main()
