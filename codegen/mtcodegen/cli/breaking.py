"""``mtcodegen breaking``: what a change of the YAML files breaks."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
from collections.abc import Callable, Mapping, Sequence

from mtcodegen.check.compatibility import Break, breaks
from mtcodegen.cli.common import add_format, add_inputs, named_inputs, path_name, report, say, status
from mtcodegen.document.load import read
from mtcodegen.entries.front import parse_source
from mtcodegen.entries.model import OpSpec
from mtcodegen.entries.schemas import argument_span
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic, Related, in_source_order, suggest
from mtcodegen.findings.source import Source, Span, Text
from mtcodegen.project.inputs import is_listed, whole_folders
from mtcodegen.project.loading import Document, load_inputs
from mtcodegen.project.pyproject import UsageError
from mtcodegen.targets.job import Input

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run"]

DESCRIPTION = """\
Say which schema changes break callers or saved programs, by PyTorch's rules of backward compatibility: an operator or
overload that is gone; an argument that is gone, renamed, moved, keyword-only, or of a narrower type; a new one without
a default; another default; other returns; other aliasing. New operators, new overloads and new arguments at the end
with a default break nothing."""
EXAMPLES = (
    ("mtcodegen breaking --against main", "since the branch main, files of pyproject.toml"),
    ("mtcodegen breaking --against v1.2.0 ops.yaml", "since a release"),
    ("mtcodegen breaking --against old.yaml ops.yaml", "two files"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(parser)
    against = "a git revision, or a file or folder with the old state"
    parser.add_argument("--against", type=path_name, metavar="REF|FILE", required=True, help=against)
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Compare."""
    inputs = named_inputs(options.files)
    documents, found = load_inputs(inputs)
    if not found:
        specs, found = _old_specs(options, inputs)
        named = {item.path.resolve(): item.name for item in inputs}
        found += _compare(specs, documents, lambda source: _now(source, options, named))
    found = in_source_order(found, [item.name for item in inputs])
    report(options, found)
    if not found:
        say(options, f"nothing breaks what was written for {options.against}")
    return status(found)


def _now(source: Source, options: argparse.Namespace, named: Mapping[pathlib.Path, str]) -> str:
    """The file that a text of the old state is of now, as the user names it."""
    if source.is_file:  # a single file is compared with a single file, whatever their names
        return next(iter(named.values())) if len(named) == 1 else source.path
    return source.path.removesuffix(f" at {options.against}")


def _compare(old: Sequence[OpSpec], documents: Sequence[Document], now: Callable[[Source], str]) -> list[Diagnostic]:
    """What is not as it was; ``now`` names the file of today for a text of the old state."""
    new = {spec.schema.qualname: spec for document in documents for spec in document.file.ops}
    found = []
    for spec in old:
        name = spec.schema.qualname
        if name in new:
            found += [_fault(item, new[name]) for item in breaks(spec.schema, new[name].schema)]
        else:
            hint = suggest(name, new) or "keep it, marked `deprecated`"
            span = spec.func.locate(0, len(spec.func.value.partition("(")[0]))
            there = Related(span, "it was declared here")
            found.append(Diagnostic(Code.MT701, f"{name} is gone", None, hint, path=now(span.source), related=(there,)))
    return found


def _fault(item: Break, spec: OpSpec) -> Diagnostic:
    return Diagnostic(item.code, f"{spec.schema.qualname}: {item.message}", _span(item, spec.func), item.hint)


def _span(item: Break, func: Text) -> Span:
    """The argument that it is about, the operator's name, or what is returned."""
    if item.code == Code.MT702:
        return func.locate(0, len(func.value.partition("(")[0]))
    if item.argument:
        return argument_span(func, item.argument)
    head, arrow, returned = func.value.rpartition(") -> ")
    return func.locate(len(head) + len(arrow), len(returned))


# ---------------------------------------------------------------- the old state


def _old_specs(options: argparse.Namespace, inputs: Sequence[Input]) -> tuple[list[OpSpec], list[Diagnostic]]:
    specs: list[OpSpec] = []
    found: list[Diagnostic] = []
    for source in _old_sources(options, inputs):
        _, file, faults = parse_source(source)
        if file is None or faults:
            hint = "; ".join(item.message for item in faults[:1])
            found.append(Diagnostic(Code.MT711, "the old file cannot be read", None, hint, path=source.path))
        else:
            specs += file.ops
    return specs, found


def _old_sources(options: argparse.Namespace, inputs: Sequence[Input]) -> list[Source]:
    path = pathlib.Path(options.against)
    if not path.exists():
        return _of_revision(options, inputs)
    files = sorted(item for item in path.iterdir() if is_listed(item.name)) if path.is_dir() else [path]
    sources = [read(file, str(file))[0] for file in files]
    if not files or None in sources:
        raise UsageError(f"{path}: cannot be read, or has no *.yaml files")
    return [source for source in sources if source is not None]


def _of_revision(options: argparse.Namespace, inputs: Sequence[Input]) -> list[Source]:
    """The input files at a revision, and files of input folders that only that revision has."""
    ref = options.against
    folders = {item.path.resolve().parent for item in inputs}
    for folder in folders:
        if _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}") is None:
            raise UsageError(f"{ref}: no such file, and no such git revision in {folder}")
    named = {item.path.resolve() for item in inputs}
    gone = {path for folder in whole_folders(options.files) for path in _files_at(folder, ref)}
    sources = []
    for path in sorted(named | gone):
        text = _git(path.parent, "show", f"{ref}:./{path.name}")
        if text is not None:  # else a new file, which no one can depend on yet
            sources.append(Source(f"{os.path.relpath(path)} at {ref}", text, is_file=False))
    return sources


def _files_at(folder: pathlib.Path, ref: str) -> list[pathlib.Path]:
    names = _git(folder, "ls-tree", "--name-only", "-z", ref, "./") or ""
    return [folder / name for name in names.split("\0") if is_listed(name)]


def _git(folder: pathlib.Path, *words: str) -> str | None:
    """What git prints; None where it fails. Raises UsageError where there is no git."""
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("`breaking --against REF` needs git; give the old file instead") from None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
