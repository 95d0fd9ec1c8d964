"""``mtcodegen FILES``: write the modules."""

from __future__ import annotations

import argparse
import os
import pathlib
from collections.abc import Sequence

from mtcodegen.cli.common import add_format, add_inputs, path_name, progress_line, report, say, status
from mtcodegen.findings.codes import Code
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.project.generate import generate
from mtcodegen.project.inputs import find_jobs, is_listed, package_name
from mtcodegen.project.output import Change, apply, changes
from mtcodegen.targets.job import Generated, Job
from mtcodegen.targets.target import DEFAULT, TARGETS

__all__ = ["DESCRIPTION", "EXAMPLES", "configure", "run", "run_pipeline", "say_done", "wanted_changes"]

DESCRIPTION = """\
Write one Python module and its stub for each YAML file. Nothing is written if any file has a fault, a file that is up
to date is not touched, and what no YAML file makes any more is removed if it was generated."""
EXAMPLES = (
    ("mtcodegen ops.yaml", "write generated/ops.py and ops.pyi beside ops.yaml"),
    ("mtcodegen generate ops_yaml -o src/my_ops", "a package of all files in ops_yaml"),
    ("mtcodegen", "all that pyproject.toml lists"),
    ("mtcodegen ops.yaml --target torch", "modules that register the operators with PyTorch itself"),
    ("mtcodegen ops.yaml --target mindspore", "modules whose operators are cells of MindSpore"),
    ("mtcodegen ops.yaml --target docs", "pages of documentation"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_inputs(parser)
    parser.add_argument(
        "-o", "--output", type=path_name, metavar="DIR", help="folder for the modules (default: generated)"
    )
    text = f"what is made: {', '.join(TARGETS)} (default: {DEFAULT}, or what pyproject.toml says)"
    parser.add_argument("--target", choices=TARGETS, metavar="TARGET", help=text)
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Generate."""
    generated, found = run_pipeline(options)
    done, refused = apply(wanted_changes(generated, found))
    found += refused
    say_done(options, done)
    report(options, found)
    if generated and not done and not found:
        say(options, "everything is up to date")
    return status(found)


def say_done(options: argparse.Namespace, done: Sequence[pathlib.Path]) -> None:
    """Which files were written or removed."""
    for path in done:
        verb = "wrote" if path.exists() else "removed"
        say(options, f"{verb} {os.path.relpath(path)}")


def run_pipeline(options: argparse.Namespace) -> tuple[list[Generated], list[Diagnostic]]:
    """All that the options ask for, in memory."""
    from mtcodegen.project.memo import key_of, recall, remember

    jobs = find_jobs(options.files, options.output, options.target)
    key = key_of(jobs)
    remembered = None if key is None else recall(jobs, key)
    if remembered is not None:
        return remembered, []
    progress = progress_line(sum(len(job.inputs) for job in jobs))
    try:
        generated, found = generate(jobs, progress)
    finally:
        progress("")
    if key is not None and generated and not found and key == key_of(jobs):  # no file has changed meanwhile
        remember(generated, key)
    return generated, found


def wanted_changes(generated: Sequence[Generated], found: list[Diagnostic]) -> list[Change]:
    """What would have to change; what cannot be read is added to ``found``."""
    folders: dict[pathlib.Path, list[Generated]] = {}
    for item in generated:
        folders.setdefault(item.job.folder.resolve(), []).append(item)
    result = []
    for items in folders.values():
        folder = items[0].job.folder
        files: dict[str, str] = {}
        for name, text in (pair for item in items for pair in item.files.items()):
            if files.setdefault(name, text) != text:
                hint = "give each job an output of its own, or the inputs of both to one"
                found.append(
                    Diagnostic(Code.MT502, "two jobs would make this file", None, hint, path=str(folder / name))
                )
                return []
        try:
            result += changes(folder, files, *_neighbours([item.job for item in items]))
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            found.append(Diagnostic(Code.MT503, message, None, path=str(error.filename or folder)))
    return result


def _neighbours(jobs: Sequence[Job]) -> tuple[set[str], set[str]]:
    """The files beside the inputs that this run does not read, and the folders whose package it reads in part."""
    inputs = [item.path for job in jobs for item in job.inputs]
    read, packages = {path.name for path in inputs}, {job.package for job in jobs}
    files: set[str] = set()
    partial: set[str] = set()
    for folder in {path.parent.resolve() for path in inputs}:
        unread = {path.name for path in folder.iterdir() if path.is_file()} - read
        files |= unread
        if any(map(is_listed, unread)):
            partial.add(package_name(folder))
    return files, partial - packages
