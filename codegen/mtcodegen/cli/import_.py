"""``mtcodegen import``: PyTorch's, ExecuTorch's and op-plugin's YAML files, and operator projects -> our YAML."""

from __future__ import annotations

import argparse
import pathlib
import re
import sys

from mtcodegen.cli.common import add_format, path_name, report, status, write_yaml
from mtcodegen.cli.files import replace_file
from mtcodegen.cli.generate import say_done, wanted_changes
from mtcodegen.findings.codes import Code, Severity
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.importer import Import, Note, import_files
from mtcodegen.importer.op_project import is_op_project
from mtcodegen.project.generate import name_faults
from mtcodegen.project.output import apply
from mtcodegen.project.pyproject import UsageError
from mtcodegen.pycode.names import taken
from mtcodegen.targets.job import Generated, Input, Job

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

DESCRIPTION = (
    "Write our YAML from PyTorch's native_functions.yaml, ExecuTorch's functions.yaml or op-plugin's\n"
    "op_plugin_functions.yaml, or from the definition of an operator project (op_host/*.cpp with its\n"
    "OpDef, or the JSON of msopgen). What has no form in our language is listed, and noted in comments."
)
EXAMPLES = (
    ("mtcodegen import native_functions.yaml --select 'relu,exp*' -o ops.yaml", "some of PyTorch's operators"),
    ("mtcodegen import native_functions.yaml --derivatives derivatives.yaml", "with their gradients"),
    ("mtcodegen import functions.yaml --schemas native_functions.yaml", "ExecuTorch's, which only name operators"),
    ("mtcodegen import op_plugin_functions.yaml --kernels my_package.kernels", "with kernels in a Python module"),
    ("mtcodegen import op_host/add_custom.cpp -o ops.yaml", "the operator of a project, with its kernels to complete"),
    ("mtcodegen import native_functions.yaml --kernels my_package.kernels --modules my_package", "modules, no YAML"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=path_name, metavar="FILE", help="the file to import")
    parser.add_argument("--derivatives", metavar="FILE", type=pathlib.Path, help="derivatives.yaml, for the gradients")
    parser.add_argument(
        "--schemas",
        metavar="FILE",
        type=pathlib.Path,
        help="native_functions.yaml, for entries that only name an operator",
    )
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="NAMES",
        help="the operators: names, name.overload, or patterns such as 'add*', with commas between (default: all)",
    )
    parser.add_argument(
        "--namespace", default="aten", help="namespace of the operators (default: aten; npu for a project)"
    )
    parser.add_argument("--kernels", default="", metavar="MODULE", help="the Python module that will have the kernels")
    parser.add_argument(
        "-o", "--output", type=path_name, metavar="FILE", help="the file to write (default: standard output)"
    )
    text = "write the modules of the operators into DIR, and no YAML; needs --kernels"
    parser.add_argument("--modules", type=path_name, metavar="DIR", help=text)
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Import and report. What is not carried over is a warning; with a fault in the files, nothing is written."""
    if options.modules is not None and (options.output is not None or not options.kernels):
        raise UsageError("--modules needs --kernels, which the modules call, and takes the place of -o")
    if options.output is None and options.modules is None and options.format != "text":
        raise UsageError(f"--format {options.format} needs -o: the YAML goes to standard output")
    if not _NAME.fullmatch(options.namespace) or taken(options.namespace):
        raise UsageError(f"--namespace {options.namespace}: not the name of a namespace")
    if options.kernels and not all(_NAME.fullmatch(part) for part in options.kernels.split(".")):
        raise UsageError(f"--kernels {options.kernels}: not the name of a Python module")
    if is_op_project(pathlib.Path(options.file)) and (options.derivatives or options.schemas or options.kernels):
        raise UsageError("an operator project has its own schemas and kernels: no --derivatives, --schemas, --kernels")
    output = None if options.output is None else pathlib.Path(options.output)
    if output is not None and output.exists() and not options.force:
        raise UsageError(f"{output} is there already; --force writes over it")
    made = options.made = import_files(
        pathlib.Path(options.file),
        derivatives=options.derivatives,
        schemas=options.schemas,
        select=[name.strip() for names in options.select for name in names.split(",") if name.strip()],
        namespace=options.namespace,
        kernels=options.kernels,
    )
    if made.diagnostics:
        report(options, made.diagnostics)
        return 1
    if options.modules is not None:
        return _write_modules(options, made)
    if output is None:
        write_yaml(made.text)
    else:
        replace_file(output, made.text)
    report(options, [_as_warning(note) for note in made.notes])
    if options.format == "text":
        operators = f"{made.operators} operator{'' if made.operators == 1 else 's'}"
        sys.stderr.write(f"imported {operators}; not carried over: {len(made.notes)}\n")
    return 0


def _write_modules(options: argparse.Namespace, made: Import) -> int:
    """As `generate` does, from what was imported."""
    path, folder = pathlib.Path(options.file), pathlib.Path(options.modules)
    job = Job((Input(path, options.file),), folder)
    modules = made.modules(path, folder)
    found = [*modules.refused, *name_faults([job])]
    if not found:
        done, found = apply(wanted_changes([Generated(job, modules.files)], found))
        say_done(options, done)
    report(options, [*found, *map(_as_warning, modules.notes)])
    return status(found)


def _as_warning(note: Note) -> Diagnostic:
    return Diagnostic(Code.MT610, f"not carried over: {note.text[:200]}", note.span, note.reason, Severity.WARNING)
