"""``mtcodegen list``: the operators of files, a line each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from mtcodegen.cli.common import add_inputs, named_inputs, report, status
from mtcodegen.entries.model import OpSpec
from mtcodegen.entries.states import states
from mtcodegen.entries.validate import device_keys
from mtcodegen.project.loading import load_inputs
from mtcodegen.system.paths import data_folder

__all__ = ["DESCRIPTION", "EXAMPLES", "add_listing", "configure", "devices_of", "gradient_of", "run", "specs_of"]

DESCRIPTION = "List the operators of files, with the devices they have kernels for, and whether they have gradients."
EXAMPLES = (
    ("mtcodegen list", "the operators of pyproject.toml"),
    ("mtcodegen list ops.yaml", "those of one file"),
    ("mtcodegen list --built-in | grep softmax", "those that come with the runtime"),
    ("mtcodegen list --status ops.yaml", "how each runs on every device"),
    ("mtcodegen list --format json ops.yaml", "for programs"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(parser)
    add_listing(parser)
    help_ = "how each runs on every device: native (a kernel there), composite (made of others), fallback, or absent"
    parser.add_argument("--status", action="store_true", help=help_)


def add_listing(parser: argparse.ArgumentParser) -> None:
    """Options of commands that show operators."""
    parser.add_argument("--built-in", action="store_true", help="the operators that come with the runtime")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the output (default: text)")


def run(options: argparse.Namespace) -> int:
    """List. Faults in the files are reported, and what can be read is listed all the same."""
    specs, code = specs_of(options, options.files)
    if options.format == "json":
        found = [_object(spec) | ({"status": states(spec)} if options.status else {}) for spec in specs]
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    elif options.status:
        _write([("", *device_keys()), *((spec.schema.qualname, *states(spec).values()) for spec in specs)])
    else:
        _write([(spec.schema.qualname, devices_of(spec), gradient_of(spec), _declared(spec)) for spec in specs])
    return code


def _write(rows: Sequence[Sequence[str]]) -> None:
    """Rows as a table, whose last column is as wide as it comes."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        sys.stdout.write("  ".join([*cells, row[-1]]) + "\n")


def specs_of(options: argparse.Namespace, files: Sequence[str]) -> tuple[list[OpSpec], int]:
    """The operators that the options ask for, and the exit status; faults go to standard error."""
    chosen = [*files, str(data_folder("ops_yaml"))] if options.built_in else files
    documents, found = load_inputs(named_inputs(chosen))
    report(argparse.Namespace(format="text"), found)
    return [spec for document in documents for spec in document.file.ops], status(found)


def _declared(spec: OpSpec) -> str:
    """``ops.yaml:3``: the file without its folders, and the line."""
    span = spec.place.span
    return f"{span.source.name}:{span.line}"


def devices_of(spec: OpSpec) -> str:
    """``cpu npu``; ``any`` where one kernel serves every device."""
    devices = [device for kernel in spec.kernels for device in (kernel.devices or ("any",))]
    return " ".join(dict.fromkeys(devices)) or "-"


def gradient_of(spec: OpSpec) -> str:
    """How an operator is differentiated, in a word or two."""
    if spec.backward is None:
        return "through its parts" if any(not kernel.devices for kernel in spec.kernels) else "no gradient"
    if spec.backward.marker:
        return spec.backward.marker.replace("_", " ")
    return "gradient" if spec.backward.function is None else "gradient (Python)"


def _object(spec: OpSpec) -> dict[str, Any]:
    return {
        "name": spec.schema.qualname,
        "schema": str(spec.schema),
        "devices": [] if not spec.kernels else devices_of(spec).split(),
        "gradient": gradient_of(spec),
        "file": spec.place.span.source.path,
        "line": spec.place.span.line,
    }
